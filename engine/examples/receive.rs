//! Prints the first samples of an EEG stream.
//!
//! Run it with `cargo run -p schwann --example receive -- 5`, beside any program that sends such a stream.

use core::time::Duration;

use schwann::{Inlet, InletOptions, resolve};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(10), |count| count.parse())?;
    let found = resolve("type='EEG'", 1, Duration::from_secs(10))?;
    let stream = found.first().ok_or("no EEG stream was found in 10 seconds")?;
    println!("receiving {} from {}", stream.name(), stream.hostname());
    let inlet = Inlet::new(stream, &InletOptions::default())?;
    for sample in inlet.samples::<f32>().take(count) {
        let sample = sample?;
        println!("{:.6} {:?}", sample.stamp, sample.values);
    }
    Ok(())
}
