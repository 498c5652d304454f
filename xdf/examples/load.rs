//! Loads a recording as pyxdf does and prints what it holds, one line per fact:
//! `load FILE.xdf [as-recorded]`.

use core::error::Error;
use std::env;
use std::io::{self, Write as _};

use schwann_xdf::{Clocks, Jitter, Recording};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().ok_or("usage: load FILE.xdf [as-recorded]")?;
    let (clocks, jitter) = match arguments.next().as_deref() {
        Some("as-recorded") => (Clocks::AsRecorded, Jitter::AsRecorded),
        _ => (Clocks::Synchronised, Jitter::Removed),
    };
    let recording = Recording::load(file, clocks, jitter)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for stream in &recording.streams {
        let header = &stream.header;
        writeln!(out, "stream {} {} {}", header.id, header.format.name(), header.channel_count)?;
        writeln!(out, "rate {:?}", stream.effective_rate)?;
        for segment in &stream.segments {
            writeln!(out, "segment {} {}", segment.start, segment.end - 1)?;
        }
        for segment in &stream.clock_segments {
            writeln!(out, "clock-segment {} {}", segment.start, segment.end - 1)?;
        }
        for stamp in &stream.stamps {
            writeln!(out, "stamp {stamp:?}")?;
        }
    }
    writeln!(out, "damage {}", recording.damage.len())?;
    Ok(())
}
