use core::time::Duration;
use std::sync::Arc;

use schwann_fieldtrip::wire::{Event, Header};
use schwann_fieldtrip::{Address, Buffer, Client, ClientError, Options, Policy, Sample, Server};
use schwann_recorder::Stop;

use super::Placed;
use crate::cmd::ft::door::Door;
use crate::exit::Problem;

/// The buffer that is written to.
pub(super) enum Sink {
    /// In this process.
    Own(Server),
    /// At a server elsewhere.
    Other(Box<Remote>),
}

/// A server elsewhere, which may break off, and may have been started anew when it is back.
pub(super) struct Remote {
    client: Client,
    header: Option<Header>,
    /// Samples that the server has.
    written: u64,
    /// Samples of the acquisition that were written to servers before this one.
    before: u64,
}

impl Sink {
    /// Serves a buffer.
    ///
    /// With a `door`, only this user's own programs come in.
    pub(super) fn serve(address: &Address, door: Option<Arc<Door>>) -> Result<Self, Problem> {
        let door = door.map(|door| -> Arc<dyn schwann_fieldtrip::door::Door> { door });
        let server = Server::start(address, Buffer::default(), Policy { door, ..Policy::default() });
        Ok(Self::Own(server.map_err(|error| Problem::with(address, error))?))
    }

    /// Connects to a server.
    pub(super) fn connect(address: &Address) -> Result<Self, Problem> {
        let client = Client::connect(address.clone(), Options::default());
        let client = client.map_err(|error| Problem::with(address, error))?;
        Ok(Self::Other(Box::new(Remote { client, header: None, written: 0, before: 0 })))
    }

    /// Where it is.
    pub(super) fn address(&self) -> &Address {
        match self {
            Self::Own(server) => server.address(),
            Self::Other(remote) => remote.client.address(),
        }
    }

    /// Begins an acquisition.
    pub(super) fn put_header(&mut self, header: &Header, stop: &Stop) -> Result<(), Problem> {
        match self {
            Self::Own(server) => {
                let put = server.buffer().put_header(header.clone());
                put.map_err(|error| Problem::with(server.address(), error))
            }
            Self::Other(remote) => {
                remote.header = Some(header.clone());
                (remote.written, remote.before) = (0, 0);
                remote.begin(stop)
            }
        }
    }

    /// Appends samples, each once.
    ///
    /// - Shape: samples × channels, one row per sample.
    pub(super) fn put_samples<T: Sample>(
        &mut self,
        channel_count: u32,
        values: &[T],
        stop: &Stop,
    ) -> Result<(), Problem> {
        match self {
            Self::Own(server) => {
                let put = server.buffer().put_samples(channel_count, values);
                put.map_err(|error| Problem::with(server.address(), error))
            }
            Self::Other(remote) => remote.put_samples(channel_count, values, stop),
        }
    }

    /// Appends events; their samples are numbered from the beginning of the acquisition.
    pub(super) fn put_events(&mut self, placed: Vec<Placed>, stop: &Stop) -> Result<(), Problem> {
        if placed.is_empty() {
            return Ok(());
        }
        let before = match self {
            Self::Own(_) => 0,
            Self::Other(remote) => remote.before,
        };
        let events: Vec<_> =
            placed.into_iter().map(|(sample, event)| at_sample(event, sample, before)).collect();
        match self {
            Self::Own(server) => {
                let put = server.buffer().put_events(&events);
                put.map_err(|error| Problem::with(server.address(), error))
            }
            Self::Other(remote) => remote.put_events(&events, stop),
        }
    }
}

fn at_sample(event: Event, sample: u64, before: u64) -> Event {
    // Beyond what the protocol can count, it cannot be told where.
    Event { sample: i32::try_from(sample.saturating_sub(before)).unwrap_or(i32::MAX), ..event }
}

impl Remote {
    fn put_samples<T: Sample>(
        &mut self,
        channel_count: u32,
        values: &[T],
        stop: &Stop,
    ) -> Result<(), Problem> {
        let count = values.len() as u64 / u64::from(channel_count.max(1));
        loop {
            match self.client.put_samples(channel_count, values) {
                Ok(()) => break,
                Err(error) if !may_pass(error) => return Err(self.problem(error)),
                // Whether they have arrived is not known: ask.
                Err(error) => match self.total(stop)? {
                    None if stop.is_raised() => return Err(self.problem(error)),
                    Some(total) if total == self.written + count => break,
                    Some(total) if total == self.written => {}
                    _ => self.begin_anew(stop)?,
                },
            }
        }
        self.written += count;
        Ok(())
    }

    fn put_events(&mut self, events: &[Event], stop: &Stop) -> Result<(), Problem> {
        loop {
            match self.client.put_events(events) {
                Ok(()) => return Ok(()),
                Err(error) if !may_pass(error) || stop.wait(RETRY_EVERY) => return Err(self.problem(error)),
                // A server without our header is new; these events are about samples that it does not have.
                Err(ClientError::Refused(_)) => return self.begin_anew(stop),
                Err(_) => {}
            }
        }
    }

    /// How many samples the server has; none if it has no header, or we are to stop.
    fn total(&mut self, stop: &Stop) -> Result<Option<u64>, Problem> {
        loop {
            match self.client.header() {
                Ok((_, totals)) => return Ok(Some(totals.samples.into())),
                Err(ClientError::Refused(_)) => return Ok(None),
                Err(error) if !may_pass(error) => return Err(self.problem(error)),
                Err(_) if stop.wait(RETRY_EVERY) => return Ok(None),
                Err(_) => {}
            }
        }
    }

    /// Begins on a server that knows nothing: its samples are counted from 0.
    fn begin_anew(&mut self, stop: &Stop) -> Result<(), Problem> {
        eprintln!("schwann: {} was started anew; its numbers begin again", self.client.address());
        self.before += self.written;
        self.written = 0;
        self.begin(stop)
    }

    fn begin(&mut self, stop: &Stop) -> Result<(), Problem> {
        let Some(header) = &self.header else { return Ok(()) };
        loop {
            match self.client.put_header(header) {
                Ok(()) => return Ok(()),
                Err(error) if !may_pass(error) || stop.wait(RETRY_EVERY) => return Err(self.problem(error)),
                Err(_) => {}
            }
        }
    }

    fn problem(&self, error: ClientError) -> Problem {
        Problem::with(self.client.address(), error)
    }
}

/// Whether the same may succeed later.
fn may_pass(error: ClientError) -> bool {
    !matches!(error, ClientError::Confused | ClientError::Invalid)
}

const RETRY_EVERY: Duration = Duration::from_millis(200);
