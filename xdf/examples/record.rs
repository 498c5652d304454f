//! Records made-up samples: `record FILE.xdf CHANNELS RATE SECONDS [unpaced]`.
//!
//! Sample `n` has the stamp `1000 + n / RATE`, and in each channel `(n × 7 + channel) mod 65536` as a
//! signed 16-bit number. A second stream has one text per second. After each push, the example prints
//! the number of samples pushed so far. A test can then kill the program and knows what it was given.
//! `unpaced` pushes as fast as the disk permits.

use core::error::Error;
use core::time::Duration;
use std::env;
use std::io::{self, Write as _};
use std::thread;
use std::time::Instant;

use schwann_xdf::{Options, PushError, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [file, channels, rate, seconds, paced @ ..] = arguments.as_slice() else {
        return Err("usage: record FILE.xdf CHANNELS RATE SECONDS [unpaced]".into());
    };
    let (channels, rate, seconds): (usize, usize, f64) = (channels.parse()?, rate.parse()?, seconds.parse()?);
    let writer = Writer::create(file, Options::default())?;
    let signal = writer.add_stream(&format!(
        "<?xml version=\"1.0\"?><info><name>Signal</name><type>EEG</type><channel_count>{channels}</channel_count>\
         <nominal_srate>{rate}</nominal_srate><channel_format>int16</channel_format><created_at>0</created_at></info>"
    ))?;
    let marks = writer.add_stream(
        "<?xml version=\"1.0\"?><info><name>Marks</name><type>Markers</type><channel_count>1</channel_count>\
         <nominal_srate>0</nominal_srate><channel_format>string</channel_format><created_at>0</created_at></info>",
    )?;

    let block = (rate / 100).max(1);
    let began = Instant::now();
    let mut out = io::stdout().lock();
    let (mut stamps, mut values) = (Vec::new(), Vec::new());
    let all = (seconds * rate as f64) as usize;
    let mut busy = Duration::ZERO;
    for first in (0..all).step_by(block) {
        stamps.clear();
        values.clear();
        for n in first..(first + block).min(all) {
            stamps.push(1000.0 + n as f64 / rate as f64);
            values.extend((0..channels).map(|channel| (n * 7 + channel) as i16));
        }
        if paced.is_empty() {
            let due = began + Duration::from_secs_f64((first + block) as f64 / rate as f64);
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let pushing = Instant::now();
        while let Err(error) = signal.push(&stamps, &values) {
            if error != PushError::Backlogged {
                return conclude(writer, Some(error), busy, began.elapsed());
            }
            thread::yield_now();
        }
        busy += pushing.elapsed();
        if first % rate < block {
            marks.push_text(&stamps[..1], &[format!("second {}", first / rate)])?;
            marks.clock_offset(stamps[0], 0.25)?;
            signal.clock_offset(stamps[0], -0.125)?;
        }
        writeln!(out, "{}", first + stamps.len())?;
        out.flush()?;
    }
    conclude(writer, None, busy, began.elapsed())
}

fn conclude(
    writer: Writer,
    error: Option<PushError>,
    busy: Duration,
    pushed_in: Duration,
) -> Result<(), Box<dyn Error>> {
    let finishing = Instant::now();
    let finished = writer.finish();
    eprintln!(
        "pushing took {:.3} s of {:.3} s, finishing {:.3} s",
        busy.as_secs_f64(),
        pushed_in.as_secs_f64(),
        finishing.elapsed().as_secs_f64()
    );
    if let Some(error) = error {
        return Err(error.into());
    }
    finished?;
    Ok(())
}
