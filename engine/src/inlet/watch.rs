//! Waiting for many streams in one loop, without a thread for each.

use std::sync::Arc;

use super::Inlet;
use super::shared::Phase;
use crate::Error;
use crate::net::bell::Bell;
use crate::net::link::Link;
use crate::sys::sockets;

/// What to wait for until an inlet has samples.
#[derive(Debug)]
#[non_exhaustive]
pub enum Watch {
    /// The bell: there is no connection now, or no clock offset yet.
    Bell,
    /// The descriptor, or the bell.
    Readable(Readable),
    /// Nothing: a pull returns at once, with samples or with the reason why none will come.
    Ready,
}

/// A descriptor that can be read when bytes of a stream have arrived.
///
/// It is there as long as this value is; give it up when the wait is over. Wait for nothing but readiness, and read nothing.
pub struct Readable(Arc<Link>);

impl Readable {
    /// A file descriptor, or on Windows a socket's handle.
    pub fn descriptor(&self) -> i64 {
        sockets::descriptor(self.0.socket())
    }
}

impl core::fmt::Debug for Readable {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_tuple("Readable").field(&self.descriptor()).finish()
    }
}

impl Inlet {
    /// Says what a loop must wait for before it pulls with a timeout of 0. Asks for the stream, and does not wait
    /// itself.
    ///
    /// `bell` rings when the answer may have changed in another way than by bytes. The stream was connected, ended
    /// or lost, or the inlet took in the bytes itself because the loop was late. After a wake-up, pull and ask
    /// again: some bytes are no sample yet.
    ///
    /// - Errors: [`Error::Forked`].
    pub fn watch(&self, bell: &Arc<Bell>) -> Result<Watch, Error> {
        self.maker.check()?;
        let stream = &self.stream;
        stream.shared.bells.add(bell);
        let mut state = stream.shared.lock();
        state.is_watched = false;
        let (mut state, _) = stream.shared.drain(state);
        if matches!(state.phase, Phase::Lost) || state.ending {
            return Ok(Watch::Ready);
        }
        if state.unread().is_some() {
            drop(state);
            return Ok(if self.knows_ages(bell) { Watch::Ready } else { Watch::Bell });
        }
        stream.shared.ask_to_open(&mut state);
        state.is_watched = true;
        match &state.link {
            Some(link) if state.phase == Phase::Open && !state.broken => {
                Ok(Watch::Readable(Readable(Arc::clone(link))))
            }
            _ => Ok(Watch::Bell),
        }
    }

    /// Whether the clock offset permits a pull. If it is missing, asks for it, and `bell` rings on its arrival.
    fn knows_ages(&self, bell: &Arc<Bell>) -> bool {
        if !self.stream.stamps.wants_offset() {
            return true;
        }
        self.stream.ring_with_offset(bell);
        // What is wrong, a pull says.
        !matches!(self.stream.clock_offset(super::receiver::Wait::No), Err(Error::Timeout))
    }
}
