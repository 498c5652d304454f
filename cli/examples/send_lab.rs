//! Sends a signal of some channels and a marker stream until its input ends, for trying out the dashboard.
//!
//! Run it with `cargo run -p schwann-cli --example send_lab -- NAME CHANNELS RATE`. Each line of the input makes it
//! miss a second.

use core::{f64::consts::TAU, time::Duration};
use std::{
    io::{self, BufRead as _},
    sync::mpsc::{self, TryRecvError},
    thread,
};

use schwann::{
    StreamInfo, local_clock,
    outlet::{Flush, Outlet, OutletOptions},
};
use schwann_proto::stream::ChannelFormat;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "Lab".to_owned());
    let channels: usize = arguments.next().map_or(Ok(8), |count| count.parse())?;
    let rate: f64 = arguments.next().map_or(Ok(250.0), |rate| rate.parse())?;
    let signal = signal(&name, channels, rate)?;
    let markers = StreamInfo::new(format!("{name}Markers"), "Markers", 1, 0.0, ChannelFormat::String, &name)?;
    let markers = Outlet::new(&markers, &OutletOptions::default())?;
    println!("sending");
    let lines = lines();
    let (mut sent, mut next_marker, mut miss_until) = (0_u64, 0, 0.0);
    let start = local_clock();
    loop {
        match lines.try_recv() {
            Ok(()) => miss_until = local_clock() + 1.0,
            Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) => {}
        }
        let due = ((local_clock() - start) * rate) as u64;
        let rows: Vec<i16> = (sent..due).flat_map(|sample| row(sample, rate, channels)).collect();
        if local_clock() >= miss_until {
            signal.push_chunk(&rows, start + due as f64 / rate, Flush::Now)?;
        }
        if due / rate as u64 > next_marker {
            next_marker = due / rate as u64;
            markers.push_strings(&[format!("event {next_marker}").as_bytes()], 0.0, Flush::Now)?;
        }
        sent = due;
        thread::sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, channels: usize, rate: f64) -> Result<Outlet, Box<dyn core::error::Error>> {
    let mut info = StreamInfo::new(name, "EEG", channels as i32, rate, ChannelFormat::Int16, name)?;
    let desc = info.desc().expect("a new description has it");
    let document = info.document_mut();
    let parent = document.append_child(desc, "channels").expect("there is room");
    for number in 1..=channels {
        let channel = document.append_child(parent, "channel").expect("there is room");
        document.append_child_value(channel, "label", format!("E{number}"));
        document.append_child_value(channel, "unit", "microvolts");
    }
    Ok(Outlet::new(&info, &OutletOptions::default())?)
}

/// A wave of 3 Hz, later from channel to channel.
fn row(sample: u64, rate: f64, channels: usize) -> impl Iterator<Item = i16> {
    let phase = TAU * 3.0 * sample as f64 / rate;
    let slow = (100.0 * phase.sin()) as i16;
    (0..channels).map(move |channel| slow.wrapping_add((channel % 64) as i16 * 10))
}

/// Says of each line of the input that it has come, and when the input has ended.
fn lines() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || io::stdin().lock().lines().map_while(Result::ok).try_for_each(|_| sender.send(())));
    receiver
}
