//! What a receiver of one stream has seen of it.

use schwann::inlet::StreamEvent;
use schwann::{Error, Inlet, local_clock};

use super::chunk::Chunk;
use super::meter::{Meter, Reading};
use super::verdict::{Reach, Verdict, judge};

/// What was seen of a stream whose samples are pulled: what arrived, and whether its sender can be reached.
#[derive(Clone, Debug)]
pub struct Observed {
    pub(crate) reach: Reach,
    /// Since when, in seconds on the local clock.
    pub(crate) since: f64,
    pub(crate) meter: Meter,
    /// Times that the connection broke.
    pub(crate) breaks: u64,
    /// Whether there ever was a connection.
    pub(crate) has_answered: bool,
}

impl Observed {
    /// Has seen nothing of a stream of this rate, in Hz; 0 if it has none.
    pub fn new(nominal_rate: f64) -> Self {
        Self {
            reach: Reach::Connecting,
            since: local_clock(),
            meter: Meter::new(nominal_rate),
            breaks: 0,
            has_answered: false,
        }
    }

    /// Takes in what a pull from `inlet` came to, and what has happened to its connection.
    pub fn pulled(&mut self, inlet: &Inlet, chunk: &Chunk, outcome: &Result<(), Error>) {
        let lag = inlet.lag();
        self.follow_events(inlet);
        match outcome {
            Ok(()) => self.meter.arrived(chunk.stamps(), lag, local_clock()),
            Err(Error::Lost) => self.change(Reach::Gone),
            Err(_) => {}
        }
    }

    /// Takes in what has happened to the inlet's connection.
    pub fn follow_events(&mut self, inlet: &Inlet) {
        while let Some(event) = inlet.next_event(0.0) {
            self.follow(event);
        }
    }

    fn follow(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Connected => {
                self.change(Reach::Connected);
                self.has_answered = true;
                self.meter.interrupted();
            }
            StreamEvent::Recovering => {
                self.change(Reach::Away);
                self.breaks += 1;
            }
            _ => {}
        }
    }

    fn change(&mut self, reach: Reach) {
        (self.reach, self.since) = (reach, local_clock());
    }

    /// What was measured until now.
    pub fn reading(&self) -> Reading {
        self.meter.reading(local_clock())
    }

    /// How the stream is now, as far as one receiver can tell: twins are seen by searches.
    pub fn verdict(&self) -> Verdict {
        let now = local_clock();
        judge(&self.meter.reading(now).evidence(self.reach, self.since), now)
    }
}
