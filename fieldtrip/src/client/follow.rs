use core::time::Duration;
use std::thread;
use std::time::Instant;

use super::{Client, ClientError};
use crate::block::Block;
use crate::wire::{Event, Header, Totals};

/// Follows an acquisition: each sample and each event once, through restarts of the acquisition and of the server.
///
/// The protocol names no acquisition. A new one shows by lower counts, or by samples of another shape. One of the same
/// shape that has overtaken these counts by the next look passes for the one before, and its beginning is not read.
#[derive(Debug)]
pub struct Follower {
    client: Client,
    start: Start,
    header: Option<Header>,
    next: Totals,
    longest_block: u32,
}

/// Where to begin when an acquisition is already under way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Start {
    /// With its first sample and event, as far as they are still in the ring.
    Oldest,
    /// With what comes from now on, so that older data swamps no reader.
    Newest,
}

/// What is new.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// An acquisition began, or was found under way. Sample and event numbers are its own.
    Header(Header),
    /// Samples arrived, in order and without a gap since the last update that says otherwise.
    Samples(Block),
    /// Events arrived; the first has this number.
    Events {
        /// Number of the first.
        first: u32,
        /// The events, in order of arrival.
        events: Vec<Event>,
    },
    /// The ring has overwritten what this client was too slow to read; it goes on with the oldest that is there.
    Lost {
        /// Samples that were missed.
        samples: u32,
        /// Events that were missed.
        events: u32,
    },
}

impl Follower {
    /// Follows the buffer that `client` talks to.
    pub fn new(client: Client, start: Start) -> Self {
        Self { client, start, header: None, next: Totals::default(), longest_block: u32::MAX }
    }

    /// Makes blocks of at most so many samples.
    #[must_use]
    pub fn with_longest_block(mut self, samples: u32) -> Self {
        self.longest_block = samples.max(1);
        self
    }

    /// Waits for what is new; `None` if there was nothing in time.
    ///
    /// - Errors: those of the client. Calling again goes on where it stopped, over a new connection if need be.
    pub fn next_update(&mut self, timeout: Duration) -> Result<Option<Update>, ClientError> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let update = match &self.header {
                None => self.find_header()?,
                Some(_) => self.find_news(left)?,
            };
            if update.is_some() || left.is_zero() {
                return Ok(update);
            }
            if self.header.is_none() {
                thread::sleep(left.min(BETWEEN_LOOKS));
            }
        }
    }

    fn find_header(&mut self) -> Result<Option<Update>, ClientError> {
        let (header, totals) = match self.client.header() {
            Ok(found) => found,
            Err(ClientError::Refused(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.next = match self.start {
            Start::Oldest => Totals::default(),
            Start::Newest => totals,
        };
        // An acquisition that begins later is followed from its beginning.
        self.start = Start::Oldest;
        self.header = Some(header.clone());
        Ok(Some(Update::Header(header)))
    }

    fn find_news(&mut self, left: Duration) -> Result<Option<Update>, ClientError> {
        let totals = match self.client.wait(self.next, left) {
            Ok(totals) => totals,
            // Without a header there is nothing to wait for.
            Err(ClientError::Refused(_)) => {
                self.header = None;
                return Ok(None);
            }
            Err(error) => {
                self.check_header_later(error);
                return Err(error);
            }
        };
        if totals.samples < self.next.samples || totals.events < self.next.events {
            self.header = None;
            return Ok(None);
        }
        // Events first: they belong to samples that are here or yet to come.
        if totals.events > self.next.events {
            return self.read_events(totals);
        }
        if totals.samples > self.next.samples {
            return self.read_samples(totals);
        }
        Ok(None)
    }

    /// After a broken connection the server may be another one, whose totals say nothing.
    fn check_header_later(&mut self, error: ClientError) {
        if !matches!(error, ClientError::Disconnected(_) | ClientError::Unreachable(_)) {
            return;
        }
        if let Ok((header, totals)) = self.client.header() {
            let is_same = Some(&header) == self.header.as_ref();
            if !is_same || totals.samples < self.next.samples || totals.events < self.next.events {
                self.header = None;
            }
        }
    }

    fn read_samples(&mut self, totals: Totals) -> Result<Option<Update>, ClientError> {
        let first = self.next.samples;
        let count = (totals.samples - first).min(self.longest_block);
        match self.client.samples(first, first + (count - 1)) {
            Ok(block) if !self.has_shape_of(&block) => self.find_other_header(),
            Ok(block) => {
                self.next.samples = first + count;
                Ok(Some(Update::Samples(block)))
            }
            Err(ClientError::Refused(_)) => {
                let is_kept = |client: &mut Client, number| client.samples(number, number).map(drop);
                let Some(next) = self.find_kept(totals, |totals| totals.samples, is_kept)? else {
                    return Ok(None);
                };
                self.next.samples = next;
                Ok(Some(Update::Lost { samples: next - first, events: 0 }))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the header announces such samples.
    fn has_shape_of(&self, block: &Block) -> bool {
        let Block { definition, .. } = block;
        self.header.as_ref().is_some_and(|header| {
            (header.channel_count, header.data_type.code())
                == (definition.channel_count, definition.data_type)
        })
    }

    /// Samples of another shape are those of another acquisition, which is followed from its beginning.
    fn find_other_header(&mut self) -> Result<Option<Update>, ClientError> {
        match self.client.header() {
            // Else a server that contradicts itself would begin an acquisition at each look.
            Ok((header, _)) if Some(&header) == self.header.as_ref() => return Err(ClientError::Confused),
            Ok(_) | Err(ClientError::Refused(_)) => self.header = None,
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    fn read_events(&mut self, totals: Totals) -> Result<Option<Update>, ClientError> {
        let first = self.next.events;
        match self.client.events(first, totals.events - 1) {
            Ok(events) => {
                self.next.events = totals.events;
                Ok(Some(Update::Events { first, events }))
            }
            Err(ClientError::Refused(_)) => {
                let is_kept = |client: &mut Client, number| client.events(number, number).map(drop);
                let Some(next) = self.find_kept(totals, |totals| totals.events, is_kept)? else {
                    return Ok(None);
                };
                self.next.events = next;
                Ok(Some(Update::Lost { samples: 0, events: next - first }))
            }
            Err(error) => Err(error),
        }
    }

    /// Finds where to go on after a refusal: the oldest number that is still in the ring. `None` if the acquisition ended.
    ///
    /// No request asks for that number, and a request for the whole ring brings up to gigabytes: this halves the range.
    fn find_kept(
        &mut self,
        totals: Totals,
        count: fn(Totals) -> u32,
        ask: impl Fn(&mut Client, u32) -> Result<(), ClientError>,
    ) -> Result<Option<u32>, ClientError> {
        let (mut gone, mut kept) = (count(self.next), count(totals));
        while kept - gone > 1 {
            let middle = gone + (kept - gone) / 2;
            match ask(&mut self.client, middle) {
                Ok(()) => kept = middle,
                Err(ClientError::Refused(_)) => gone = middle,
                Err(error) => return Err(error),
            }
        }
        let now = match self.client.wait(totals, Duration::ZERO) {
            Ok(now) => now,
            Err(ClientError::Refused(_)) => Totals::default(),
            Err(error) => return Err(error),
        };
        let Some(moved) = count(now).checked_sub(count(totals)) else {
            self.header = None;
            return Ok(None);
        };
        // So many went out of a full ring meanwhile. Without as much room again, the next request would come too late, too.
        Ok(Some(kept.saturating_add(moved.saturating_mul(2)).min(count(now))))
    }
}

/// Between two looks for a header.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
