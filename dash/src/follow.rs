//! Receives one run of a stream for its row, in threads that end when the stream does.

use core::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{sync::Arc, thread};

use schwann::{
    Context, Error, Inlet, StreamInfo,
    inlet::{InletOptions, Recover, StreamEvent},
    local_clock,
};

use super::{batch::Batch, monitor::Monitor};

/// An inlet, and whether it is still wanted.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) inlet: Inlet,
    ending: AtomicBool,
    /// Given back after the inlet, whose end waits for its thread: fields end in this order.
    _seat: Seat,
}

/// How many followers there are, also those that were told to end and still have threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Seats(Arc<()>);

/// Counts as one follower for as long as it lives.
#[derive(Debug)]
struct Seat(#[expect(dead_code, reason = "it counts by being there")] Arc<()>);

impl Seats {
    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }

    fn take(&self) -> Seat {
        Seat(Arc::clone(&self.0))
    }
}

impl Follower {
    /// Prepares to receive; nothing is sent yet.
    ///
    /// - Errors: it cannot be received, or the system refuses a thread.
    pub(super) fn new(info: &StreamInfo, context: &Arc<Context>, seats: &Seats) -> Result<Arc<Self>, Error> {
        let options = InletOptions {
            buffer_length: buffer_seconds(info),
            // The lab searches for all rows at once; an inlet's own search would hold a port of the service range.
            recover: Recover::No,
            ..InletOptions::default()
        };
        let inlet = Inlet::in_context(info, &options, Arc::clone(context))?;
        Ok(Arc::new(Self { inlet, ending: AtomicBool::new(false), _seat: seats.take() }))
    }

    /// Begins to receive for `monitor`.
    ///
    /// - Errors: the system refuses a thread.
    pub(super) fn start(this: &Arc<Self>, monitor: &Arc<Monitor>) -> Result<(), Error> {
        let (this, monitor) = (Arc::clone(this), Arc::clone(monitor));
        let run = move || {
            if Self::open(&this, &monitor) {
                this.receive_all(&monitor);
            }
            this.take_in_events(&monitor);
            monitor.release(&this);
        };
        let thread = thread::Builder::new().name("dash-monitor".to_owned()).spawn(run);
        thread.map(drop).map_err(|_| Error::System("a thread"))
    }

    /// Tells the threads to end; does not wait for them.
    pub(super) fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
        self.inlet.end();
    }

    /// Waits for the connection; says whether there is one.
    ///
    /// Only then are memory and more threads taken: any computer may describe a stream of 2,000 million channels.
    fn open(this: &Arc<Self>, monitor: &Arc<Monitor>) -> bool {
        while !this.ending.load(Ordering::Relaxed) {
            this.take_in_events(monitor);
            match this.inlet.open_stream(WAIT_SECONDS) {
                Ok(()) => {
                    // The event may be a moment behind.
                    monitor.take_in_event(StreamEvent::Connected, this);
                    let (follower, monitor) = (Arc::clone(this), Arc::clone(monitor));
                    let describe = move || {
                        if let Ok(info) = follower.inlet.full_info(LABEL_SECONDS) {
                            monitor.describe(&info);
                        }
                    };
                    // Without a thread the channels have numbers in place of names.
                    let _ = thread::Builder::new().name("dash-labels".to_owned()).spawn(describe);
                    return true;
                }
                Err(Error::Timeout) => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// Receives until the stream is lost or no longer wanted.
    fn receive_all(&self, monitor: &Monitor) {
        let mut batch = Batch::new(monitor.info().channel_format(), self.inlet.channel_count());
        // Until the clock is known, stamps of another computer would be drawn at any time but their own.
        let mut patience = CLOCK_PATIENCE;
        let mut next_clock = 0.0;
        while !self.ending.load(Ordering::Relaxed) {
            self.take_in_events(monitor);
            if local_clock() >= next_clock {
                if let Ok(estimate) = self.inlet.clock_offset(patience) {
                    monitor.set_clock(estimate);
                    next_clock = local_clock() + CLOCK_SECONDS;
                }
                patience = 0.0;
            }
            let received = self.receive(&mut batch);
            let more_waits = batch.is_full();
            batch.note_dropped(self.inlet.dropped_samples());
            // The last samples before a loss count, too.
            monitor.take_in(&mut batch, received.unwrap_or(None));
            if received.is_err() {
                return;
            }
            if !more_waits {
                // Many samples at a time cost less than each by itself, and no eye sees the difference.
                thread::sleep(PAUSE);
            }
        }
    }

    /// Fills the batch with what has come, then waits for one more sample; returns how old that was when it came.
    fn receive(&self, batch: &mut Batch) -> Result<Option<f64>, Error> {
        while !batch.is_full() && batch.pull(&self.inlet, 0.0)?.is_some() {}
        if batch.is_full() {
            return Ok(None);
        }
        let Some(stamp) = batch.pull(&self.inlet, WAIT_SECONDS)? else { return Ok(None) };
        Ok(Some(local_clock() - stamp))
    }

    fn take_in_events(&self, monitor: &Monitor) {
        while let Some(event) = self.inlet.next_event(0.0) {
            monitor.take_in_event(event, self);
        }
    }
}

/// How much an inlet keeps while we draw, in seconds; what is lost here is lost for the picture alone.
fn buffer_seconds(info: &StreamInfo) -> i32 {
    let value_size = info.channel_format().value_size().unwrap_or(0);
    let bytes_per_second = info.nominal_rate() * f64::from(info.channel_count()) * value_size as f64;
    // What fits, because thousands of fast channels would fill the memory in a moment.
    (INLET_BYTES / bytes_per_second).clamp(1.0, INLET_SECONDS) as i32
}

/// The first measurement of a clock takes two thirds of a second.
const CLOCK_PATIENCE: f64 = 1.0;
const CLOCK_SECONDS: f64 = 1.0;
const INLET_BYTES: f64 = 256e6;
const INLET_SECONDS: f64 = 10.0;
const LABEL_SECONDS: f64 = 10.0;
const PAUSE: Duration = Duration::from_millis(15);
const WAIT_SECONDS: f64 = 0.25;
