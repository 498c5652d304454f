//! Handshakes: processor time a side, and the time between two processes over the loopback interface.

use core::time::Duration;
use std::io::Read;
use std::time::Instant;

use schwann_mse::policy::Attempt;
use schwann_mse::{Accept, BtHandshake, Draw, Group, Handshake, Initiator, Offer, Responder, Status};

use super::worker::{TORRENT, Task, Variant, Worker, bt_handshake};
use super::{count, figure};
use crate::Reason;
use crate::record::Reading;
use crate::statistics::{median, quantile_of_sorted};
use crate::suite::Effort;

pub(super) fn run(effort: Effort) -> Result<Vec<Reading>, Reason> {
    let mut outcomes = processor_time(count(effort, 2_000))?;
    outcomes.extend(wall_time(count(effort, 1_000))?);
    Ok(outcomes)
}

/// Everything a side computes: drawing its key, agreeing, hashing, making ciphers.
fn processor_time(count: usize) -> Result<Vec<Reading>, Reason> {
    let mut outcomes = Vec::new();
    for (group, name, limit) in GROUPS {
        let (mut initiators, mut responders) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (initiator, responder) = one_in_memory(group)?;
            initiators.push(initiator.as_secs_f64() * 1e3);
            responders.push(responder.as_secs_f64() * 1e3);
        }
        for (role, samples) in [("initiator", initiators), ("responder", responders)] {
            let spent = figure(format!("handshake, {name}, {role}, CPU"), "ms", samples);
            outcomes.push(spent.limited(format!("< {limit} ms")));
        }
    }
    Ok(outcomes)
}

fn one_in_memory(group: Group) -> Result<(Duration, Duration), Reason> {
    let mut spent = [Duration::ZERO; 2];
    let mut timed = |side: usize, began: Instant| spent[side] += began.elapsed();
    let began = Instant::now();
    let offer = Offer::new(schwann_mse::Methods::RC4, bt_handshake(b'a').encode().to_vec());
    let mut a = Initiator::new(TORRENT, offer, Draw::system(group)?)?;
    let mut step = a.poll_output().ok_or("step 1")?;
    timed(0, began);
    let began = Instant::now();
    let mut b = Responder::new(TORRENT, Accept::default(), Draw::system(group)?);
    timed(1, began);
    let mut ended = 0;
    for turn in 0..4 {
        let side = 1 - turn % 2;
        let machine: &mut dyn Handshake = if side == 1 { &mut b } else { &mut a };
        let began = Instant::now();
        let mut input = step.as_slice();
        let mut sent = Vec::new();
        loop {
            let status = machine.handle_input(&mut input)?;
            sent.extend(machine.poll_output().unwrap_or_default());
            if matches!(status, Status::Established(_)) {
                ended += 1;
                break;
            }
            if input.is_empty() {
                break;
            }
        }
        timed(side, began);
        step = sent;
    }
    if ended != 2 {
        return Err("the handshake did not end".into());
    }
    Ok((spent[0], spent[1]))
}

/// From `connect` to the peer's BitTorrent handshake, decoded.
fn wall_time(count: usize) -> Result<Vec<Reading>, Reason> {
    let variants = [Variant::Plain, Variant::Rc4, Variant::WideRc4];
    let workers =
        variants.map(|variant| Worker::start(Task::Answer(variant)).map(|worker| (variant, worker)));
    let workers = workers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut samples = vec![Vec::with_capacity(count); variants.len()];
    for round in 0..count + 10 {
        for (n, (variant, worker)) in workers.iter().enumerate() {
            let took = one_over_tcp(*variant, worker)?;
            // The first rounds warm caches and the listener.
            if round >= 10 {
                samples[n].push(took.as_secs_f64() * 1e3);
            }
        }
    }
    let plain = median(&samples[0]);
    let mut outcomes = Vec::new();
    for ((variant, _), mut samples) in workers.iter().zip(samples) {
        let name = variant.name();
        samples.sort_by(f64::total_cmp);
        let p99 = quantile_of_sorted(&samples, 0.99);
        let outcome = figure(format!("connect to answer, {name}"), "ms", samples);
        if *variant == Variant::Plain {
            outcomes.push(outcome);
            continue;
        }
        let extra = figure(format!("set-up overhead, {name}"), "ms", vec![outcome.median - plain]);
        outcomes.push(outcome.held_against("p99 < 2 ms", Some(p99 < 2.0)));
        outcomes.push(extra.limited("< 2 ms"));
    }
    Ok(outcomes)
}

fn one_over_tcp(variant: Variant, worker: &Worker) -> Result<Duration, Reason> {
    let began = Instant::now();
    let connection = variant.dialler().dial(worker.address, &bt_handshake(b'a'))?;
    let mut stream = connection.stream;
    let mut theirs = [0; BtHandshake::LEN];
    stream.read_exact(&mut theirs)?;
    let took = began.elapsed();
    if BtHandshake::parse(&theirs) != Some(bt_handshake(b'b')) {
        return Err("the answer arrived changed".into());
    }
    if (connection.attempt == Attempt::Plain) != (variant == Variant::Plain) {
        return Err("not the connection that was to be measured".into());
    }
    Ok(took)
}

const GROUPS: [(Group, &str, f64); 2] =
    [(Group::Mse768, "768 bit", 0.25), (Group::Oakley1024, "1,024 bit", 0.5)];
