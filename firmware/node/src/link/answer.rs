//! What a request gets.

use schwann_proto::{
    stream::PROTOCOL_VERSION,
    wire::{
        NoRoom, Sink,
        feed::{Agreement, Command, FeedRequest, Offer, Refusal},
        test_pattern,
    },
};

use super::Host;
use crate::{condition, description::Description};

/// What a request gets.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Feed(Agreement),
    FullInfo,
    Nothing,
    Refused(Refusal),
    ShortInfo,
}

pub(super) fn answer_to(command: &Command<'_>, host: &Host<'_, '_>) -> Answer {
    match command {
        Command::FullInfo => Answer::FullInfo,
        Command::ShortInfo { query } if condition::matches(query, host.description) => Answer::ShortInfo,
        Command::Feed(request) => answer_to_feed(request, host),
        _ => Answer::Nothing,
    }
}

fn answer_to_feed(request: &FeedRequest<'_>, host: &Host<'_, '_>) -> Answer {
    match offer(host.description).negotiate(request) {
        Err(refusal) => Answer::Refused(refusal),
        Ok(_) if !host.may_feed && request.max_buffer_length > 0 => Answer::Nothing,
        Ok(agreement) => Answer::Feed(agreement),
    }
}

fn offer<'a>(description: &'a Description<'_>) -> Offer<'a> {
    Offer {
        version: PROTOCOL_VERSION,
        uid: description.uid.as_str(),
        format: description.format,
        // Turning bytes around costs less than a client's mistake about it.
        swap_performance: f64::INFINITY,
        // Like a synchronous outlet, a node serves protocol 1.10 alone.
        synchronous: true,
    }
}

pub(super) fn put_answer(answer: &Answer, host: &Host<'_, '_>, out: &mut impl Sink) -> Result<(), NoRoom> {
    match answer {
        Answer::Nothing => Ok(()),
        Answer::ShortInfo => host.description.put_shortinfo(out),
        Answer::FullInfo => host.description.put_fullinfo(out),
        Answer::Refused(refusal) => refusal.encode(&offer(host.description), out),
        Answer::Feed(agreement) => {
            agreement.encode_response(&offer(host.description), out)?;
            let Description { format, channel_count, .. } = *host.description;
            test_pattern::encode(&agreement.layout(format, channel_count), out).map_err(|_| NoRoom)
        }
    }
}
