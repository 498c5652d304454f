//! Lists the streams on the network, and how far the clocks of their computers are away:
//! `cargo run -p schwann --example resolve`

use core::time::Duration;

use schwann::{Context, Inlet, InletOptions, resolver};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    for stream in resolver::resolve_all(Context::get(), Duration::from_secs(1))? {
        let (name, kind, channels) = (stream.name(), stream.stream_type(), stream.channel_count());
        print!(
            "{name} ({kind}): {channels} channels at {} Hz on {}",
            stream.nominal_rate(),
            stream.hostname()
        );
        match Inlet::new(&stream, &InletOptions::default())?.clock_offset(5.0) {
            Ok(clock) => println!(", clock {:+.6} s", clock.offset),
            Err(error) => println!(", clock unknown: {error}"),
        }
    }
    Ok(())
}
