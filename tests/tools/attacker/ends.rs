//! The two ends of the streams: an outlet's process, and one of many inlets.

use core::time::Duration;
use std::io::{BufRead, Read};
use std::sync::Arc;
use std::thread;

use schwann::inlet::Recover;
use schwann::{ChannelFormat, Context, Flush, Inlet, InletOptions, Outlet, OutletOptions, StreamInfo};
use schwann_session::Roles;

use crate::lab;

/// Prints its description, then pushes numbered samples to every connected inlet.
pub(crate) fn outlet() {
    let info = StreamInfo::new("Attacked", "EEG", CHANNELS as i32, 0.0, ChannelFormat::Int64, "attacked");
    let context = lab::context(lab::member(1, Roles::PUBLISH));
    let info = info.expect("a valid description");
    let outlet = Outlet::in_context(&info, &OutletOptions::default(), context).expect("an outlet");
    let description = String::from_utf8(outlet.info().fullinfo()).expect("text");
    println!("{}", description.replace('\n', " "));
    thread::spawn(exit_with_the_attacker);
    for number in 1.. {
        while !outlet.have_consumers() {
            thread::sleep(PERIOD);
        }
        outlet.push_sample(&values(number), number as f64, Flush::Now).expect("a push");
        thread::sleep(PERIOD);
    }
}

/// Reads a description per line and receives each one again and again, in a thread of its own. Prints after each time
/// which it was, how many samples came, and how it ended.
pub(crate) fn inlets() {
    let context = lab::context(lab::member(2, Roles::SUBSCRIBE));
    for (lane, line) in std::io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        let info = StreamInfo::parse(line.as_bytes()).expect("a description");
        let context = Arc::clone(&context);
        thread::spawn(move || {
            loop {
                let (count, end) = receive(&info, &context);
                println!("{lane} {count} {end}");
            }
        });
    }
}

/// Receives until the stream breaks: how many samples came, and `lost`, or else what is wrong.
fn receive(info: &StreamInfo, context: &Arc<Context>) -> (usize, &'static str) {
    let options = InletOptions { recover: Recover::No, ..InletOptions::default() };
    let inlet = Inlet::in_context(info, &options, Arc::clone(context)).expect("an inlet");
    let (mut count, mut next) = (0, None);
    loop {
        let mut sample = [0_i64; CHANNELS];
        let stamp = match inlet.pull_sample(&mut sample, PATIENCE_S) {
            Ok(Some(stamp)) => stamp,
            Ok(None) => return (count, "unnoticed"),
            Err(schwann::Error::Lost) => return (count, "lost"),
            Err(_) => return (count, "another error"),
        };
        let number = next.unwrap_or(stamp as u64);
        if stamp != number as f64 || sample != values(number) {
            return (count, "altered");
        }
        count += 1;
        next = Some(number + 1);
    }
}

/// What the sample with this number holds: the mixing function of splitmix64 (Steele, Lea and Flood 2014).
fn values(number: u64) -> [i64; CHANNELS] {
    core::array::from_fn(|channel| {
        let mut bits = (number * CHANNELS as u64 + channel as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) as i64
    })
}

/// The attacker holds the other end of the standard input.
pub(crate) fn exit_with_the_attacker() {
    let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
    std::process::exit(0);
}

const CHANNELS: usize = 4;
/// Bytes of a sample on the wire: a tag, its stamp, its values (lsl-wire §12).
pub(crate) const SAMPLE_LEN: usize = 1 + 8 + 8 * CHANNELS;
/// Time between two samples.
const PERIOD: Duration = Duration::from_micros(150);
/// How long an inlet waits for the next sample; one that waits in vain has not noticed the attack.
const PATIENCE_S: f64 = 5.0;
