//! Sends each line of its input as a marker, stamped with the time at which it came:
//! `cargo run -p schwann --example markers`

use std::io::BufRead;

use schwann::{ChannelFormat, Flush, Outlet, OutletOptions, StreamInfo, local_clock};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    // Markers have no rate: they come when something happens.
    let info = StreamInfo::new("Events", "Markers", 1, 0.0, ChannelFormat::String, "example-events")?;
    let outlet = Outlet::new(&info, &OutletOptions::default())?;
    println!("waiting for a receiver, such as `schwann watch Events`");
    outlet.wait_for_consumers(1, None);
    for line in std::io::stdin().lock().lines() {
        outlet.push_strings(&[line?.as_bytes()], local_clock(), Flush::Now)?;
    }
    Ok(())
}
