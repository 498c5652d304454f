//! The receiving process.

use core::time::Duration;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Barrier, Mutex, PoisonError};

use super::link::{self, Pulled, Receiving};
use super::{Event, Orders, Ports, ReceiverReport, Task, Total, emit, peak_bytes};
use crate::Reason;
use crate::clock::{cpu_ns, now_ns};
use crate::payload::Verifier;
use crate::workload::{Pacing, Pull, Workload};

pub(super) fn run(tasks: &[Task], ports: Ports, orders: &Orders) -> Result<(), Reason> {
    let baseline_bytes = peak_bytes();
    let (mut reports, cpu_before) = match tasks {
        [task] => {
            let mut receiving = link::open(task, ports)?;
            let acknowledge = Acknowledge::connect(task, ports)?;
            emit(&Event::Open);
            let cpu_before = cpu_ns();
            (vec![receive(&mut *receiving, acknowledge, &task.workload, &orders.total)?], cpu_before)
        }
        _ => side_by_side(tasks, ports, &orders.total)?,
    };
    for report in &mut reports {
        report.cpu_ns = cpu_ns() - cpu_before;
        (report.baseline_bytes, report.peak_bytes) = (baseline_bytes, peak_bytes());
    }
    emit(&Event::Received(reports));
    Ok(())
}

/// Pulls from several streams, each in a thread of its own. With the reports comes the processor time that was spent before.
fn side_by_side(tasks: &[Task], ports: Ports, total: &Total) -> Result<(Vec<ReceiverReport>, u64), Reason> {
    // One after the other: many searches at once would need as many ports.
    let (turn, open) = (Mutex::new(()), Barrier::new(tasks.len() + 1));
    let one = |task: &Task| {
        let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let made = link::open(task, ports);
        drop(turn);
        open.wait();
        receive(&mut *made?, None, &task.workload, total)
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = tasks.iter().map(|task| scope.spawn(move || one(task))).collect();
        open.wait();
        emit(&Event::Open);
        let cpu_before = cpu_ns();
        let ended = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread has panicked")?);
        Ok((ended.collect::<Result<_, Reason>>()?, cpu_before))
    })
}

/// Pulls until all that was sent has come, or nothing comes any more.
fn receive(
    receiving: &mut dyn Receiving,
    mut acknowledge: Option<Acknowledge>,
    workload: &Workload,
    total: &Total,
) -> Result<ReceiverReport, Reason> {
    let (samples, pause) = match workload.pull {
        Pull::Sample => (1, Duration::ZERO),
        Pull::Chunk { samples, pause } => (samples, pause),
    };
    let sample_bytes = workload.sample_bytes();
    let mut values = vec![0; samples * sample_bytes];
    let mut progress = Progress::new(workload);
    loop {
        match receiving.pull(&mut values)? {
            Pulled::End => break,
            Pulled::Samples(0) if total.known().is_some() => break,
            Pulled::Samples(0) => {}
            Pulled::Samples(count) => {
                // One that gave less has waited for its timeout.
                progress.take(&values[..count * sample_bytes], count == samples);
                acknowledge.as_mut().map_or(Ok(()), |one| one.progress(progress.verifier.next()))?;
            }
        }
        let is_complete = total.known().is_some_and(|total| progress.verifier.next() >= total);
        // A receiver that pulls slowly on purpose does not catch up afterwards.
        if is_complete || (!pause.is_zero() && total.known().is_some()) {
            break;
        }
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
    Ok(progress.report())
}

/// What has arrived so far.
struct Progress<'a> {
    workload: &'a Workload,
    verifier: Verifier,
    /// The time of the first pull that gave something, and the samples until then.
    first: Option<(u64, u64)>,
    /// The same of the last one that gave as much as it was asked for.
    last: (u64, u64),
    arrivals: Vec<(u64, u64)>,
}

impl<'a> Progress<'a> {
    fn new(workload: &'a Workload) -> Self {
        let expected = (workload.duration.as_secs_f64() * workload.nominal_rate) as usize + 1;
        let arrivals = Vec::with_capacity(if workload.timed { expected } else { 0 });
        let verifier = Verifier::new(workload.format, workload.channel_count);
        Self { workload, verifier, first: None, last: (0, 0), arrivals }
    }

    fn take(&mut self, values: &[u8], is_full: bool) {
        let now = now_ns();
        for sample in values.chunks_exact(self.workload.sample_bytes()) {
            let sequence = self.verifier.take(sample);
            if self.workload.timed {
                self.arrivals.push((sequence, now));
            }
        }
        let here = (now, self.verifier.tally.received);
        self.first.get_or_insert(here);
        if is_full {
            self.last = here;
        }
    }

    fn report(self) -> ReceiverReport {
        let (first, last) = (self.first.unwrap_or_default(), self.last);
        ReceiverReport {
            tally: self.verifier.tally,
            active_ns: last.0.saturating_sub(first.0),
            active_samples: last.1.saturating_sub(first.1),
            arrivals: self.arrivals,
            ..Default::default()
        }
    }
}

/// Tells a sender that keeps a window how far the receiver is, eight times per window.
struct Acknowledge {
    stream: TcpStream,
    step: u64,
    said: u64,
}

impl Acknowledge {
    fn connect(task: &Task, ports: Ports) -> Result<Option<Self>, Reason> {
        let Pacing::Window { ahead } = task.workload.pacing else { return Ok(None) };
        let port = ports.window.ok_or("the sender named no port for its window")?;
        let stream = TcpStream::connect((task.sender, port))?;
        stream.set_nodelay(true)?;
        Ok(Some(Self { stream, step: ahead / 8, said: 0 }))
    }

    fn progress(&mut self, samples: u64) -> Result<(), Reason> {
        if samples - self.said < self.step {
            return Ok(());
        }
        self.said = samples;
        Ok(self.stream.write_all(&samples.to_le_bytes())?)
    }
}
