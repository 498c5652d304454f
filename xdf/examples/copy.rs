//! Copies a recording through the reader and the writer: `copy FROM.xdf TO.xdf`.

use core::error::Error;
use std::collections::HashMap;
use std::env;

use schwann_xdf::{Event, Options, Reader, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: copy FROM.xdf TO.xdf".into());
    };
    let mut reader = Reader::open(from)?;
    let writer = Writer::create(to, Options::default())?;
    let mut streams = HashMap::new();
    while let Some(event) = reader.next_event()? {
        match event {
            Event::StreamHeader(header) => {
                streams.insert(header.id, writer.add_stream_as(header.id, &header.xml)?);
            }
            Event::Samples { stream, stamps, values } => streams[&stream].push_values(stamps, values)?,
            Event::ClockOffset { stream, collected, offset } => {
                streams[&stream].clock_offset(collected, offset)?
            }
            Event::Damage(damage) => eprintln!("damaged: {damage:?}"),
            // The writer writes its own.
            _ => {}
        }
    }
    println!("{} bytes", writer.finish()?.file_bytes);
    Ok(())
}
