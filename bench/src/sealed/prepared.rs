//! What key stream that was made ahead is worth: single samples through a session that was idle before them, and
//! through one that was not.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use schwann_session::{Opened, Secure, Suite};

use super::lab::Lab;
use super::session::{Shaken, shake};
use super::timed;
use crate::Reason;
use crate::record::Reading;

/// Seals and opens so many samples of each length in memory, a millisecond apart, by both sessions in turn.
pub(crate) fn measure(step: &str, samples: usize) -> Result<Vec<Reading>, Reason> {
    let lab = Lab::new()?;
    let mut readings = Vec::new();
    for channels in [8, 64, 256] {
        let plain = vec![1; LEAD + size_of::<f32>() * channels];
        let mut sessions = [Ends::new(&lab)?, Ends::new(&lab)?];
        let mut times_us = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
        // By the first sample of all, a session learns how long the next will be.
        for number in 0..=samples {
            for turn in [number % 2, 1 - number % 2] {
                let ends = &mut sessions[turn];
                if turn == PREPARED {
                    ends.idle();
                }
                thread::sleep(PAUSE);
                let times = ends.pass(&plain)?;
                if number > 0 {
                    times_us[turn].iter_mut().zip(times).for_each(|(all, time)| all.push(time));
                }
            }
        }
        for (subject, [seal, open]) in ["not prepared", "prepared"].into_iter().zip(times_us) {
            readings.push(timed(step, format!("to seal {channels} channels"), subject, seal));
            readings.push(timed(step, format!("to open {channels} channels"), subject, open));
        }
    }
    Ok(readings)
}

/// Both ends of a session.
struct Ends {
    outlet: Secure,
    inlet: Secure,
    wire: Vec<u8>,
}

impl Ends {
    fn new(lab: &Lab) -> Result<Self, Reason> {
        let Shaken { mut inlet, outlet, mut greeting, .. } = shake(lab, Suite::Hybrid)?;
        inlet.open(&mut greeting)?;
        Ok(Self { outlet, inlet, wire: Vec::new() })
    }

    fn idle(&mut self) {
        self.outlet.idle(Duration::ZERO);
        self.inlet.idle(Duration::ZERO);
    }

    /// Takes a sample from one end to the other. Returns what sealing and opening took, us.
    fn pass(&mut self, plain: &[u8]) -> Result<[f64; 2], Reason> {
        self.wire.resize(self.outlet.sealed_len(plain.len()), 0);
        let begun = Instant::now();
        let length = self.outlet.seal(plain, &mut self.wire)?;
        let sealed = Instant::now();
        let wire = self.wire.get_mut(..length).unwrap_or_default();
        let begun_opening = Instant::now();
        let opened = self.inlet.open(wire)?;
        let end = Instant::now();
        match opened {
            Opened::Data { plain: place, .. } if wire.get(place.clone()) == Some(plain) => {
                Ok([sealed - begun, end - begun_opening].map(|time| time.as_secs_f64() * 1e6))
            }
            other => Err(format!("a sample came out as {other:?}").into()),
        }
    }
}

/// Which of the two sessions is idle before a sample.
const PREPARED: usize = 1;
/// As long as between samples at 1 kHz, so that caches hold as little of the session as there.
const PAUSE: Duration = Duration::from_millis(1);
/// A sample's bytes before its values: the tag and the time stamp.
const LEAD: usize = 9;
