//! Receives an EEG stream only if it is sealed, and says who sends it: `cargo run -p schwann --example sealed`
//!
//! Sealing itself needs no code: `schwann keys init` founds a lab, and from then on its streams are sealed.

use core::error::Error;
use core::time::Duration;

use schwann::{Inlet, InletOptions, resolve};

fn main() -> Result<(), Box<dyn Error>> {
    let found = resolve("type='EEG'", 1, Duration::from_secs(10))?;
    let stream = found.first().ok_or("no EEG stream was found in 10 seconds")?;
    let inlet = Inlet::new(stream, &InletOptions::default())?;
    inlet.open_stream(10.0)?;
    let peer = inlet
        .peer()
        .ok_or("everybody on the network can read this stream; `schwann keys init` founds a lab")?
        .statement;
    println!("sealed, sent by {}, whose key is {}", peer.name.as_str(), peer.device.fingerprint());
    Ok(())
}
