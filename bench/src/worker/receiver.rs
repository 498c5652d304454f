//! The receiving process.

use core::time::Duration;
use std::io::Write;
use std::net::TcpStream;

use super::link::{Pulled, Receiving};
use super::{Event, Orders, Ports, ReceiverReport, Task, emit, peak_bytes};
use crate::Reason;
use crate::clock::{cpu_ns, now_ns};
use crate::payload::{Payload, Verifier};
use crate::workload::{Pacing, Pull, Workload};

pub(super) fn run<T: Payload>(task: &Task, ports: Ports, orders: &Orders) -> Result<(), Reason> {
    let baseline_bytes = peak_bytes();
    let mut receiving = Receiving::open(task, ports)?;
    let acknowledge = Acknowledge::connect(task, ports)?;
    emit(&Event::Open);
    let cpu_before = cpu_ns();
    let mut progress = Progress::<T>::new(&task.workload, acknowledge);
    match task.workload.pull {
        Pull::Sample => pull_samples(&mut receiving, &mut progress, orders)?,
        Pull::Chunk { samples, pause } => pull_chunks(&mut receiving, &mut progress, orders, samples, pause)?,
    }
    let mut report = progress.report();
    report.cpu_ns = cpu_ns() - cpu_before;
    report.baseline_bytes = baseline_bytes;
    report.peak_bytes = peak_bytes();
    emit(&Event::Received(report));
    Ok(())
}

fn pull_samples<T: Payload>(
    receiving: &mut Receiving,
    progress: &mut Progress<'_, T>,
    orders: &Orders,
) -> Result<(), Reason> {
    let mut sample = vec![T::default(); progress.workload.channel_count];
    loop {
        match receiving.pull_sample(&mut sample)? {
            Pulled::Samples(1) => progress.take(&sample, Measure::Full)?,
            Pulled::Samples(_) if orders.total().is_some() => return Ok(()),
            Pulled::Samples(_) => {}
            Pulled::End => return Ok(()),
        }
        if progress.complete(orders) {
            return Ok(());
        }
    }
}

fn pull_chunks<T: Payload>(
    receiving: &mut Receiving,
    progress: &mut Progress<'_, T>,
    orders: &Orders,
    samples: usize,
    pause: Duration,
) -> Result<(), Reason> {
    let mut values = vec![T::default(); samples * progress.workload.channel_count];
    let mut stamps = vec![0.0; samples];
    loop {
        match receiving.pull_chunk(&mut values, &mut stamps)? {
            Pulled::Samples(0) if orders.total().is_some() => return Ok(()),
            Pulled::Samples(0) => {}
            Pulled::Samples(count) => {
                let measure = if count == samples { Measure::Full } else { Measure::Part };
                progress.take(&values[..count * progress.workload.channel_count], measure)?;
            }
            Pulled::End => return Ok(()),
        }
        // Who pulls slowly on purpose does not catch up afterwards.
        if progress.complete(orders) || (!pause.is_zero() && orders.total().is_some()) {
            return Ok(());
        }
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
}

/// Whether a pull gave as much as it was asked for. One that did not has waited for its timeout.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Measure {
    Full,
    Part,
}

/// What has arrived so far.
struct Progress<'a, T> {
    workload: &'a Workload,
    verifier: Verifier<T>,
    acknowledge: Option<Acknowledge>,
    first_ns: Option<u64>,
    first_samples: u64,
    last_ns: u64,
    last_samples: u64,
    arrivals: Vec<(u64, u64)>,
}

impl<'a, T: Payload> Progress<'a, T> {
    fn new(workload: &'a Workload, acknowledge: Option<Acknowledge>) -> Self {
        let expected = workload.duration.as_secs_f64() * workload.nominal_rate;
        Self {
            workload,
            verifier: Verifier::new(workload.channel_count),
            acknowledge,
            first_ns: None,
            first_samples: 0,
            last_ns: 0,
            last_samples: 0,
            arrivals: Vec::with_capacity(if workload.timed { expected as usize + 1 } else { 0 }),
        }
    }

    fn take(&mut self, values: &[T], measure: Measure) -> Result<(), Reason> {
        let now = now_ns();
        for sample in values.chunks_exact(self.workload.channel_count) {
            let sequence = self.verifier.take(sample);
            if self.workload.timed {
                self.arrivals.push((sequence, now));
            }
        }
        let received = self.verifier.tally.received;
        if self.first_ns.is_none() {
            self.first_ns = Some(now);
            self.first_samples = received;
        }
        if measure == Measure::Full {
            self.last_ns = now;
            self.last_samples = received;
        }
        match &mut self.acknowledge {
            Some(acknowledge) => acknowledge.progress(self.verifier.next()),
            None => Ok(()),
        }
    }

    fn complete(&self, orders: &Orders) -> bool {
        orders.total().is_some_and(|total| self.verifier.next() >= total)
    }

    fn report(self) -> ReceiverReport {
        ReceiverReport {
            tally: self.verifier.tally,
            active_ns: self.last_ns.saturating_sub(self.first_ns.unwrap_or(0)),
            active_samples: self.last_samples.saturating_sub(self.first_samples),
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
