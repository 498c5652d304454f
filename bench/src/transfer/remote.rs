//! Transfers to another computer.

use core::net::Ipv4Addr;

use super::{Outcome, Private, Process, TransferError, conduct, discovery, out_of_turn};
use crate::other::Other;
use crate::worker::{Event, Order, Side};

/// To the other computer, whose process sends on what it gets, and back: both clock readings are this computer's.
pub(super) fn there_and_back(run: &Private<'_>, other: &Other) -> Result<Outcome, TransferError> {
    let (here, there) = (other.here, other.there);
    let mut sender = run.start(&run.task(Side::Sender, here, here), &[])?;
    let Event::Ready { ports } = sender.hear()? else { return Err(out_of_turn()) };
    let mut echo = start(run, other, Side::Echo { ports }, there)?;
    let Event::Ready { ports } = echo.hear()? else { return Err(out_of_turn()) };
    let mut receiver = run.start(&run.task(Side::Returned { ports }, there, here), &[])?;
    let Event::Open = receiver.hear()? else { return Err(out_of_turn()) };
    echo.say(&Order::Go);
    sender.say(&Order::Go);
    let Event::Sent { total } = sender.hear()? else { return Err(out_of_turn()) };
    echo.say(&Order::Sent { total });
    receiver.say(&Order::Sent { total });
    let Event::Received(received) = receiver.hear()? else { return Err(out_of_turn()) };
    echo.say(&Order::Finish);
    let Event::Finished(_) = echo.hear()? else { return Err(out_of_turn()) };
    sender.say(&Order::Finish);
    let Event::Finished(report) = sender.hear()? else { return Err(out_of_turn()) };
    Outcome::of((report, received))
}

/// To a receiver on the other computer, which counts on its own clock.
pub(super) fn there(run: &Private<'_>, other: &Other) -> Result<Outcome, TransferError> {
    let mut sender = run.start(&run.task(Side::Sender, other.here, other.here), &[])?;
    let Event::Ready { ports } = sender.hear()? else { return Err(out_of_turn()) };
    let receiver = start(run, other, Side::Receiver { ports }, other.here)?;
    Outcome::of(conduct(&mut sender, &mut [receiver])?)
}

/// Starts an end on the other computer, which takes the samples of this one.
fn start(run: &Private<'_>, other: &Other, side: Side, listen: Ipv4Addr) -> Result<Process, TransferError> {
    let config = discovery::private(&run.session, run.base_port, other.here);
    other.start((run.subject, run.task(side, other.here, listen)), config, run.scratch, run.patience)
}
