//! Sends eight channels at 100 Hz, with their labels and units: `cargo run -p schwann --example send -- [SECONDS]`

use core::error::Error;
use core::time::Duration;

use schwann::{ChannelFormat, Flush, Outlet, OutletOptions, StreamInfo, local_clock};

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: f64 = std::env::args().nth(1).map_or(Ok(60.0), |seconds| seconds.parse())?;
    let outlet = Outlet::new(&description()?, &OutletOptions::default())?;
    println!("sending");
    let start = local_clock();
    let mut n = 0.0;
    while local_clock() < start + seconds {
        let sample: [f32; CHANNELS] =
            core::array::from_fn(|k| (50.0 * f64::sin(0.0628 * (k + 1) as f64 * n)) as f32);
        // A stamp of 0 stands for now.
        outlet.push_sample(&sample, 0.0, Flush::Now)?;
        n += 1.0;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn description() -> Result<StreamInfo, Box<dyn Error>> {
    // The source id stays the same when this program restarts: inlets find the stream again by it.
    let mut info =
        StreamInfo::new("Waves", "EEG", CHANNELS as i32, 100.0, ChannelFormat::Float32, "example-waves")?;
    let desc = info.desc().ok_or("a description without metadata")?;
    let document = info.document_mut();
    let channels = document.append_child(desc, "channels").ok_or("no room for metadata")?;
    for k in 1..=CHANNELS {
        let channel = document.append_child(channels, "channel").ok_or("no room for metadata")?;
        document.append_child_value(channel, "label", format!("E{k}"));
        document.append_child_value(channel, "unit", "microvolts");
    }
    Ok(info)
}

const CHANNELS: usize = 8;
