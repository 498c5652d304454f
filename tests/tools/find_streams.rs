//! Lists the streams on the network, one per line, and with `--clocks` how far their clocks are from ours.
//!
//! Run it with `cargo run -p schwann --example find_streams -- 2 --clocks`, beside any program that sends a
//! stream. The number is the time to search, in seconds.

use core::time::Duration;

use schwann::{
    Context, StreamInfo,
    inlet::{Inlet, InletOptions},
    resolver,
};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1.0);
    for stream in resolver::resolve_all(Context::get(), Duration::from_secs_f64(seconds))? {
        let (name, channels, rate) = (stream.name(), stream.channel_count(), stream.nominal_rate());
        print!("{name}: {channels} x {} at {rate} Hz on {}", stream.channel_format(), stream.hostname());
        if arguments.iter().any(|argument| argument == "--clocks") {
            print_clock(&stream)?;
        }
        println!();
    }
    Ok(())
}

fn print_clock(stream: &StreamInfo) -> Result<(), schwann::Error> {
    let inlet = Inlet::new(stream, &InletOptions::default())?;
    match inlet.clock_offset(5.0) {
        Ok(clock) => print!(", clock {:+.6} s (+- {:.6} s)", clock.offset, clock.uncertainty),
        Err(error) => print!(", clock unknown: {error}"),
    }
    Ok(())
}
