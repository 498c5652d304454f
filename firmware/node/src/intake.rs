//! What a peer sent and the node has not read yet: opened bytes first, then the still sealed ones.

use schwann_session::{LayerError, Opened, Room, Secure};

/// Received bytes, in memory of its own.
pub(crate) struct Intake<const N: usize> {
    bytes: [u8; N],
    /// Opened bytes at the front.
    plain: usize,
    /// Bytes in all; those behind `plain` are sealed.
    len: usize,
}

/// How far the peer's bytes go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Flow {
    /// More may follow.
    Goes,
    /// The peer ended the stream, and proved it.
    Ended,
}

/// What came does not verify, or needs more room than there is; the connection must end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum IntakeError {
    /// Not what the peer of a session would send.
    Layer(LayerError),
    /// A unit that does not fit.
    TooLong,
}

impl<const N: usize> Intake<N> {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; N], plain: 0, len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        (self.plain, self.len) = (0, 0);
    }

    /// Takes as much of `input` as there is room for; returns how much.
    pub(crate) fn take(&mut self, input: &[u8]) -> usize {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        let count = room.len().min(input.len());
        room.iter_mut().zip(input).for_each(|(to, from)| *to = *from);
        self.len += count;
        count
    }

    /// The memory, for bytes that arrive before there is a session.
    pub(crate) fn room(&mut self) -> Room<'_> {
        self.plain = 0;
        Room::new(&mut self.bytes, &mut self.len)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == N
    }

    /// Opens what is whole. Without a layer everything is.
    pub(crate) fn open(&mut self, layer: Option<&mut Secure>) -> Result<Flow, IntakeError> {
        let Some(layer) = layer else {
            self.plain = self.len;
            return Ok(Flow::Goes);
        };
        loop {
            let wire = self.bytes.get_mut(self.plain..self.len).unwrap_or_default();
            let start = self.plain;
            match layer.open(wire).map_err(IntakeError::Layer)? {
                Opened::Data { consumed, plain } => {
                    self.bytes.copy_within(start + plain.start..start + plain.end, start);
                    self.plain += plain.len();
                    self.close_gap(start + consumed);
                }
                // The session's own messages: a node keeps no lists that peers hand on.
                Opened::Control { consumed, .. } => self.close_gap(start + consumed),
                Opened::End { .. } => return Ok(Flow::Ended),
                Opened::Incomplete if self.is_full() && self.plain == 0 => return Err(IntakeError::TooLong),
                Opened::Incomplete => return Ok(Flow::Goes),
            }
        }
    }

    /// Moves what begins at `from` up to the opened bytes.
    fn close_gap(&mut self, from: usize) {
        self.bytes.copy_within(from.min(self.len)..self.len, self.plain);
        self.len = self.plain + self.len.saturating_sub(from);
    }

    /// The opened bytes.
    pub(crate) fn plain(&self) -> &[u8] {
        self.bytes.get(..self.plain).unwrap_or_default()
    }

    /// Forgets the first `count` opened bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.plain);
        self.bytes.copy_within(count..self.len, 0);
        self.plain -= count;
        self.len -= count;
    }
}
