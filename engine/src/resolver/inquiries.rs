//! Asks outlets whether a query about metadata is true of their streams, if answers to a sealed search do not
//! tell.
//!
//! The short description that an outlet sends as a datagram has no metadata. A sealed datagram must not say which
//! stream is wanted. So such a query goes to the outlet inside a session. A description never changes while its
//! stream is served, so each outlet is asked once in a search.
//!
//! Source: secure-session §5.4.

use core::net::SocketAddr;
use std::collections::HashMap;

use mio::{Registry, Token};
use schwann_proto::stream_info::StreamInfo;

use super::questions::Questions;
use super::tcp::{AnswerOverTcp, TcpProbes};
use crate::net::sockets::version_of;

/// What one search has asked, and learned.
#[derive(Debug)]
pub(super) struct Inquiries {
    probes: TcpProbes,
    verdicts: HashMap<String, Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// The outlet was asked, and may be asked again from this second on.
    Pending {
        until: f64,
    },
    Unwanted,
    Wanted,
}

impl Inquiries {
    /// Prepares to ask, with tokens from `first_token` on.
    pub(super) fn new(questions: &Questions, first_token: usize) -> Self {
        Self { probes: TcpProbes::new(questions, first_token), verdicts: HashMap::new() }
    }

    /// Whether the stream is wanted, as far as is known; if nothing is, asks its outlet.
    ///
    /// - Units: `now` in seconds on the local clock.
    pub(super) fn is_wanted(
        &mut self,
        info: &StreamInfo,
        source: SocketAddr,
        registry: &Registry,
        now: f64,
    ) -> bool {
        let uid = info.uid().to_string_lossy();
        match self.verdicts.get(&*uid) {
            Some(Verdict::Wanted) => return true,
            Some(Verdict::Unwanted) => return false,
            Some(Verdict::Pending { until }) if now < *until => return false,
            Some(Verdict::Pending { .. }) | None => {}
        }
        if self.probes.is_asking(&uid) {
            return false;
        }
        if self.verdicts.len() >= MOST {
            // A peer invents streams. The real ones are asked again.
            self.verdicts.clear();
        }
        let port = info.endpoint(version_of(source.ip())).data_port;
        if port != 0 {
            let mut peer = source;
            peer.set_port(port);
            self.verdicts.insert(uid.clone().into_owned(), Verdict::Pending { until: now + AGAIN_AFTER });
            self.probes.ask(peer, uid.into_owned(), ANSWER_SECONDS, registry, now);
        }
        false
    }

    /// Goes on with the connection of this token; returns a stream that is wanted.
    pub(super) fn handle_ready(&mut self, token: Token, registry: &Registry) -> Option<AnswerOverTcp> {
        let answer = self.probes.handle_ready(token, registry)?;
        let uid = answer.uid.as_ref()?;
        // A port may have changed hands since the datagram came.
        let is_it = |info: &StreamInfo| *info.uid() == *uid.as_str();
        let verdict = match &answer.info {
            Some(info) if is_it(info) => Verdict::Wanted,
            Some(_) => return None,
            None => Verdict::Unwanted,
        };
        self.verdicts.insert(uid.clone(), verdict);
        (verdict == Verdict::Wanted).then_some(answer)
    }

    /// When [`Self::expire`] has something to do, in seconds on the local clock.
    pub(super) fn deadline(&self) -> Option<f64> {
        self.probes.deadline()
    }

    /// Gives up what takes too long.
    pub(super) fn expire(&mut self, now: f64, registry: &Registry) {
        self.probes.expire(now, registry);
    }
}

/// Seconds after which an outlet that hung up without an answer is asked again.
const AGAIN_AFTER: f64 = 2.0;
/// Seconds that an outlet has to answer, from when there is a wish to ask it.
const ANSWER_SECONDS: f64 = 5.0;
/// Streams that a search remembers the answers of; a lab has far fewer.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use mio::{Events, Poll};
    use schwann_proto::{stream::ChannelFormat, stream_info::IpVersion};

    use super::*;
    use crate::net::testing::Lab;
    use crate::security::{Member, Policy, Trust};

    fn questions() -> Questions {
        let lab = Lab::new();
        let list = lab.list(1, &[1; 32]);
        let member = Member::new(lab.authority.lab(), lab.credentials, list, &[1; 32]);
        Questions::new(Trust::new(Policy::Require, Some(member)).into(), "desc/subject='p01'")
    }

    #[test]
    fn an_outlet_is_not_asked_with_every_wave() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let info = StreamInfo::new("A", "EEG", 1, 0.0, ChannelFormat::Int8, "").expect("valid");
        let mut info = info;
        info.reset_uid([1; 16]);
        info.set_ports(IpVersion::V4, address.port(), 1);
        let uid = info.uid().to_string_lossy().into_owned();
        let mut poll = Poll::new().expect("a poller");
        let registry = poll.registry().try_clone().expect("a descriptor");
        let mut inquiries = Inquiries::new(&questions(), 10);
        let ask = |inquiries: &mut Inquiries, now| {
            assert!(!inquiries.is_wanted(&info, address, &registry, now));
        };
        // Each way to a computer brings an answer, and each wave some.
        (0..100).for_each(|wave| ask(&mut inquiries, 100.0 + f64::from(wave) * 0.01));
        let mut events = Events::with_capacity(8);
        let mut notice = |inquiries: &mut Inquiries| {
            while inquiries.probes.is_asking(&uid) {
                poll.poll(&mut events, Some(core::time::Duration::from_secs(20))).expect("polled");
                assert!(!events.is_empty());
                let mut answers = events.iter().map(|event| inquiries.handle_ready(event.token(), &registry));
                assert!(answers.all(|answer| answer.is_none()));
            }
        };
        // One that hung up without a word is asked again, later. What hung up makes room for the next.
        drop(listener.accept().expect("a connection"));
        notice(&mut inquiries);
        ask(&mut inquiries, 100.0 + AGAIN_AFTER);
        // One that takes its time is not asked a second time meanwhile.
        ask(&mut inquiries, 100.0 + 2.5 * AGAIN_AFTER);
        drop(listener.accept().expect("another"));
        listener.set_nonblocking(true).expect("supported");
        assert!(listener.accept().is_err(), "it was asked twice");
        notice(&mut inquiries);
    }
}
