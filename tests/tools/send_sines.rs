//! Sends streams of two sine waves at 100 Hz until its input ends.
//!
//! Run it with `cargo run -p schwann --example send_sines -- Sine 3`: it sends `Sine-0` to `Sine-2`.

use core::{f64::consts::TAU, time::Duration};
use std::{
    io::{self, Read},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
};

use schwann::{
    StreamInfo, local_clock,
    outlet::{Flush, Outlet, OutletOptions},
};
use schwann_proto::stream::ChannelFormat;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "Sine".to_owned());
    let count = arguments.next().map_or(Ok(1), |count| count.parse())?;
    let outlets =
        (0..count).map(|number| outlet(&format!("{name}-{number}"))).collect::<Result<Vec<_>, _>>()?;
    println!("sending");
    let input_ended = watch_input();
    while input_ended.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
        let phase = TAU * local_clock();
        for outlet in &outlets {
            outlet.push_sample(&[phase.sin(), (2.0 * phase).sin()], 0.0, Flush::Now)?;
        }
    }
    Ok(())
}

fn outlet(name: &str) -> Result<Outlet, Box<dyn core::error::Error>> {
    // The source id lets inlets find the stream again after a restart.
    let info = StreamInfo::new(name, "EEG", 2, 100.0, ChannelFormat::Float32, format!("sines-{name}"))?;
    Ok(Outlet::new(&info, &OutletOptions::default())?)
}

/// Says when the standard input has ended.
fn watch_input() -> mpsc::Receiver<()> {
    let (ended, input_ended) = mpsc::channel();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        drop(ended);
    });
    input_ended
}
