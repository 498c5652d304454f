//! The outlet's side, with memory of its own.

mod bare;

pub use bare::{BareResponder, Desk};

use super::{Context, Established, Progress, room::Memory};
use crate::Refusal;

/// The outlet's side of a handshake.
///
/// It holds some kilobytes and computes nothing before message 1 is whole. The listener bounds how
/// many exist at a time, in total and per address.
pub struct Responder {
    steps: BareResponder,
    inbox: Memory,
    output: Memory,
    sent: usize,
}

impl Default for Responder {
    fn default() -> Self {
        Self::new()
    }
}

impl Responder {
    /// Waits for an inlet's first line.
    #[must_use]
    pub fn new() -> Self {
        Self { steps: BareResponder::new(), inbox: Memory::new(), output: Memory::new(), sent: 0 }
    }

    /// Takes what the socket received.
    ///
    /// - Errors: why there is no session. Send what [`poll_output`](Self::poll_output) holds, and close.
    pub fn handle(&mut self, input: &[u8], context: &mut Context<'_>) -> Result<Progress, Refusal> {
        // Only unsent bytes are ever withdrawn, and then all of them.
        self.output.room().drop_front(core::mem::take(&mut self.sent));
        let mut desk = Desk { inbox: self.inbox.room(), output: self.output.room() };
        self.steps.handle(input, &mut desk, context)
    }

    /// The bytes to send; tell with [`sent`](Self::sent) how many were sent.
    #[must_use]
    pub fn poll_output(&self) -> &[u8] {
        self.output.filled().get(self.sent..).unwrap_or_default()
    }

    /// Notes that the first `count` bytes of the output were sent.
    pub fn sent(&mut self, count: usize) {
        self.sent = self.sent.saturating_add(count).min(self.output.filled().len());
    }

    /// Hands over the session; nothing if the handshake is not done or its output has not all been sent.
    #[must_use]
    pub fn finish(self) -> Option<Established> {
        let all_sent = self.sent == self.output.filled().len();
        self.steps.finish().filter(|_| all_sent)
    }
}
