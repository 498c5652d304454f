//! Records three seconds of an EEG stream: `cargo run -p schwann --example record_stream -- FILE.xdf`
//!
//! The program `schwann record` records many streams at once, with their losses and faults.

use core::error::Error;
use core::time::Duration;

use schwann::{Inlet, InletOptions, local_clock, resolve};
use schwann_xdf::{Options, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: record_stream FILE.xdf")?;
    let found = resolve("type='EEG'", 1, Duration::from_secs(10))?;
    let stream = found.first().ok_or("no EEG stream was found in 10 seconds")?;
    let inlet = Inlet::new(stream, &InletOptions::default())?;
    let writer = Writer::create(&file, Options::default())?;
    let recorded = writer.add_stream(&String::from_utf8_lossy(&inlet.full_info(10.0)?.fullinfo()))?;
    let end = local_clock() + 3.0;
    for chunk in inlet.chunks::<f32>(1000) {
        let chunk = chunk?;
        recorded.push(&chunk.stamps, &chunk.values)?;
        if local_clock() > end {
            break;
        }
    }
    // By it, readers place the samples on the clock of this computer.
    let clock = inlet.clock_offset(5.0)?;
    recorded.clock_offset(local_clock(), clock.offset)?;
    println!("{} bytes", writer.finish()?.file_bytes);
    Ok(())
}
