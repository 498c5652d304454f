//! The sending process.

use core::num::NonZeroU64;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

use super::link::{self, Sending};
use super::{Event, Order, Orders, Ports, Push, SenderReport, Task, emit, peak_bytes};
use crate::Reason;
use crate::clock::{cpu_ns, now_ns, ns, sleep_until};
use crate::payload::Chunk;
use crate::statistics::Resampler;
use crate::workload::Pacing;

pub(super) fn run(tasks: &[Task], first: &Task, orders: &Orders) -> Result<(), Reason> {
    let mut all = tasks.iter().map(link::listen).collect::<Result<Vec<_>, _>>()?;
    let window = match first.workload.pacing {
        Pacing::Window { .. } => Some(TcpListener::bind((first.listen, 0))?),
        Pacing::Schedule { .. } | Pacing::Unpaced => None,
    };
    let window_port = window.as_ref().map(TcpListener::local_addr).transpose()?.map(|address| address.port());
    let data = all.first().map_or(Ok(None), |sending| sending.port())?;
    emit(&Event::Ready { ports: Ports { data, window: window_port } });
    let Order::Go = orders.wait()? else { return Err("expected the order to go".into()) };

    all.iter_mut().try_for_each(|sending| sending.connected(first.workload.consumers))?;
    // Open until the end: the receiver may still say how far it is when all has been sent.
    let mut acknowledged = window.map(|listener| Acknowledged::accept(&listener)).transpose()?;
    // Otherwise the kernel may wake this thread 50 us late to save power, which is not the library's doing.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let cpu_before = cpu_ns();
    let mut reports = push(first, &mut all, acknowledged.as_mut())?;
    all.iter().try_for_each(|sending| sending.end())?;
    emit(&Event::Sent { total: reports.first().map_or(0, |report| report.sent) });
    let Order::Finish = orders.wait()? else { return Err("expected the order to finish".into()) };
    for report in &mut reports {
        (report.cpu_ns, report.peak_bytes) = (cpu_ns() - cpu_before, peak_bytes());
    }
    emit(&Event::Finished(reports));
    Ok(())
}

/// Sends all samples of the streams.
fn push(
    task: &Task,
    all: &mut [Box<dyn Sending>],
    mut acknowledged: Option<&mut Acknowledged>,
) -> Result<Vec<SenderReport>, Reason> {
    let [sending] = all else { return side_by_side(task, all) };
    let sending = &mut **sending;
    let report = match task.workload.pacing {
        Pacing::Schedule { rate } => scheduled(task, rate, sending),
        Pacing::Unpaced => flat_out(task, sending, |_| Ok(())),
        Pacing::Window { ahead } => flat_out(task, sending, |sent| match &mut acknowledged {
            Some(acknowledged) => acknowledged.wait_until_within(ahead, sent),
            None => Ok(()),
        }),
    };
    Ok(vec![report?])
}

/// One push to each stream per period, in random order; a late push does not move those after it.
fn side_by_side(task: &Task, all: &mut [Box<dyn Sending>]) -> Result<Vec<SenderReport>, Reason> {
    let workload = &task.workload;
    let count = (workload.duration.as_secs_f64() * workload.nominal_rate) as u64;
    let slot_ns = 1e9 / workload.nominal_rate / all.len() as f64;
    let mut source = Chunk::new(workload.format, workload.channel_count, 1);
    let pushes = || Vec::with_capacity(count as usize);
    let mut reports: Vec<_> =
        all.iter().map(|_| SenderReport { sent: count, pushes: pushes(), ..Default::default() }).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    let mut random = Resampler::new(workload.turns.seed);
    let start = now_ns() + LEAD_IN_NS;
    for period in 0..count {
        let sample = source.at(period);
        random.shuffle(&mut order);
        for (slot, &stream) in order.iter().enumerate() {
            let due = start + ((period as f64 * all.len() as f64 + slot as f64) * slot_ns) as u64;
            sleep_until(due);
            let begun = now_ns();
            all[stream].push(sample)?;
            reports[stream].pushes.push(Push { due, begun, done: now_ns() });
        }
    }
    Ok(reports)
}

/// Pushes on an open-loop schedule: a late push does not move those after it.
fn scheduled(task: &Task, rate: f64, sending: &mut dyn Sending) -> Result<SenderReport, Reason> {
    let workload = &task.workload;
    let period_ns = workload.chunk as f64 * 1e9 / rate;
    let count = (ns(workload.duration) as f64 / period_ns) as u64;
    let mut source = Chunk::new(workload.format, workload.channel_count, workload.chunk);
    let mut pushes = Vec::with_capacity(if workload.timed { count as usize } else { 0 });
    let handicaps = workload.turns.handicaps(count as usize);
    let start = now_ns() + LEAD_IN_NS;
    for index in 0..count {
        let values = source.at(index * workload.chunk as u64);
        let due = start + (index as f64 * period_ns) as u64;
        sleep_until(due);
        let begun = now_ns();
        sending.push(values)?;
        spin(begun, handicaps.get(index as usize).copied().unwrap_or(0.0));
        if workload.timed {
            pushes.push(Push { due, begun, done: now_ns() });
        }
    }
    Ok(SenderReport {
        sent: count * workload.chunk as u64,
        active_ns: now_ns() - start,
        pushes,
        ..Default::default()
    })
}

/// Pushes without pause for the workload's duration; `admit` may wait before each push.
fn flat_out(
    task: &Task,
    sending: &mut dyn Sending,
    mut admit: impl FnMut(u64) -> Result<(), Reason>,
) -> Result<SenderReport, Reason> {
    let workload = &task.workload;
    let mut source = Chunk::new(workload.format, workload.channel_count, workload.chunk);
    let mut sent = 0;
    let start = now_ns();
    let end = start + ns(workload.duration);
    while now_ns() < end {
        admit(sent)?;
        sending.push(source.at(sent))?;
        sent += workload.chunk as u64;
    }
    Ok(SenderReport { sent, active_ns: now_ns() - start, ..Default::default() })
}

/// Holds a push that began at `begun` up by a share of what it took.
fn spin(begun: u64, share: f64) {
    if share > 0.0 {
        let now = now_ns();
        let until = now + ((now - begun) as f64 * share) as u64;
        while now_ns() < until {
            core::hint::spin_loop();
        }
    }
}

/// How far the receiver says that it is.
struct Acknowledged {
    stream: TcpStream,
    samples: u64,
}

impl Acknowledged {
    fn accept(listener: &TcpListener) -> Result<Self, Reason> {
        Ok(Self { stream: listener.accept()?.0, samples: 0 })
    }

    /// Waits until at most `ahead` of the `sent` samples are not acknowledged.
    fn wait_until_within(&mut self, ahead: u64, sent: u64) -> Result<(), Reason> {
        while sent - self.samples > ahead {
            let mut message = [0; 8];
            self.stream.read_exact(&mut message)?;
            self.samples = u64::from_le_bytes(message);
        }
        Ok(())
    }
}

/// The schedule begins so long after the order, in ns. An old liblsl registers a consumer only a little
/// after the consumer's `open_stream` has returned.
const LEAD_IN_NS: u64 = 100_000_000;
