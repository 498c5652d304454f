//! The process that sends on what it receives, sample by sample: the far end of a way there and back.

use core::num::NonZeroU64;

use super::link::{self, Pulled, Receiving, Sending};
use super::{Event, Order, Orders, Ports, SenderReport, Task, emit, peak_bytes};
use crate::Reason;
use crate::clock::{cpu_ns, now_ns};

pub(super) fn run(task: &Task, ports: Ports, orders: &Orders) -> Result<(), Reason> {
    let mut receiving = link::open(task, ports)?;
    let mut sending = link::listen(task)?;
    emit(&Event::Ready { ports: Ports { data: sending.port()?, window: None } });
    let Order::Go = orders.wait()? else { return Err("expected the order to go".into()) };
    sending.connected(task.workload.consumers)?;
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let (start, cpu_before) = (now_ns(), cpu_ns());
    let sent = forward(task, &mut *receiving, &mut *sending, orders)?;
    sending.end()?;
    let active_ns = now_ns() - start;
    // The stream stays until all of it has been taken at the other side.
    orders.wait_for_finish()?;
    let (cpu_ns, peak_bytes) = (cpu_ns() - cpu_before, peak_bytes());
    emit(&Event::Finished(vec![SenderReport { sent, active_ns, cpu_ns, peak_bytes, pushes: Vec::new() }]));
    Ok(())
}

fn forward(
    task: &Task,
    receiving: &mut dyn Receiving,
    sending: &mut dyn Sending,
    orders: &Orders,
) -> Result<u64, Reason> {
    let mut sample = vec![0; task.workload.sample_bytes()];
    let mut sent = 0;
    while orders.total.known().is_none_or(|total| sent < total) {
        match receiving.pull(&mut sample)? {
            Pulled::End => break,
            Pulled::Samples(0) if orders.total.known().is_some() => break,
            Pulled::Samples(0) => {}
            Pulled::Samples(_) => {
                sending.push(&sample)?;
                sent += 1;
            }
        }
    }
    Ok(sent)
}
