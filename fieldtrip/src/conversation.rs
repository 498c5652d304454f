//! One client's conversation with a buffer, sans-IO: bytes in, replies out.
//!
//! ```text
//!            ┌─ Step::Read:  read into space(), then filled(n)
//!  poll() ───┼─ Step::Send:  write parts(), then sent()
//!            ├─ Step::Wait:  wait, then finish_wait() or wait_was_told()
//!            └─ Step::Close: close
//! ```
//!
//! Before working here, read spec: fieldtrip §12 and §14: which input must have which answer. No announced
//! length is believed before it is compared with what the command, the header and the policy permit.

mod big;
mod input;
mod reply;
mod request;

use std::io::IoSlice;
use std::sync::Arc;

use big::{Collect, Fill, Skip};
use input::Input;
use reply::Reply;
use request::Request;

use crate::buffer::Buffer;
use crate::policy::{Budget, PeerId, Policy, Reservation};
use crate::store::Refused;
use crate::wait::Wake;
use crate::wire::{
    ByteOrder, Command, DEFINITION_BYTES, Definition, Family, HEADER_BYTES, SAMPLES_BYTES, WaitRequest,
};

/// What the driver must do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Close the connection.
    Close,
    /// Read into [`Conversation::space`], then call [`Conversation::filled`].
    Read(Progress),
    /// Write [`Conversation::parts`], then call [`Conversation::sent`].
    Send,
    /// Wait, then call [`Conversation::finish_wait`].
    Wait(WaitRequest),
}

/// Where in the stream of requests the next read is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// Between two requests.
    Between,
    /// Within a request: its first part has arrived.
    Within,
}

/// One client's conversation with a buffer.
pub struct Conversation {
    buffer: Buffer,
    policy: Arc<Policy>,
    peer: PeerId,
    input: Input,
    state: ConversationState,
    reply: Reply,
    wake: Wake,
    reserved: Reservation,
    is_bulk_expected: bool,
}

#[derive(Debug)]
enum ConversationState {
    Closed,
    Collecting(Collect),
    Filling(Fill),
    Idle,
    Skipping(Skip),
    Waiting(ByteOrder, WaitRequest),
}

/// What a state has come to.
enum Turn {
    Again,
    Starved,
    Wait(WaitRequest),
    Close,
}

impl Conversation {
    /// A new client's conversation, with its own memory budget.
    pub fn new(buffer: Buffer, policy: Arc<Policy>, peer: PeerId) -> Self {
        let budget = Budget::new(policy.limits.unfinished_bytes);
        Self::with_budget(buffer, policy, peer, &budget)
    }

    pub(crate) fn with_budget(
        buffer: Buffer,
        policy: Arc<Policy>,
        peer: PeerId,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            buffer,
            policy,
            peer,
            input: Input::new(),
            state: ConversationState::Idle,
            reply: Reply::default(),
            wake: Wake::default(),
            reserved: Reservation::nothing(budget),
            is_bulk_expected: false,
        }
    }

    /// Works on what has arrived and says what the driver must do next.
    pub fn poll(&mut self) -> Step {
        loop {
            if self.reply.must_go() {
                return Step::Send;
            }
            let turn = match &self.state {
                ConversationState::Closed => Turn::Close,
                ConversationState::Collecting(_) => self.collect(),
                ConversationState::Filling(_) => self.fill(),
                ConversationState::Idle => self.begin(),
                ConversationState::Skipping(_) => self.skip(),
                ConversationState::Waiting(_, wait) => Turn::Wait(*wait),
            };
            if matches!(turn, Turn::Again) {
                continue;
            }
            if !self.reply.is_empty() {
                return Step::Send;
            }
            // Readers are told after the writer has its reply; an unanswered writer has no reply to wait for.
            drop(core::mem::take(&mut self.wake));
            return match turn {
                Turn::Again | Turn::Starved => Step::Read(self.progress()),
                Turn::Wait(wait) => Step::Wait(wait),
                Turn::Close => Step::Close,
            };
        }
    }

    /// Where the driver reads to, after [`Step::Read`].
    pub fn space(&mut self) -> &mut [u8] {
        let wanted = self.wanted();
        match &mut self.state {
            ConversationState::Collecting(collect) => {
                collect.payload.get_mut(collect.filled..).unwrap_or_default()
            }
            ConversationState::Filling(fill) => fill.space(),
            // So that the values of the next big block can be read to where they stay.
            ConversationState::Idle if self.is_bulk_expected && self.input.len() < BLOCK_START => {
                let missing = BLOCK_START - self.input.len();
                self.input.space(BLOCK_START).get_mut(..missing).unwrap_or_default()
            }
            ConversationState::Idle => self.input.space(wanted),
            ConversationState::Closed | ConversationState::Skipping(_) | ConversationState::Waiting(..) => {
                self.input.space(SKIP_BYTES)
            }
        }
    }

    /// Says that so many bytes were read into [`space`](Self::space).
    pub fn filled(&mut self, length: usize) {
        match &mut self.state {
            ConversationState::Collecting(collect) => collect.filled += length,
            ConversationState::Filling(fill) => fill.filled += length,
            _ => self.input.filled(length),
        }
    }

    /// What the driver writes, in this order and in one write, after [`Step::Send`].
    pub fn parts(&self) -> Vec<IoSlice<'_>> {
        self.reply.parts()
    }

    /// Says that everything in [`parts`](Self::parts) was written.
    pub fn sent(&mut self) {
        drop(core::mem::take(&mut self.wake));
        if self.reply.sent(&self.buffer).is_err() {
            self.state = ConversationState::Closed;
        }
    }

    /// Answers the wait of [`Step::Wait`].
    pub fn finish_wait(&mut self, end: Result<crate::wire::Totals, Refused>) {
        if let ConversationState::Waiting(order, _) = self.state {
            match end {
                Ok(totals) => self.reply.totals(order, totals),
                Err(_) => self.reply.empty(Family::Wait.refused(), order),
            }
            self.state = ConversationState::Idle;
        }
    }

    /// Says that another thread has sent the reply to the wait.
    pub(crate) fn wait_was_told(&mut self) {
        self.state = ConversationState::Idle;
    }

    /// The buffer this client talks to.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Whether bytes have arrived that were not worked on: the client sends on without waiting for replies.
    pub fn has_input(&self) -> bool {
        self.input.len() > 0
    }

    /// Whether [`sent`](Self::sent) will tell others that their wait is over.
    pub(crate) fn has_readers_to_tell(&self) -> bool {
        !self.wake.is_empty()
    }

    /// The byte order of the wait's reply, after [`Step::Wait`].
    pub(crate) fn wait_order(&self) -> ByteOrder {
        match self.state {
            ConversationState::Waiting(order, _) => order,
            _ => ByteOrder::NATIVE,
        }
    }

    fn begin(&mut self) -> Turn {
        let Some(definition) = self.input.available().first_chunk::<DEFINITION_BYTES>() else {
            return Turn::Starved;
        };
        let Ok(Definition { code, order, payload_bytes }) = Definition::parse(*definition) else {
            return Turn::Close;
        };
        // What an unknown command's client expects as an answer cannot be known either.
        let Some(command) = Command::parse(code) else { return Turn::Close };
        let request = Request { command, order, payload_bytes };
        if payload_bytes > self.longest_payload(command) {
            return Turn::Close;
        }
        let length = payload_bytes as usize;
        if request.is_bulk() {
            return self.begin_bulk(request);
        }
        if DEFINITION_BYTES + length <= INPUT_BYTES {
            if self.input.len() < DEFINITION_BYTES + length {
                return Turn::Starved;
            }
            self.is_bulk_expected = false;
            return self.answer_buffered(request);
        }
        self.input.consume(DEFINITION_BYTES);
        if let Err(refused) = self.judge(request) {
            return self.skip_and_refuse(request, u64::from(payload_bytes), refused);
        }
        self.state = ConversationState::Collecting(Collect { request, payload: Vec::new(), filled: 0 });
        Turn::Again
    }

    /// Carries out a request that has arrived as a whole and lies in the input.
    fn answer_buffered(&mut self, request: Request) -> Turn {
        // Taken out for the moment, because the payload is converted where it lies.
        let mut input = core::mem::replace(&mut self.input, Input::unallocated());
        let message = input.front_mut(DEFINITION_BYTES + request.payload_bytes as usize);
        if let Some((_, payload)) = message.split_at_mut_checked(DEFINITION_BYTES) {
            self.answer(request, payload);
        }
        input.consume(DEFINITION_BYTES + request.payload_bytes as usize);
        self.input = input;
        Turn::Again
    }

    fn longest_payload(&self, command: Command) -> u32 {
        let limits = &self.policy.limits;
        match command {
            Command::PutHeader | Command::PutHeaderUnanswered => {
                limits.header_bytes.saturating_add(HEADER_BYTES as u32)
            }
            Command::PutSamples | Command::PutSamplesUnanswered => limits.sample_bytes,
            Command::PutEvents | Command::PutEventsUnanswered => limits.event_bytes,
            // Their payload is at most twelve bytes; some surplus is read and ignored, as the original does.
            _ => SMALL_REQUEST,
        }
    }

    /// Bytes that the input must have room for to get on.
    fn wanted(&self) -> usize {
        let definition = self.input.available().first_chunk().map(|bytes| Definition::parse(*bytes));
        match definition {
            Some(Ok(Definition { payload_bytes, .. })) => {
                (DEFINITION_BYTES + payload_bytes as usize).min(INPUT_BYTES)
            }
            _ => BLOCK_START,
        }
    }

    fn progress(&self) -> Progress {
        match self.state {
            ConversationState::Idle if self.input.len() == 0 => Progress::Between,
            _ => Progress::Within,
        }
    }
}

/// Definition of the message and definition of the samples.
const BLOCK_START: usize = DEFINITION_BYTES + SAMPLES_BYTES;

/// Requests up to this size lie in the input as a whole; bigger ones get memory of their own.
const INPUT_BYTES: usize = 64 << 10;

/// Room for bytes of no use.
const SKIP_BYTES: usize = 16 << 10;

/// Longest payload of a request that carries no content.
const SMALL_REQUEST: u32 = 4096;

#[cfg(test)]
mod tests;
