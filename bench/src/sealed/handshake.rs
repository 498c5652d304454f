//! What a handshake takes: processor time of each side, and the time until an inlet has its first answer.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::net::TcpListener;
use std::thread;

use schwann_session::Suite;

use super::lab::Lab;
use super::link;
use super::session::shake;
use super::timed;
use crate::Reason;
use crate::record::Reading;

/// Processor time of each side in so many rounds, and the wall time of a fifth as many.
pub(crate) fn measure(step: &str, rounds: usize) -> Result<Vec<Reading>, Reason> {
    let lab = Lab::new()?;
    let mut readings = processor_time(step, &lab, rounds)?;
    readings.extend(wall_time(step, &lab, rounds.div_ceil(5).max(20))?);
    Ok(readings)
}

fn processor_time(step: &str, lab: &Lab, rounds: usize) -> Result<Vec<Reading>, Reason> {
    let mut readings = Vec::new();
    for (name, suite) in SUITES {
        let mut sides = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let [inlet, outlet] = shake(lab, suite)?.spent_us;
            sides[0].push(inlet);
            sides[1].push(outlet);
        }
        for (side, times) in ["inlet", "outlet"].into_iter().zip(sides) {
            let reading = timed(step, format!("processor time, {name}"), side, times);
            readings.push(match suite {
                // The target of the hybrid suite, a side.
                Suite::Hybrid => reading.limited("< 1000"),
                Suite::Classic => reading,
            });
        }
    }
    Ok(readings)
}

/// Until the first answer, plain and in both suites, interleaved, on loopback and over a slow line.
fn wall_time(step: &str, lab: &Lab, rounds: usize) -> Result<Vec<Reading>, Reason> {
    let mut readings = Vec::new();
    for (line, delay) in [("loopback", None), ("5 ms each way", Some(Duration::from_millis(5)))] {
        let rounds = if delay.is_some() { rounds / 4 } else { rounds };
        let kinds = [("plain", None), ("classic", Some(Suite::Classic)), ("hybrid", Some(Suite::Hybrid))];
        let times = thread::scope(|scope| -> Result<Vec<Vec<f64>>, Reason> {
            let mut ends = Vec::new();
            for (_, suite) in kinds {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let direct = listener.local_addr()?;
                let address = match delay {
                    Some(delay) => link::slow_line(direct, delay, rounds)?,
                    None => direct,
                };
                scope.spawn(move || {
                    // What an outlet cannot do, its inlet reports.
                    let _ = link::outlet(&listener, lab, suite, rounds);
                });
                ends.push((address, suite));
            }
            let mut times = vec![Vec::new(); kinds.len()];
            for _ in 0..rounds {
                for ((address, suite), times) in ends.iter().zip(&mut times) {
                    times.push(link::inlet(*address, lab, *suite)?.as_secs_f64() * 1e6);
                }
            }
            Ok(times)
        })?;
        for ((name, _), times) in kinds.iter().zip(times) {
            readings.push(timed(step, format!("first answer, wall time, {line}"), name, times));
        }
    }
    Ok(readings)
}

const SUITES: [(&str, Suite); 2] = [("hybrid", Suite::Hybrid), ("classic", Suite::Classic)];
