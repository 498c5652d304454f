//! What comes from the peer: its greeting, data, changes of key, and the end.
//!
//! ```text
//!   an inlet begins here         an outlet begins here
//!            │                            │
//!            ▼                            ▼
//!     AwaitsGreeting ── welcome ────────► Open ── close ──► Ended
//!                                         ▲  │
//!                                         └──┘ data, control, rekey
//! ```
//!
//! Any error leads to `Failed`, also from `Ended`. A record counts only once its tag has verified. An alert in place of
//! the greeting has none: it ends an attempt and can do nothing else.

use schwann_aead::Ahead;

use super::{Direction, Secure};
use crate::{
    LayerError, Opened, Refusal,
    control::Greeting,
    datagram::{Datagrams, Handout},
    handshake::ALERT,
    record::{OpenedRecord, RecordType},
};

/// Where the peer's direction stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Incoming {
    /// The outlet has not said its first word yet.
    AwaitsGreeting,
    /// Records of every type may come.
    Open,
    /// The peer proved the end.
    Ended,
    /// An error ended the session, and its keys are wiped.
    Failed,
}

impl Secure {
    /// Opens `wire` if it is one record of data, as long as the last, for which [`idle`](Self::idle) has prepared.
    /// Otherwise does nothing.
    ///
    /// Single samples take this way. It has fewer lines of code than the other, and each sample must fetch them.
    #[inline]
    pub(super) fn open_ready(&mut self, wire: &mut [u8]) -> Option<Result<Opened, LayerError>> {
        if self.incoming != Incoming::Open {
            return None;
        }
        let record = self.receiver.open_ready(wire, &mut self.ahead)?;
        self.data = Direction::In;
        Some(record.map(|OpenedRecord { consumed, place, .. }| Opened::Data { consumed, plain: place }))
    }

    /// Opens what one call can; the caller ends the session after an error.
    #[inline(never)]
    pub(super) fn open_next(&mut self, wire: &mut [u8]) -> Result<Opened, LayerError> {
        if self.incoming != Incoming::Open && !self.expects_more(wire)? {
            return Ok(Opened::Incomplete);
        }
        let records_before = self.receiver.opened();
        match self.receiver.open(wire, &mut self.ahead)? {
            None => Ok(Opened::Incomplete),
            Some(OpenedRecord { kind: RecordType::Data, consumed, place })
                if self.incoming == Incoming::Open =>
            {
                self.data = Direction::In;
                Ok(Opened::Data { consumed, plain: place })
            }
            Some(record) => self.open_special(record, records_before, wire),
        }
    }

    /// Whether a record may come, though the session is not open. Yes before the greeting, no behind the end or
    /// after a failure.
    #[cold]
    fn expects_more(&mut self, wire: &[u8]) -> Result<bool, LayerError> {
        match self.incoming {
            Incoming::AwaitsGreeting if wire.first() == Some(&ALERT) => {
                self.refusal = Some(Refusal::RefusedByPeer);
                Err(LayerError::Refused)
            }
            Incoming::Ended if wire.is_empty() => Ok(false),
            Incoming::Ended => Err(LayerError::Malformed),
            Incoming::Failed => Err(LayerError::Closed),
            Incoming::AwaitsGreeting | Incoming::Open => Ok(true),
        }
    }

    /// Acts on a record that is not data; it has been opened.
    #[cold]
    fn open_special(
        &mut self,
        record: OpenedRecord,
        records_before: u64,
        wire: &[u8],
    ) -> Result<Opened, LayerError> {
        let OpenedRecord { kind, consumed, place } = record;
        let message = wire.get(place.clone()).unwrap_or_default();
        match (kind, self.incoming) {
            (RecordType::Control, Incoming::AwaitsGreeting) => self.greet(message)?,
            (_, Incoming::AwaitsGreeting) => return Err(LayerError::Malformed),
            (RecordType::Control, _) => {
                if let Some(Greeting::Refused(refusal)) = Greeting::parse(message) {
                    self.refusal = Some(refusal);
                }
                return Ok(Opened::Control { consumed, message: place });
            }
            (RecordType::Rekey, _) if message.is_empty() => {
                self.receiver.rekey()?;
                self.ahead = Ahead::new();
            }
            (RecordType::Close, _) if message == records_before.to_le_bytes() => {
                self.incoming = Incoming::Ended;
                self.receiver.wipe();
                self.ahead = Ahead::new();
                return Ok(Opened::End { consumed });
            }
            _ => return Err(LayerError::Malformed),
        }
        Ok(Opened::Data { consumed, plain: consumed..consumed })
    }

    fn greet(&mut self, message: &[u8]) -> Result<(), LayerError> {
        match Greeting::parse(message).ok_or(LayerError::Malformed)? {
            Greeting::Welcome(welcome) => self.datagrams = Handout::of(Datagrams::inlet(&welcome)),
            Greeting::Refused(refusal) => {
                self.refusal = Some(refusal);
                return Err(LayerError::Refused);
            }
        }
        self.incoming = Incoming::Open;
        Ok(())
    }
}
