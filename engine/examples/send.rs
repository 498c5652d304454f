//! Sends eight channels of noise at 100 Hz until it is stopped.
//!
//! Run it with `cargo run -p schwann --example send`, and `--example receive` beside it.

use core::time::Duration;

use schwann::{ChannelFormat, Flush, Outlet, OutletOptions, StreamInfo};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let info = StreamInfo::new("Noise", "EEG", 8, 100.0, ChannelFormat::Float32, "noise-example")?;
    let outlet = Outlet::new(&info, &OutletOptions::default())?;
    println!("sending");
    let mut state = 1_u32;
    loop {
        let sample: [f32; 8] = core::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as f32 / u32::MAX as f32 - 0.5
        });
        // A stamp of 0 stands for now.
        outlet.push_sample(&sample, 0.0, Flush::Now)?;
        std::thread::sleep(Duration::from_millis(10));
    }
}
