//! The receiving end of a data connection; the thread that needs the samples uses it.

use alloc::sync::Arc;
use core::time::Duration;
use std::io::ErrorKind;
use std::time::Instant;

use schwann_proto::wire::archive::Archive;
use schwann_session::{LayerError, Truncated};

use super::queue::Block;
use crate::log;
use crate::net::link::Link;
use crate::security::link::{Flow, Opener};
use crate::sys::sockets::WaitingReceive;

/// How a receive ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Received {
    /// Bytes were added to the block.
    Bytes(usize),
    /// Nothing arrived in time.
    Nothing,
    /// The connection is over.
    Broken,
}

/// How long a receive may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// Until this moment.
    Until(Instant),
    /// As long as it takes.
    Forever,
}

impl Wait {
    /// The wait of an operation that was given `timeout` seconds.
    ///
    /// - Source: lsl-wire §1: [`FOREVER`](schwann_proto::stream::FOREVER) and above wait without limit.
    pub(crate) fn seconds(timeout: f64) -> Self {
        if timeout >= schwann_proto::stream::FOREVER {
            return Self::Forever;
        }
        match Duration::try_from_secs_f64(timeout) {
            Ok(timeout) if !timeout.is_zero() => Self::Until(Instant::now() + timeout),
            // Zero, negative or not a number.
            _ => Self::No,
        }
    }

    /// Time left, without a limit for [`Self::Forever`].
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::No => Some(Duration::ZERO),
            Self::Until(deadline) => Some(deadline.saturating_duration_since(Instant::now())),
            Self::Forever => None,
        }
    }

    /// The wait that also ends at `moment`.
    pub(crate) fn no_later_than(self, moment: Instant) -> Self {
        match self {
            Self::No => Self::No,
            Self::Until(deadline) => Self::Until(deadline.min(moment)),
            Self::Forever => Self::Until(moment),
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }
}

/// Owner of the right to receive.
pub(crate) struct Receiver {
    link: Arc<Link>,
    staging: Staging,
    /// Which connection of the inlet this is.
    pub(crate) epoch: u64,
    reader: WaitingReceive,
}

/// What arrived and is not in a block yet.
struct Staging {
    opener: Opener,
    pending: Pending,
    /// The sender has said that nothing follows.
    has_ended: bool,
    /// What came last was whole and in one piece: the next is received where its samples are kept.
    is_alone: bool,
    /// The connection is over, and the sender has not said that nothing follows.
    truncated: Option<Truncated>,
}

impl Receiver {
    pub(crate) fn new(link: Arc<Link>, epoch: u64, opener: Opener, archive: Option<Archive>) -> Self {
        let pending = Pending { archive, opened: Vec::new(), plain: Vec::new() };
        let staging = Staging { opener, pending, has_ended: false, is_alone: true, truncated: None };
        Self { link, staging, epoch, reader: WaitingReceive::default() }
    }

    /// Takes bytes that were opened before this receiver was made.
    pub(crate) fn accept(&mut self, early: &[u8], block: &mut Block) -> Received {
        let pending = &mut self.staging.pending;
        let filled = pending.take(early, block);
        pending.fill(block, filled)
    }

    /// Receives once into `block`, waiting for the first byte as long as `wait` says.
    pub(crate) fn receive(&mut self, block: &mut Block, wait: Wait) -> Received {
        let Self { link, staging, reader, .. } = self;
        staging.receive(link, reader, block, wait)
    }

    /// Tells what is missing of a connection that is over, unless this end has ended it.
    pub(crate) fn tell_truncation(&self) {
        if let Some(truncated) = &self.staging.truncated {
            log::warning!("a sealed stream was broken off: {truncated}");
        }
    }
}

/// Receives once into `room`, waiting for the first byte as long as `wait` says.
fn receive(link: &Link, reader: &mut WaitingReceive, room: &mut [u8], wait: Wait) -> Received {
    loop {
        match reader.receive(link.socket(), room, wait.left()) {
            Ok(0) => return Received::Broken,
            Ok(count) => return Received::Bytes(count),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock if wait.is_over() => return Received::Nothing,
                ErrorKind::WouldBlock => {}
                _ => return Received::Broken,
            },
        }
    }
}

impl Staging {
    /// As [`Receiver::receive`].
    fn receive(
        &mut self,
        link: &Link,
        reader: &mut WaitingReceive,
        block: &mut Block,
        wait: Wait,
    ) -> Received {
        if !self.pending.plain.is_empty() {
            return self.pending.fill(block, 0);
        } else if self.has_ended {
            return Received::Broken;
        }
        if let Wait::Until(_) | Wait::Forever = wait {
            link.layer().idle();
        }
        let (received, is_placed) = match self.place(link, block) {
            Some(room) => (receive(link, reader, room, wait), true),
            None => (receive(link, reader, self.opener.room(), wait), false),
        };
        match received {
            Received::Bytes(count) if is_placed => self.accept_placed(link, count, block),
            Received::Bytes(count) => self.accept(link, count, block),
            Received::Broken => {
                self.truncated = link.layer().truncation();
                Received::Broken
            }
            Received::Nothing => Received::Nothing,
        }
    }

    /// Where in `block` the next bytes may be received, to be opened there. This needs one likely piece with
    /// nothing before it.
    #[inline]
    fn place<'a>(&self, link: &Link, block: &'a mut Block) -> Option<&'a mut [u8]> {
        let is_free = self.is_alone && self.opener.is_empty() && self.pending.is_idle();
        Some(block.room()).filter(|room| is_free && link.layer().opens_in(room.len()))
    }

    /// Opens `count` bytes where they were received, in `block`.
    #[inline]
    fn accept_placed(&mut self, link: &Link, count: usize, block: &mut Block) -> Received {
        let Some(wire) = block.room().get_mut(..count) else { return Received::Broken };
        let (mut first, mut behind, mut pieces) = (0..0, Vec::new(), 0);
        let opened = link.layer().open(wire, &mut |opened, place| {
            match pieces {
                0 => first = place,
                _ => behind.extend_from_slice(opened.get(place).unwrap_or_default()),
            }
            pieces += 1;
        });
        if let Ok((done, _)) = opened {
            self.is_alone = pieces == 1 && done == count;
            if done < count {
                self.opener.keep(wire.get(done..).unwrap_or_default());
            }
        }
        let filled = block.add_placed(first);
        match opened {
            Ok((_, flow)) => self.has_ended = flow == Flow::Ended,
            Err(reason) => return broken_off(reason),
        }
        if behind.is_empty() { Received::Bytes(filled) } else { self.accept_behind(&behind, filled, block) }
    }

    /// Takes what was opened behind the first piece; `filled` of its bytes are in `block`.
    #[cold]
    fn accept_behind(&mut self, behind: &[u8], filled: usize, block: &mut Block) -> Received {
        let filled = filled + self.pending.take(behind, block);
        if self.pending.is_idle() { Received::Bytes(filled) } else { self.pending.fill(block, filled) }
    }

    /// Opens `count` bytes that were received and fills `block` with what they are.
    fn accept(&mut self, link: &Link, count: usize, block: &mut Block) -> Received {
        let Self { opener, pending, has_ended, is_alone, .. } = self;
        let (mut filled, mut records) = (0, 0);
        let opened = opener.opened(link.layer(), count, |bytes| {
            filled += pending.take(bytes, block);
            records += 1;
        });
        match opened {
            Ok(flow) => *has_ended = flow == Flow::Ended,
            Err(reason) => return broken_off(reason),
        }
        *is_alone = records == 1 && opener.is_empty();
        if pending.is_idle() { Received::Bytes(filled) } else { pending.fill(block, filled) }
    }
}

/// Says that what came did not verify; the connection must end.
#[cold]
fn broken_off(reason: LayerError) -> Received {
    log::error!("a sealed stream was broken off: {reason:?}");
    Received::Broken
}

/// Opened bytes on their way to the queue.
struct Pending {
    archive: Option<Archive>,
    /// What of an archive is not translated yet.
    opened: Vec<u8>,
    /// What did not fit into the block.
    plain: Vec<u8>,
}

impl Pending {
    /// Whether all that was taken has gone into a block.
    fn is_idle(&self) -> bool {
        self.archive.is_none() && self.plain.is_empty()
    }

    /// Takes opened bytes: an archive's to be translated, all others into `block`; returns how many went there.
    fn take(&mut self, bytes: &[u8], block: &mut Block) -> usize {
        if self.archive.is_some() {
            self.opened.extend_from_slice(bytes);
            return 0;
        }
        let filled = if self.plain.is_empty() { block.fill(bytes) } else { 0 };
        self.plain.extend_from_slice(bytes.get(filled..).unwrap_or_default());
        filled
    }

    /// Translates the whole samples and fills `block` with the bytes at hand, after the `filled` bytes that were
    /// received already.
    fn fill(&mut self, block: &mut Block, filled: usize) -> Received {
        if let Some(archive) = self.archive {
            let mut done = 0;
            loop {
                match archive.decode(self.opened.get(done..).unwrap_or_default(), &mut self.plain) {
                    Ok(Some(len)) => done += len,
                    Ok(None) => break,
                    Err(_) => return Received::Broken,
                }
            }
            self.opened.drain(..done);
        }
        let count = block.fill(&self.plain);
        self.plain.drain(..count);
        Received::Bytes(filled + count)
    }
}

#[cfg(test)]
mod tests;
