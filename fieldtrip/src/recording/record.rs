use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::time::Instant;

use super::{Recording, RecordingError};
use crate::client::{ClientError, Follower, Update};
use crate::tap::{Change, Tap, TapEnd};
use crate::wire::ByteOrder;

/// Writes everything that a buffer of this process accepts, without loss, until told to stop.
///
/// Take the tap before the first client can connect.
pub fn record_buffer(tap: &Tap, recording: &mut Recording, stop: &AtomicBool) -> Result<(), RecordingError> {
    loop {
        // What was accepted before the stop is written.
        let timeout = if stop.load(Ordering::Relaxed) { Duration::ZERO } else { LOOK_EVERY };
        match tap.next_change(timeout) {
            Ok(Some(change)) => write_change(recording, &change)?,
            Ok(None) if stop.load(Ordering::Relaxed) => return Ok(()),
            Ok(None) => {}
            Err(TapEnd::BufferGone) => return Ok(()),
            Err(TapEnd::Overflow) => return Err(RecordingError::Overflow),
        }
    }
}

/// Writes what another server's buffer gets, until told to stop. Says how many samples and events were missed
/// because the ring had overwritten them. It is 0 unless this machine was busy for longer than the ring is.
///
/// A server that goes away is waited for.
///
/// - Errors: [`RecordingError::Server`] if what answers there is no buffer (any more): check its address.
pub fn record_follower(
    follower: &mut Follower,
    recording: &mut Recording,
    stop: &AtomicBool,
) -> Result<(u64, u64), RecordingError> {
    let started = Instant::now();
    let mut missed = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let update = follower.next_update(LOOK_EVERY);
        let at = started.elapsed();
        match update {
            Ok(Some(Update::Header(header))) => recording.header(&header, at)?,
            Ok(Some(Update::Samples(block))) => {
                recording.samples(block.definition.sample_count, [&block.values[..]], at)?;
            }
            Ok(Some(Update::Events { events, .. })) => {
                let mut bytes = Vec::new();
                for event in &events {
                    let mut one = Vec::new();
                    event.encode(ByteOrder::NATIVE, &mut one);
                    bytes.push(one);
                }
                recording.events(bytes.iter().map(|event| &event[..]), at)?;
            }
            Ok(Some(Update::Lost { samples, events })) => {
                missed = (missed.0 + u64::from(samples), missed.1 + u64::from(events));
            }
            Ok(None) => {}
            Err(ClientError::Unreachable(_) | ClientError::Disconnected(_) | ClientError::TimedOut) => {
                std::thread::sleep(LOOK_EVERY);
            }
            Err(error) => return Err(RecordingError::Server(error)),
        }
    }
    Ok(missed)
}

fn write_change(recording: &mut Recording, change: &Change) -> Result<(), RecordingError> {
    match change {
        Change::Header { header, at } => recording.header(header, *at),
        Change::Samples { count, values, at } => {
            recording.samples(*count, values.iter().map(AsRef::as_ref), *at)
        }
        Change::Events { events, at } => recording.events(events.iter().map(|event| &event[..]), *at),
        // The format has no way to say so.
        Change::EventsFlushed | Change::HeaderFlushed | Change::SamplesFlushed => Ok(()),
    }
}

/// How often to look whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
