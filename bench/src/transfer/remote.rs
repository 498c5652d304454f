//! Transfers to another computer, where an agent starts the measuring processes.

use super::{End, Outcome, Private, TransferError, conduct, out_of_turn};
use crate::agent::Agent;
use crate::worker::{Event, Order, Side};

/// To the other computer, whose process sends on what it gets, and back: both clock readings are this computer's.
pub(super) fn there_and_back(run: &Private<'_>, agent: &mut Agent) -> Result<Outcome, TransferError> {
    let (here, there) = agent.addresses();
    let mut sender = run.start(&run.task(Side::Sender, here, here), &[])?;
    let Event::Ready { ports } = sender.hear()? else { return Err(out_of_turn()) };
    let task = run.task(Side::Echo { ports }, here, there);
    let mut echo = agent.start(run.subject, task, (&run.session, run.base_port), run.patience)?;
    let Event::Ready { ports } = echo.hear()? else { return Err(out_of_turn()) };
    let mut receiver = run.start(&run.task(Side::Returned { ports }, there, here), &[])?;
    let Event::Open = receiver.hear()? else { return Err(out_of_turn()) };
    echo.say(Order::Go)?;
    sender.say(Order::Go)?;
    let Event::Sent { total } = sender.hear()? else { return Err(out_of_turn()) };
    echo.say(Order::Sent { total })?;
    receiver.say(Order::Sent { total })?;
    let Event::Received(received) = receiver.hear()? else { return Err(out_of_turn()) };
    echo.say(Order::Finish)?;
    let Event::Finished(_) = echo.hear()? else { return Err(out_of_turn()) };
    sender.say(Order::Finish)?;
    let Event::Finished(report) = sender.hear()? else { return Err(out_of_turn()) };
    Ok(Outcome { sender: report, receivers: vec![received] })
}

/// To a receiver on the other computer, which counts on its own clock.
pub(super) fn there(run: &Private<'_>, agent: &mut Agent) -> Result<Outcome, TransferError> {
    let (here, _) = agent.addresses();
    let mut sender = run.start(&run.task(Side::Sender, here, here), &[])?;
    let Event::Ready { ports } = sender.hear()? else { return Err(out_of_turn()) };
    let task = run.task(Side::Receiver { ports }, here, here);
    let mut receiver = agent.start(run.subject, task, (&run.session, run.base_port), run.patience)?;
    let Event::Open = receiver.hear()? else { return Err(out_of_turn()) };
    conduct(&mut sender, &mut [&mut receiver])
}
