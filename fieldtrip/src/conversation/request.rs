//! A request that has arrived: whether it may, what it does to the buffer, and what its client is told.

use super::{Conversation, ConversationState};
use crate::policy::{Access, Verdict};
use crate::store::Refused;
use crate::wire::{
    ByteOrder, Command, DataType, Family, Header, SAMPLES_BYTES, SamplesDefinition, Selection, WaitRequest,
};

/// What a client asks for, and how long what it sends with it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) command: Command,
    pub(super) order: ByteOrder,
    pub(super) payload_bytes: u32,
}

impl Conversation {
    pub(super) fn answer(&mut self, request: Request, payload: &mut [u8]) {
        let outcome = self.judge(request).and_then(|()| self.carry_out(request, payload));
        match (request.command.family(), outcome) {
            // These have put their reply, or their wait, in place themselves.
            (Family::Get | Family::Wait, Ok(())) => {}
            (_, outcome) => self.acknowledge(request, outcome),
        }
    }

    fn carry_out(&mut self, request: Request, payload: &mut [u8]) -> Result<(), Refused> {
        let order = request.order;
        match request.command {
            Command::PutHeader | Command::PutHeaderUnanswered => {
                let (header, _meaningless) = Header::parse(order, payload)?;
                self.buffer.put_header(header)
            }
            Command::PutSamples | Command::PutSamplesUnanswered => self.put_samples(order, payload),
            Command::PutEvents | Command::PutEventsUnanswered => {
                self.wake.merge(self.buffer.put_event_bytes(order, payload)?);
                Ok(())
            }
            Command::GetHeader => {
                let (header, totals) = self.buffer.header()?;
                self.reply.header(order, &header, totals);
                Ok(())
            }
            Command::GetSamples => {
                let selection = Selection::parse(order, payload)?;
                self.reply.samples(&self.buffer, order, selection, self.policy.limits.reply_bytes)
            }
            Command::GetEvents => self.reply.events(&self.buffer, order, Selection::parse(order, payload)?),
            Command::FlushHeader => self.buffer.flush_header(),
            Command::FlushSamples => self.buffer.flush_samples(),
            Command::FlushEvents => self.buffer.flush_events(),
            Command::Wait => self.begin_wait(order, payload),
        }
    }

    fn put_samples(&mut self, order: ByteOrder, payload: &mut [u8]) -> Result<(), Refused> {
        let block = SamplesDefinition::parse(order, payload)?;
        if !order.is_native() {
            // The type is the header's, or the block is refused.
            let word = DataType::parse(block.data_type).map_or(1, DataType::size);
            order.convert(word, payload.get_mut(SAMPLES_BYTES..).unwrap_or_default());
        }
        let values = payload.get(SAMPLES_BYTES..).ok_or(Refused::Malformed)?;
        if u64::from(block.value_bytes) > values.len() as u64 {
            // Refused here because the buffer knows the values but not their payload. The order of the checks
            // does not show in the reply.
            return Err(Refused::Malformed);
        }
        self.wake.merge(self.buffer.put_block(block, values)?);
        Ok(())
    }

    fn begin_wait(&mut self, order: ByteOrder, payload: &[u8]) -> Result<(), Refused> {
        let wait = WaitRequest::parse(order, payload)?;
        let (is_over, totals) =
            self.buffer.with_store(|store| Ok::<_, Refused>((store.is_over(wait)?, store.totals()?)))?;
        if is_over {
            self.reply.totals(order, totals);
        } else {
            self.state = ConversationState::Waiting(order, wait);
        }
        Ok(())
    }

    pub(super) fn acknowledge(&mut self, request: Request, outcome: Result<(), Refused>) {
        if request.command.is_answered() {
            let family = request.command.family();
            let code = if outcome.is_ok() { family.ok() } else { family.refused() };
            self.reply.empty(code, request.order);
        }
    }

    pub(super) fn judge(&self, request: Request) -> Result<(), Refused> {
        let Request { command, payload_bytes, .. } = request;
        if self.policy.access == Access::ReadOnly && command.is_writing() {
            return Err(Refused::Forbidden);
        }
        match &self.policy.gate {
            Some(gate) if gate.judge(self.peer, command, payload_bytes) == Verdict::Refuse => {
                Err(Refused::Forbidden)
            }
            _ => Ok(()),
        }
    }
}
