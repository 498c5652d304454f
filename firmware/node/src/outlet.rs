//! A stream on a microcontroller, for up to three subscribers.

use core::{array, fmt};

use schwann_session::{BareResponder, Calendar, Suite, UnixSeconds, discovery::QueryId};

use self::datagrams::{REMEMBERED, Undated};
use crate::{
    description::{Description, InvalidDescription},
    link::{self, Event, Host, Link, LinkState, Moved, Pace},
    ring::Consumer,
    security::{Member, Security, Surroundings},
    time::{Micros, Wait},
};

mod datagrams;

/// An outlet without sockets.
///
/// - Shape: `LINKS` connections at a time, one for each socket of the driver, which names them by number. Each
///   has `RX` bytes for input and `TX` for output. 1,024 and 2,048 serve everything but samples of more than
///   1,900 bytes. With the feature `hybrid`, links of less than 1,458 bytes each way refuse that suite.
pub struct Outlet<'a, const LINKS: usize, const RX: usize, const TX: usize> {
    description: Description<'a>,
    samples: Consumer<'a>,
    security: Security<'a>,
    pace: Pace,
    links: [Link<RX, TX>; LINKS],
    counters: Counters,
    /// The sealed queries answered last, newest first.
    answered: [Option<QueryId>; REMEMBERED],
    undated: Undated,
    /// The newest date that the authority put into the certificate of a member we have met.
    newest_certified: UnixSeconds,
}

/// What has happened since the outlet was made. All counters wrap.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Calls of `poll`: a watchdog sees by it that the network's core is alive.
    pub polls: u32,
    /// Samples pushed.
    pub pushed: u32,
    /// Pushes refused because the ring was full ([`Keep::Oldest`](crate::Keep::Oldest)).
    pub refused: u32,
    /// Samples sent, over all subscribers.
    pub sent: u32,
    /// Samples that a subscriber missed because it was too slow, over all subscribers.
    pub lost: u32,
    /// Writes to sockets that carried samples: records, where links are sealed.
    pub records: u32,
    /// Sealed sessions made.
    pub sessions: u32,
    /// Connections given up: strangers, requests that make no sense, and peers that proved nothing.
    pub strangers: u32,
    /// Datagrams that were no valid request.
    pub odd_datagrams: u32,
}

/// Which socket a datagram came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    /// The multicast port, 16571.
    Discovery,
    /// The port that the description calls the service port.
    Time,
}

/// What to send in answer to a datagram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reply {
    /// Length of the reply, in bytes.
    pub len: usize,
    /// Port at the sender's address, if not the one that it sent from.
    pub port: Option<u16>,
}

/// Why there can be no such outlet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InvalidOutlet {
    /// The description is wrong.
    Description(InvalidDescription),
    /// `RX` or `TX` has no room for the messages of a handshake: 370 bytes in the classic suite.
    Links,
    /// The ring holds other samples than the description promises, or `TX` has no room for one of them.
    Ring,
}

impl fmt::Display for InvalidOutlet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Description(why) => why.fmt(out),
            Self::Links => out.write_str("a link has no room for a handshake"),
            Self::Ring => out.write_str("the ring's samples are not the stream's, or too long for a link"),
        }
    }
}

impl core::error::Error for InvalidOutlet {}

impl<'a, const LINKS: usize, const RX: usize, const TX: usize> Outlet<'a, LINKS, RX, TX> {
    /// Serves what `samples` brings as `description` says.
    ///
    /// - Errors: [`InvalidOutlet`]: correct the arguments.
    // Not part of its caller: otherwise that frame would hold the parts of a second outlet as long as the first.
    #[inline(never)]
    pub fn new(
        description: Description<'a>,
        samples: Consumer<'a>,
        security: Security<'a>,
        pace: Pace,
    ) -> Result<Self, InvalidOutlet> {
        description.check().map_err(InvalidOutlet::Description)?;
        if !link::fits(&description, &samples, TX) {
            return Err(InvalidOutlet::Ring);
        }
        if security.member().is_some() && RX.min(TX) < BareResponder::longest_message(Suite::Classic) {
            return Err(InvalidOutlet::Links);
        }
        Ok(Self {
            description,
            samples,
            security,
            pace,
            // Made one by one: a constant to copy from would lie in flash beside the code.
            links: array::from_fn(|_| Link::new()),
            counters: Counters::default(),
            answered: [None; REMEMBERED],
            undated: Undated::default(),
            newest_certified: UnixSeconds(0),
        })
    }

    /// Socket `link` has accepted a connection.
    pub fn accept(&mut self, link: usize, now: Micros) {
        if let Some(link) = self.links.get_mut(link) {
            link.accept(now);
        }
    }

    /// Takes what socket `link` received and returns how many bytes. Give the rest again later.
    pub fn receive(&mut self, link: usize, bytes: &[u8], surroundings: &mut Surroundings<'_>) -> usize {
        let may_feed = self.subscribers() < MAX_SUBSCRIBERS;
        let host = Host {
            description: &self.description,
            samples: &self.samples,
            security: &self.security,
            pace: self.pace,
            may_feed,
        };
        let Some(link) = self.links.get_mut(link) else { return bytes.len() };
        let mut surroundings = Surroundings {
            calendar: surroundings.calendar.after(self.newest_certified),
            entropy: &mut *surroundings.entropy,
            now: surroundings.now,
        };
        let (count, event) = link.receive(bytes, &host, &mut surroundings);
        match event {
            Event::Established { certified } => {
                self.counters.sessions = self.counters.sessions.wrapping_add(1);
                self.newest_certified = self.newest_certified.max(certified);
            }
            Event::Refused => self.counters.strangers = self.counters.strangers.wrapping_add(1),
            Event::None => {}
        }
        count
    }

    /// What socket `link` has to send; tell with [`sent`](Self::sent) how much it took.
    #[must_use]
    pub fn transmit(&self, link: usize) -> &[u8] {
        self.links.get(link).map(Link::transmit).unwrap_or_default()
    }

    /// Socket `link` has taken the first `count` bytes.
    pub fn sent(&mut self, link: usize, count: usize, now: Micros) {
        if let Some(link) = self.links.get_mut(link) {
            link.note_sent(count, now);
        }
    }

    /// The peer of socket `link`, or the driver, has ended the connection.
    pub fn ended(&mut self, link: usize) {
        if let Some(link) = self.links.get_mut(link) {
            link.end();
        }
    }

    /// What to do with socket `link`.
    #[must_use]
    pub fn state(&self, link: usize) -> LinkState {
        self.links.get(link).map_or(LinkState::Vacant, Link::state)
    }

    /// Ends all streams, with their authenticated end; send what is left and close the sockets.
    pub fn close(&mut self) {
        self.links.iter_mut().for_each(Link::close);
    }

    /// Does what time, samples and room permit; says until when there is nothing to do.
    ///
    /// Call it when that time has come, after a push, and after every other call of this outlet.
    pub fn poll(&mut self, now: Micros) -> Wait {
        self.counters.polls = self.counters.polls.wrapping_add(1);
        let may_feed = self.subscribers() < MAX_SUBSCRIBERS;
        let host = Host {
            description: &self.description,
            samples: &self.samples,
            security: &self.security,
            pace: self.pace,
            may_feed,
        };
        let mut moved = Moved::default();
        let mut wait = Wait::ForEvent;
        for link in &mut self.links {
            wait = wait.sooner(link.poll(&host, now, &mut moved));
        }
        self.counters.sent = self.counters.sent.wrapping_add(moved.sent);
        self.counters.lost = self.counters.lost.wrapping_add(moved.lost);
        self.counters.records = self.counters.records.wrapping_add(moved.records);
        wait = wait.sooner(self.make_way(now));
        let written = self.samples.written();
        let behind = self.links.iter().filter_map(Link::feed).map(|feed| feed.behind(&self.samples)).max();
        self.samples.release(written.wrapping_sub(behind.unwrap_or(0)));
        wait
    }

    /// While every link is taken, the one that has said nothing of use for longest gives way. Otherwise a newcomer
    /// could not even knock, and four connections of a stranger would shut the device. Returns when the next one
    /// does.
    fn make_way(&mut self, now: Micros) -> Wait {
        if self.links.iter().any(|link| matches!(link.state(), LinkState::Vacant | LinkState::Broken)) {
            return Wait::ForEvent;
        }
        let silent = self.links.iter_mut().filter_map(|link| Some((link.gives_way()?, link)));
        match silent.min_by_key(|(when, _)| *when) {
            Some((when, link)) if when <= now => {
                link.give_way();
                self.counters.strangers = self.counters.strangers.wrapping_add(1);
                // The driver resets the socket.
                Wait::Until(now)
            }
            Some((when, _)) => Wait::Until(when),
            None => Wait::ForEvent,
        }
    }

    /// What has happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters { pushed: self.samples.written(), refused: self.samples.refused(), ..self.counters }
    }

    /// How many links receive samples, or are about to.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.links.iter().filter(|link| link.is_subscriber()).count()
    }

    /// How many links are sealed.
    #[must_use]
    pub fn sealed_links(&self) -> usize {
        self.links.iter().filter(|link| link.is_sealed()).count()
    }

    /// What the outlet says about its stream.
    #[must_use]
    pub fn description(&self) -> &Description<'a> {
        &self.description
    }

    /// The date, as far as this device can prove it.
    fn calendar(&self, member: &Member<'_>, surroundings: &Surroundings<'_>) -> Calendar {
        surroundings.calendar(member).after(self.newest_certified)
    }
}

/// Most links that receive samples at a time; others may still ask for descriptions.
pub const MAX_SUBSCRIBERS: usize = 3;
