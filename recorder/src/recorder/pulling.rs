//! One stream, in its thread: pulled from its sender and pushed into the file.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

use schwann::inlet::StreamEvent;
use schwann::{Error, StreamInfo, local_clock};
use schwann_xdf::{PushError, StreamWriter};

use super::seat::{Current, Seat};
use super::tap::TappedInlet;
use super::{Inspect, lock};
use crate::chunk::{Chunk, PULL_SECONDS, pause};
use crate::status::Phase;
use crate::stop::Stop;

/// One stream, in its thread.
pub(super) struct Pulling {
    pub(super) shared: Arc<TappedInlet>,
    pub(super) current: Arc<Current>,
    pub(super) stop: Arc<Stop>,
    pub(super) inspect: Inspect,
    /// When to record the clock offset next, in seconds on the local clock.
    pub(super) next_offset: f64,
}

impl Pulling {
    /// Records until the stream or its recording ends.
    pub(super) fn run(self) {
        let shared = Arc::clone(&self.shared);
        // The panic itself was reported when it happened; without this, the stream would look as if it were still recorded.
        if catch_unwind(AssertUnwindSafe(|| self.record())).is_err() {
            lock(&shared.state).change(Phase::Failed);
        }
    }

    fn record(mut self) {
        let Some((info, chunk)) = self.open().filter(|_| self.shared.note_answer()) else { return };
        let xml = String::from_utf8_lossy(&info.fullinfo()).into_owned();
        let (Some(mut chunk), Some(mut writing)) = (chunk, Writing::take(&self.current, &xml)) else {
            lock(&self.shared.state).change(Phase::Unreadable);
            return;
        };
        if info.document_error().is_some() {
            lock(&self.shared.state).is_description_cut = true;
            writing.event("description cut", &info);
        }
        let pause = pause(info.nominal_rate());
        loop {
            if self.current.has_changed(&writing.seat) {
                let Some(next) = Writing::take(&self.current, &xml) else {
                    lock(&self.shared.state).change(Phase::Unreadable);
                    return;
                };
                writing = next;
                self.next_offset = 0.0;
            }
            if self.stop.is_raised() {
                return self.take_rest(&mut chunk, &info, &writing);
            }
            if self.pull(&mut chunk, PULL_SECONDS, &info, &writing) == Err(Error::Lost) {
                return self.lose(&info, &writing);
            }
            self.record_offset(&writing.writer);
            if !pause.is_zero() {
                self.stop.wait(pause);
            }
        }
    }

    /// Takes in what had arrived when the recording was told to stop: a sender that never pauses would have no end.
    fn take_rest(&mut self, chunk: &mut Chunk, info: &StreamInfo, writing: &Writing) {
        let mut left = self.shared.inlet.samples_available();
        loop {
            let pulled = self.pull(chunk, 0.0, info, writing);
            left = left.saturating_sub(chunk.count());
            if pulled == Err(Error::Lost) {
                return self.lose(info, writing);
            }
            if left == 0 || chunk.count() == 0 {
                break;
            }
        }
        self.record_offset(&writing.writer);
    }

    fn pull(
        &mut self,
        chunk: &mut Chunk,
        patience: f64,
        info: &StreamInfo,
        writing: &Writing,
    ) -> Result<(), Error> {
        let pulled = chunk.pull(&self.shared.inlet, patience);
        // First what happened to the connection: what was pulled after a return belongs to another run.
        self.note_events(info, writing);
        self.take_in(chunk, &writing.writer);
        pulled
    }

    /// Connects and asks for the whole description; none if the recording ends before that.
    pub(super) fn open(&self) -> Option<(StreamInfo, Option<Chunk>)> {
        let mut chunk = None;
        while !self.stop.is_raised() {
            let outcome = match chunk.take() {
                None => Chunk::open(&self.shared.inlet, PULL_SECONDS).map(|opened| chunk = Some(opened)),
                Some(opened) => match self.shared.inlet.full_info(PULL_SECONDS) {
                    Ok(info) => return Some((info, opened)),
                    Err(error) => {
                        chunk = Some(opened);
                        Err(error)
                    }
                },
            };
            match outcome {
                Ok(()) => {}
                Err(Error::Lost) => {
                    lock(&self.shared.state).change(Phase::Lost);
                    return None;
                }
                Err(Error::Undescribed) => {
                    lock(&self.shared.state).change(Phase::Unreadable);
                    return None;
                }
                Err(_) => {}
            }
        }
        None
    }

    pub(super) fn take_in(&mut self, chunk: &Chunk, writer: &StreamWriter) {
        if chunk.count() == 0 {
            return;
        }
        let (lag, now) = (self.shared.inlet.lag(), local_clock());
        (self.inspect)(chunk);
        let recorded = chunk.record(writer);
        let mut state = lock(&self.shared.state);
        // While the stream is away, samples that came before may still wait.
        if state.phase == Phase::Connecting {
            state.change(Phase::Recording);
        }
        state.meter.arrived(chunk.stamps(), lag, now);
        if let Err(PushError::Backlogged | PushError::Failed(_)) = recorded {
            state.unrecorded += chunk.count() as u64;
        }
    }

    pub(super) fn note_events(&mut self, info: &StreamInfo, writing: &Writing) {
        while let Some(event) = self.shared.inlet.next_event(0.0) {
            match event {
                StreamEvent::Connected => self.note_connected(info, writing),
                StreamEvent::Recovering => {
                    let mut state = lock(&self.shared.state);
                    state.change(Phase::Recovering);
                    state.meter.disconnected();
                    drop(state);
                    writing.event("connection lost", info);
                }
                StreamEvent::OtherDevice => {
                    writing.event(&format!("comes from another device, {}", self.device()), info);
                }
                StreamEvent::ClockReset => {
                    writing.event("clock may be another", info);
                    self.next_offset = 0.0;
                }
                _ => {}
            }
        }
    }

    fn note_connected(&self, info: &StreamInfo, writing: &Writing) {
        let mut state = lock(&self.shared.state);
        let came_back = state.phase == Phase::Recovering;
        state.change(Phase::Recording);
        if came_back {
            state.recoveries += 1;
            state.meter.interrupted();
            drop(state);
            writing.event("recovered", info);
        }
    }

    /// The device that the stream comes from now, in words.
    fn device(&self) -> String {
        self.shared.inlet.peer().map_or_else(
            || String::from("none that seals"),
            |now| format!("{} (certificate {})", now.statement.name.as_str(), now.statement.serial),
        )
    }

    /// Records the newest clock offset every [`OFFSET_EVERY`] seconds, as LabRecorder does.
    pub(super) fn record_offset(&mut self, writer: &StreamWriter) {
        let now = local_clock();
        if now < self.next_offset {
            return;
        }
        // The first question starts the measurement and is answered after a while.
        let Ok(estimate) = self.shared.inlet.clock_offset(0.0) else { return };
        lock(&self.shared.state).measured = Some(estimate.remote_time + estimate.offset);
        // On the sender's clock, like the stamps it is to be applied to. Source: XDF specification 1.0,
        // "ClockOffset"; LabRecorder writes `now - offset`.
        let (collected, offset) = (now - estimate.offset, estimate.offset);
        if writer.clock_offset(collected, offset).is_ok() {
            self.shared.note_offset(collected, offset, estimate.uncertainty);
            self.next_offset = now + OFFSET_EVERY;
        }
    }

    pub(super) fn lose(&mut self, info: &StreamInfo, writing: &Writing) {
        lock(&self.shared.state).change(Phase::Lost);
        writing.event("gone", info);
    }
}

/// Where the samples of one stream go.
pub(super) struct Writing {
    pub(super) seat: Seat,
    pub(super) writer: StreamWriter,
}

impl Writing {
    /// Adds the stream to the file of now; none if the file does not take it.
    pub(super) fn take(current: &Current, xml: &str) -> Option<Self> {
        let seat = current.seat();
        let writer = seat.file.writer.add_stream(xml).ok()?;
        seat.file.certified.note(&format!("came: stream {}", writer.id()));
        Some(Self { seat, writer })
    }

    pub(super) fn event(&self, what: &str, info: &StreamInfo) {
        self.seat.file.event(what, info, self.writer.id());
    }
}

/// Source: LabRecorder `recording.cpp`, `offset_interval`.
const OFFSET_EVERY: f64 = 5.0;
