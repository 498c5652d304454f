//! The thread that makes an inlet's data connection, keeps it, and makes it anew.
//!
//! It sleeps until samples are asked for, connects, verifies the test pattern, and hands the socket to
//! the pulls. While the connection lasts it drains the socket between pulls, and watches for
//! silence. When the connection breaks it looks for the stream again, if that is permitted.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::MutexGuard;
use std::time::Instant;

use schwann_proto::inlet::{RETRY_PAUSE, Transfer, Watchdog, WatchdogOutput};

use super::events::StreamEvent;
use super::queue::SampleQueue;
use super::receiver::{Received, Receiver, Wait};
use super::shared::{Phase, State};
use super::stream::{Recovery, Stream};
use crate::codec::QueueCodec;
use crate::net::handshake::{self, HandshakeError};
use crate::{local_clock, log};

/// Runs until the inlet ends or its stream is lost.
pub(crate) fn run(stream: &Stream) {
    while let Some(closings) = wait_until_wanted(stream) {
        let outcome = connect(stream, closings);
        if outcome.is_err() {
            // The outlet must not go on to serve a connection that is no longer read.
            release(stream.shared.lock());
        }
        match &outcome {
            Ok(()) => serve(stream, closings),
            Err(reason) if stream.permits_other(reason) => continue,
            Err(HandshakeError::Refused(refusal)) => stream.note_refusal(*refusal),
            Err(reason) => log::verbose!(1, "{} is not received: {reason}", stream.info().name()),
        }
        if !is_wanted(stream, closings) {
            continue;
        }
        let pause = || stream.pause(closings, Wait::Until(Instant::now() + RETRY));
        if outcome.is_err_and(|reason| reason.is_shortage()) {
            log::warning!("{} cannot be received now: there are no descriptors left", stream.info().name());
            pause();
            continue;
        }
        stream.events.push(StreamEvent::Recovering);
        stream.look_for_lag();
        match stream.find_again(closings, Wait::Forever) {
            Recovery::Failed | Recovery::Unchanged => pause(),
            Recovery::Moved | Recovery::Interrupted => {}
            Recovery::Impossible => {
                stream.lose();
                return;
            }
        }
    }
}

/// Sleeps until samples are wanted, and returns the closings so far; nothing when the inlet ends.
fn wait_until_wanted(stream: &Stream) -> Option<u64> {
    let mut state = stream.shared.lock();
    loop {
        if state.ending {
            return None;
        }
        if state.phase == Phase::Connecting {
            return Some(state.closings);
        }
        state = stream.shared.wait_control(state, Wait::Forever);
    }
}

/// Whether the connection that is over is still wanted. A program that closed and reopened meanwhile
/// wants a new one; the old one was not lost.
fn is_wanted(stream: &Stream, closings: u64) -> bool {
    let mut state = stream.shared.lock();
    if matches!(state.phase, Phase::Closed | Phase::Lost) || state.closings != closings {
        return false;
    }
    state.phase = Phase::Connecting;
    true
}

/// Connects, shakes hands and opens the stream for pulls, unless it is closed meanwhile.
fn connect(stream: &Stream, closings: u64) -> Result<(), HandshakeError> {
    let info = stream.info();
    let link = Arc::new(stream.start_connecting(&info)?);
    {
        let mut state = stream.shared.lock();
        if state.ending || state.closings != closings {
            return Err(HandshakeError::Cancelled);
        }
        state.link = Some(Arc::clone(&link));
    }
    let agreed = handshake::shake_hands(&link, &stream.wanted(&info), stream.sealing(&info));
    let agreed = agreed.map_err(|error| match stream.closings() == closings {
        true => stream.blame_local(&link, &info, error),
        false => HandshakeError::Cancelled,
    })?;
    stream.check_device(&link, &info)?;
    stream.take_keys(&link);
    let codec = QueueCodec::new(agreed.layout, info.nominal_rate());
    let capacity = usize::try_from(stream.capacity).unwrap_or(1);
    let mut queue = SampleQueue::new(codec, capacity, stream.byte_limit);
    let mut state = stream.shared.lock();
    if state.ending || state.closings != closings {
        return Err(HandshakeError::Cancelled);
    }
    state.epoch += 1;
    let mut receiver = Receiver::new(Arc::clone(&link), state.epoch, agreed.opener, agreed.archive);
    let mut block = queue.take_tail();
    let received = receiver.accept(&agreed.early, &mut block);
    if queue.put_back(block).is_err() || received == Received::Broken {
        return Err(HandshakeError::Malformed);
    }
    state.open(queue, receiver);
    state.takes_reports = agreed.takes_reports;
    drop(state);
    stream.forget_refusal();
    stream.shared.notify_all();
    stream.events.push(StreamEvent::Connected);
    stream.note_peer(&link);
    Ok(())
}

/// Keeps the connection until it breaks or is no longer wanted.
fn serve(stream: &Stream, closings: u64) {
    let mut pause = *DRAIN_PAUSE.start();
    let mut watchdog = stream.watchdog();
    let mut lab_changes = 0;
    let mut state = stream.shared.lock();
    while !state.broken && !state.ending && state.phase == Phase::Open {
        let pulls = state.pulls;
        state = stream.shared.wait_control(state, Wait::Until(Instant::now() + pause));
        if state.pulls != pulls || state.receiver.is_none() {
            pause = PULLED_PAUSE;
        } else {
            let (next, count) = stream.shared.drain(state);
            state = next;
            pause = next_pause(pause, count);
        }
        drop(state);
        stream.look_for_lag();
        state = stream.shared.lock();
        if watchdog.as_mut().is_some_and(|watchdog| is_silent(watchdog, state.last_arrival)) {
            drop(state);
            let wait = Wait::Until(Instant::now() + WATCHDOG_SEARCH);
            if stream.find_again(closings, wait) == Recovery::Moved {
                break_connection(stream);
            }
            state = stream.shared.lock();
        }
        drop(state);
        if stream.follow_lab(&mut lab_changes) {
            break_connection(stream);
        }
        state = stream.shared.lock();
    }
    let refusal = state.link.as_ref().and_then(|link| link.layer().refusal());
    release(state);
    refusal.into_iter().for_each(|refusal| stream.note_refusal(refusal));
}

fn is_silent(watchdog: &mut Watchdog, last_arrival: Instant) -> bool {
    let now = local_clock();
    let last_receive = now - last_arrival.elapsed().as_secs_f64();
    watchdog.poll(now, Transfer::Active { last_receive }) == WatchdogOutput::Recover
}

fn next_pause(pause: Duration, drained: usize) -> Duration {
    let next = match drained {
        LARGE_DRAIN.. => *DRAIN_PAUSE.start(),
        1.. => pause.min(Duration::from_millis(10)),
        0 => pause * 2,
    };
    next.clamp(*DRAIN_PAUSE.start(), *DRAIN_PAUSE.end())
}

fn break_connection(stream: &Stream) {
    let mut state = stream.shared.lock();
    state.broken = true;
    if let Some(link) = &state.link {
        link.shut_down();
    }
}

/// Takes the broken or closed connection apart; arrived samples stay.
fn release(mut state: MutexGuard<'_, State>) {
    state.epoch += 1;
    state.receiver = None;
    if let Some(link) = state.link.take() {
        link.shut_down();
    }
}

/// Pause between two attempts to connect (lsl-wire §17.2).
const RETRY: Duration = Duration::from_millis((RETRY_PAUSE * 1e3) as u64);
/// Bounds of the pause between two drains while no thread pulls.
const DRAIN_PAUSE: core::ops::RangeInclusive<Duration> =
    Duration::from_millis(2)..=Duration::from_millis(100);
/// Pause between two looks while pulls come.
const PULLED_PAUSE: Duration = Duration::from_millis(50);
/// How long the watchdog looks whether a silent stream is somewhere else.
const WATCHDOG_SEARCH: Duration = Duration::from_secs(5);
/// A drain that brings this many bytes should have come earlier.
const LARGE_DRAIN: usize = 64 * 1024;
