//! Requests that do not fit into the input: gathered, read to where they stay, or read past.

use super::{BLOCK_START, Conversation, ConversationState, DEFINITION_BYTES, INPUT_BYTES, Request, Turn};
use crate::buffer::BULK_BYTES;
use crate::store::Refused;
use crate::wire::{Command, DataType, SAMPLES_BYTES, SamplesDefinition};

/// A request too long for the input, gathered as it arrives.
#[derive(Debug)]
pub(super) struct Collect {
    pub(super) request: Request,
    pub(super) payload: Vec<u8>,
    pub(super) filled: usize,
}

/// A big block of samples, read into memory that the ring will take over.
#[derive(Debug)]
pub(super) struct Fill {
    request: Request,
    block: SamplesDefinition,
    pieces: Vec<Vec<u8>>,
    pub(super) filled: usize,
    /// Bytes of values for which there is no piece yet.
    missing: usize,
    piece_bytes: usize,
    surplus: u64,
}

/// Bytes of no use, and what to answer after them.
#[derive(Debug)]
pub(super) struct Skip {
    request: Request,
    left: u64,
    block: Result<(SamplesDefinition, Vec<Vec<u8>>), Refused>,
}

impl Conversation {
    pub(super) fn begin_bulk(&mut self, request: Request) -> Turn {
        let Some((_, payload)) = self.input.available().split_at_checked(DEFINITION_BYTES) else {
            return Turn::Starved;
        };
        let Ok(block) = SamplesDefinition::parse(request.order, payload) else { return Turn::Starved };
        self.input.consume(BLOCK_START);
        self.is_bulk_expected = true;
        let behind = u64::from(request.payload_bytes) - SAMPLES_BYTES as u64;
        let admitted =
            self.judge(request).and_then(|()| self.buffer.admit(block, u64::from(request.payload_bytes)));
        match admitted {
            Err(refused) => self.skip_and_refuse(request, behind, refused),
            Ok((needed, piece_bytes)) => {
                let surplus = behind.saturating_sub(needed as u64);
                let fill = Fill {
                    request,
                    block,
                    pieces: Vec::new(),
                    filled: 0,
                    missing: needed,
                    piece_bytes,
                    surplus,
                };
                self.state = ConversationState::Filling(fill);
                Turn::Again
            }
        }
    }

    pub(super) fn collect(&mut self) -> Turn {
        let ConversationState::Collecting(collect) = &mut self.state else { return Turn::Again };
        let length = collect.request.payload_bytes as usize;
        if collect.filled == collect.payload.len() && collect.filled < length {
            // Memory grows with what has arrived, not with what was announced.
            let more = collect.filled.max(INPUT_BYTES).min(length - collect.filled);
            if !self.reserved.grow(more) {
                return Turn::Close;
            }
            collect.payload.resize(collect.filled + more, 0);
        }
        collect.filled += self.input.take_into(collect.payload.get_mut(collect.filled..).unwrap_or_default());
        if collect.filled < length {
            return if collect.filled < collect.payload.len() { Turn::Starved } else { Turn::Again };
        }
        let (request, mut payload) = (collect.request, core::mem::take(&mut collect.payload));
        self.state = ConversationState::Idle;
        self.answer(request, &mut payload);
        self.reserved.release();
        Turn::Again
    }

    pub(super) fn fill(&mut self) -> Turn {
        let ConversationState::Filling(fill) = &mut self.state else { return Turn::Again };
        let taken = self.input.take_into(fill.space());
        fill.filled += taken;
        if !fill.space().is_empty() {
            return Turn::Starved;
        }
        if fill.missing > 0 {
            let length = fill.missing.min(fill.piece_bytes);
            if !self.reserved.grow(length) {
                return Turn::Close;
            }
            fill.pieces.push(self.buffer.take_segment(length));
            fill.missing -= length;
            fill.filled = 0;
            return Turn::Again;
        }
        let pieces = core::mem::take(&mut fill.pieces);
        let skip = Skip { request: fill.request, left: fill.surplus, block: Ok((fill.block, pieces)) };
        self.state = ConversationState::Skipping(skip);
        Turn::Again
    }

    pub(super) fn skip(&mut self) -> Turn {
        let ConversationState::Skipping(skip) = &mut self.state else { return Turn::Again };
        let length = usize::try_from(skip.left).unwrap_or(usize::MAX).min(self.input.len());
        self.input.consume(length);
        skip.left -= length as u64;
        if skip.left > 0 {
            return Turn::Starved;
        }
        let ConversationState::Skipping(skip) = core::mem::replace(&mut self.state, ConversationState::Idle)
        else {
            return Turn::Again;
        };
        let outcome = skip.block.and_then(|(block, pieces)| self.adopt(skip.request, block, pieces));
        self.acknowledge(skip.request, outcome);
        self.reserved.release();
        Turn::Again
    }

    fn adopt(
        &mut self,
        request: Request,
        block: SamplesDefinition,
        mut pieces: Vec<Vec<u8>>,
    ) -> Result<(), Refused> {
        let data_type = DataType::parse(block.data_type).ok_or(Refused::Mismatch)?;
        for piece in &mut pieces {
            request.order.convert(data_type.size(), piece);
        }
        self.wake.merge(self.buffer.adopt_block(block, pieces)?);
        Ok(())
    }

    pub(super) fn skip_and_refuse(&mut self, request: Request, left: u64, refused: Refused) -> Turn {
        self.state = ConversationState::Skipping(Skip { request, left, block: Err(refused) });
        Turn::Again
    }
}

impl Fill {
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.pieces.last_mut().and_then(|piece| piece.get_mut(self.filled..)).unwrap_or_default()
    }
}

impl Request {
    /// Whether the samples are worth reading to where they stay.
    pub(super) fn is_bulk(self) -> bool {
        matches!(self.command, Command::PutSamples | Command::PutSamplesUnanswered)
            && self.payload_bytes as usize >= SAMPLES_BYTES + BULK_BYTES
    }
}
