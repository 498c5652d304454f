//! Sends each line of its input as a marker.
//!
//! Run it with `cargo run -p schwann --example markers`, type, and press enter.

use std::io::BufRead;

use schwann::{ChannelFormat, Flush, Outlet, OutletOptions, StreamInfo};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    // A rate of 0 says that samples come when they come.
    let info = StreamInfo::new("Markers", "Markers", 1, 0.0, ChannelFormat::String, "markers-example")?;
    let outlet = Outlet::new(&info, &OutletOptions::default())?;
    for line in std::io::stdin().lock().lines() {
        outlet.push_strings(&[line?.as_bytes()], 0.0, Flush::Now)?;
        println!("sent to {} inlets", outlet.consumer_count());
    }
    Ok(())
}
