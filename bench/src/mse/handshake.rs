//! Handshakes: processor time a side, and the time between two processes over the loopback interface.

use core::time::Duration;
use std::io::Read;
use std::time::Instant;

use schwann_mse::policy::Attempt;
use schwann_mse::{
    Accept, BtHandshake, Draw, Established, Group, Handshake, Initiator, Method, Methods, Offer, Responder,
    Status,
};

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
    let (initial, mut outcomes) = (bt_handshake(b'a').encode(), Vec::new());
    for (group, name, limit) in GROUPS {
        let (mut initiators, mut responders) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let ([initiator, responder], _) = in_memory(group, Method::Rc4, &initial)?;
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

/// What each side spends in memory, initiator first, and the responder's end of the connection.
pub(super) fn in_memory(
    group: Group,
    method: Method,
    initial: &[u8],
) -> Result<([Duration; 2], Established), Reason> {
    let (methods, mut spent) = (Methods::of(&[method]), [Duration::ZERO; 2]);
    let began = Instant::now();
    let offer = Offer::new(methods, initial.to_vec());
    let mut a = Initiator::new(TORRENT, offer, Draw::system(group)?)?;
    spent[0] += began.elapsed();
    let began = Instant::now();
    let mut b = Responder::new(TORRENT, Accept::new(methods, method), Draw::system(group)?);
    spent[1] += began.elapsed();
    let sides: [&mut dyn Handshake; 2] = [&mut a, &mut b];
    let (mut sent, mut ends) = (Vec::new(), [None, None]);
    for side in [0, 1, 0, 1, 0] {
        let began = Instant::now();
        let (mut input, mut output) = (sent.as_slice(), Vec::new());
        ends[side] = drive(sides[side], &mut input, |step| {
            output.extend(step);
            Ok(())
        })?;
        spent[side] += began.elapsed();
        sent = output;
    }
    let [Some(_), Some(responder)] = ends else { return Err("the handshake did not end".into()) };
    Ok((spent, responder))
}

/// Gives a side what came, and `send` each step before the side computes on. Returns what it agreed to; nothing if it
/// needs more.
pub(super) fn drive(
    side: &mut dyn Handshake,
    input: &mut &[u8],
    mut send: impl FnMut(Vec<u8>) -> Result<(), Reason>,
) -> Result<Option<Established>, Reason> {
    loop {
        let status = side.handle_input(input)?;
        side.poll_output().map_or(Ok(()), &mut send)?;
        match status {
            Status::Established(agreed) => return Ok(Some(*agreed)),
            _ if input.is_empty() => return Ok(None),
            _ => {}
        }
    }
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
