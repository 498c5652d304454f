//! The security log: who connected, who was refused and why. No payload, one line of JSON per event.
//!
//! It goes where the configuration says (`security.log`), else to the ordinary log.

use alloc::sync::Arc;
use core::net::SocketAddr;

use schwann_proto::stream_info::StreamInfo;
use schwann_session::{PeerIdentity, Refusal, Roles, Suite};

use crate::config::Config;
use crate::trust::{Policy, Trust, TrustError};
use crate::{Error, log};

/// The trust for connections in `role`, checked.
///
/// - Errors: [`Error::Unsealed`] if streams must be sealed and cannot be; the log says why.
pub(crate) fn trust_for(config: &Config, role: Roles) -> Result<Arc<Trust>, Error> {
    let checked = config.trust().and_then(|trust| trust.sealing(role).map(|_| ()).map(|()| trust));
    checked.map_err(|error: TrustError| {
        log::error!("{error}");
        Error::Unsealed
    })
}

/// A peer proved who it is.
pub(crate) fn connected(stream: &StreamInfo, peer: Option<SocketAddr>, identity: &PeerIdentity) {
    let suite = match identity.suite {
        Suite::Classic => "classic",
        Suite::Hybrid => "hybrid",
    };
    record(
        "connected",
        stream,
        peer,
        format_args!(
            ",\"device\":{},\"serial\":{},\"suite\":\"{suite}\"",
            Text(identity.statement.name.as_str()),
            identity.statement.serial
        ),
    );
}

/// A peer did not get a session.
pub(crate) fn refused(stream: &StreamInfo, peer: Option<SocketAddr>, refusal: Refusal) {
    log::warning!("{}: a peer was refused: {refusal}", stream.name());
    record("refused", stream, peer, format_args!(",\"reason\":{}", Text(&refusal.to_string())));
}

/// Somebody spoke plain LSL to a stream that must be sealed.
pub(crate) fn plain_refused(stream: &StreamInfo) {
    refused(stream, None, Refusal::PlainPeer);
}

fn record(event: &str, stream: &StreamInfo, peer: Option<SocketAddr>, more: core::fmt::Arguments<'_>) {
    let peer = peer.map_or(String::new(), |peer| peer.to_string());
    log::info!(
        "{{\"security\":\"{event}\",\"stream\":{},\"uid\":{},\"peer\":\"{peer}\"{more}}}",
        Text(&stream.name().to_string()),
        Text(&stream.uid().to_string()),
    );
}

/// A JSON string.
struct Text<'a>(&'a str);

impl core::fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => out.write_str("\\\"")?,
                '\\' => out.write_str("\\\\")?,
                c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
                c => write!(out, "{c}")?,
            }
        }
        out.write_str("\"")
    }
}

/// What a library's user reads about sealing.
pub fn summary(config: &Config) -> String {
    match config.trust() {
        Ok(trust) => match (trust.policy(), trust.member()) {
            (Policy::Off, _) => String::from("off (streams are sent in the clear)"),
            (policy, Some(member)) => format!(
                "{} as {}",
                if policy == Policy::Require { "require" } else { "prefer" },
                member.credentials().certificate().statement.name.as_str()
            ),
            (_, None) => String::from("prefer, without a key (streams are sent in the clear)"),
        },
        Err(error) => format!("unusable: {error}"),
    }
}
