//! Receives an EEG stream: prints the labels of its channels, then samples:
//! `cargo run -p schwann --example receive -- [SAMPLES]`

use core::error::Error;
use core::time::Duration;

use schwann::{Inlet, InletOptions, StreamInfo, resolve};

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(10), |count| count.parse())?;
    let found = resolve("type='EEG'", 1, Duration::from_secs(10))?;
    let stream = found.first().ok_or("no EEG stream was found in 10 seconds")?;
    let inlet = Inlet::new(stream, &InletOptions::default())?;
    // What a search found has no metadata; the inlet fetches it.
    let info = inlet.full_info(10.0)?;
    println!("{} from {}: {}", info.name(), info.hostname(), labels(&info).join(" "));
    for sample in inlet.samples::<f32>().take(count) {
        let sample = sample?;
        println!("{:.6} {:.2?}", sample.stamp, sample.values);
    }
    Ok(())
}

fn labels(info: &StreamInfo) -> Vec<String> {
    let label = |channel| info.document().child_value_named(channel, "label").to_string();
    info.described_channels().map(label).collect()
}
