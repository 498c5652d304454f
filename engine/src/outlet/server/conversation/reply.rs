//! What an outlet answers to a request.

use std::time::Instant;

use schwann_proto::wire::archive::Archive;
use schwann_proto::wire::feed::{Agreement, Command, DataProtocol, FeedRequest, Offer};
use schwann_proto::wire::sample::ByteOrder;
use schwann_proto::wire::test_pattern;

use super::{CLIENT_TIMEOUT, Conversation, Heard, Next, Role};
use crate::codec::Encoding;
use crate::log;
use crate::outlet::{Delivery, Shared, view};

impl Conversation {
    /// Answers the request once all of it has come.
    pub(super) fn reply(&mut self, shared: &Shared, received: Vec<u8>, heard: Heard) -> Next {
        let Role::Asking { reader, .. } = &mut self.role else { return Next::Keep };
        let is_sealed = self.link.layer().is_sealed();
        let read =
            reader.read(&received).map(|read| read.map(|command| reply_to(&command, shared, is_sealed)));
        match read {
            Ok(None) if heard == Heard::Nothing => self.keep(received),
            Ok(None) => Next::Part,
            Ok(Some(Reply::Feed { answer, encoding, agreement })) if heard == Heard::Nothing => {
                self.feed(shared, answer, encoding, &agreement)
            }
            // The end of the client's side ends its feed (lsl-wire §15.4). The poller does not tell of it again.
            Ok(Some(Reply::Short(answer) | Reply::Feed { answer, .. })) => {
                let deadline = Instant::now() + CLIENT_TIMEOUT;
                self.role = Role::Answering { answer, sent: 0, deadline };
                self.answer()
            }
            Err(reason) => {
                log::warning!("a client of {}: {reason}", shared.advertisement.info().name());
                Next::Part
            }
        }
    }
}

/// What a request gets.
enum Reply {
    /// These bytes, then the end.
    Short(Vec<u8>),
    /// These bytes, then samples.
    Feed { answer: Vec<u8>, encoding: Encoding, agreement: Agreement },
}

/// What a command of a client gets.
fn reply_to(command: &Command<'_>, shared: &Shared, is_sealed: bool) -> Reply {
    match command {
        Command::FullInfo => Reply::Short(shared.advertisement.fullinfo().to_vec()),
        Command::ShortInfo { query } if shared.advertisement.matches(query) => {
            Reply::Short(shared.advertisement.shortinfo().to_vec())
        }
        Command::Feed(request) => reply_to_feed(request, shared),
        Command::View if is_sealed => Reply::Short(view::encode(shared)),
        _ => Reply::Short(Vec::new()),
    }
}

fn reply_to_feed(request: &FeedRequest<'_>, shared: &Shared) -> Reply {
    let uid = shared.advertisement.info().uid().to_string();
    let offer = Offer {
        version: shared.config.tuning.protocol_version,
        uid: &uid,
        format: shared.advertisement.info().channel_format(),
        // Turning bytes around costs less than waiting for it to be done by a device.
        swap_performance: f64::INFINITY,
        synchronous: shared.delivery == Delivery::Synchronous,
    };
    let mut answer = Vec::new();
    // A vector takes all it is given.
    match offer.negotiate(request) {
        Err(refusal) => {
            let _ = refusal.encode(&offer, &mut answer);
            Reply::Short(answer)
        }
        Ok(agreement) => {
            let _ = agreement.encode_response_with_reports(&offer, &mut answer);
            let encoding = begin_feed(&agreement, shared, &mut answer);
            if agreement.max_buffer_length > 0 {
                Reply::Feed { answer, encoding, agreement }
            } else {
                Reply::Short(answer)
            }
        }
    }
}

/// Appends what precedes the first sample, and says in which encoding samples follow.
fn begin_feed(agreement: &Agreement, shared: &Shared, answer: &mut Vec<u8>) -> Encoding {
    let (format, channel_count) = (shared.layout.format, shared.layout.channel_count);
    // A vector takes all it is given, and the layouts are the stream's own.
    if agreement.data_protocol == DataProtocol::Archive {
        let archive = Archive::new(format, channel_count);
        let description = String::from_utf8_lossy(shared.advertisement.shortinfo());
        let _ = Archive::encode_header(&description, answer);
        let _ = test_pattern::encode_archive(&archive, answer);
        return Encoding::Archive;
    }
    let _ = test_pattern::encode(&agreement.layout(format, channel_count), answer);
    if agreement.byte_order == ByteOrder::NATIVE { Encoding::Native } else { Encoding::Swapped }
}
