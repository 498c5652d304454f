//! The security log, and the messages for people about sealing: connections, refusals, and their remedies.
//!
//! No payload, one line of JSON per event. The lines go to the file that `$SCHWANN_SECURITY_LOG` or `security.log`
//! names, else to the ordinary log.
//!
//! Source: secure-session §9.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use schwann_proto::stream_info::StreamInfo;
use schwann_session::{LayerError, PeerIdentity, Refusal, Statement, Suite};

use crate::lately::Lately;
use crate::log;
use crate::peer_address::PeerAddress;

mod advice;
mod file;
mod last_peer;

pub use self::advice::{Explained, advice};
use self::file::Cause;
pub use self::file::log_to;
pub(crate) use self::file::use_file;
pub use self::last_peer::LastPeer;

/// The end of a connection at which this process is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Inlet,
    Outlet,
}

/// A peer proved who it is.
pub(crate) fn connected(stream: &StreamInfo, peer: PeerAddress, identity: &PeerIdentity, side: Side) {
    let suite = match identity.suite {
        Suite::Classic => "classic",
        Suite::Hybrid => "hybrid",
    };
    let statement = &identity.statement;
    event(
        Cause::Member,
        "connect",
        stream,
        peer,
        side,
        &[
            ("device", &statement.name.as_str()),
            ("serial", &statement.serial),
            ("key", &statement.device.fingerprint()),
            ("suite", &suite),
        ],
    );
}

/// Another device serves a stream than before. If `now` is none, nothing of the stream is
/// sealed.
pub(crate) fn taken_over(
    stream: &StreamInfo,
    peer: PeerAddress,
    before: &PeerIdentity,
    now: Option<&PeerIdentity>,
) {
    let device = now.map_or("", |now| now.statement.name.as_str());
    let serial = now.map_or_else(String::new, |now| now.statement.serial.to_string());
    let before = &before.statement;
    let more: [(&str, &dyn fmt::Display); 4] = [
        ("device", &device),
        ("serial", &serial),
        ("device_before", &before.name.as_str()),
        ("serial_before", &before.serial),
    ];
    if event(Cause::Member, "takeover", stream, peer, Side::Inlet, &more) {
        log::warning!(
            "{} comes from another device than before: {}, before {} (certificate {}); any member of the lab may take a \
             stream over by its source id: if this one should not, run `schwann keys revoke` on the lab's computer",
            stream.name(),
            Server(now),
            before.name.as_str(),
            before.serial
        );
    }
}

/// The server of a stream, in words.
struct Server<'a>(Option<&'a PeerIdentity>);

impl fmt::Display for Server<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(PeerIdentity { statement, .. }) => {
                write!(out, "{} (certificate {})", statement.name.as_str(), statement.serial)
            }
            None => out.write_str("one that does not seal"),
        }
    }
}

/// Nothing can be sealed here although it has to be.
pub(crate) fn unusable(reason: &str) {
    file::write(Cause::Member, "unusable", &[("reason", &reason)]);
}

/// There is no session with a peer, or no longer.
pub(crate) fn refused(stream: &StreamInfo, peer: PeerAddress, refusal: Refusal, side: Side) {
    // People are told even if the file has too many of the kind: these may be strangers' at an outlet.
    event(cause_of(refusal), kind_of(refusal), stream, peer, side, &[("reason", &refusal)]);
    let at = match peer {
        PeerAddress::Address(address) => format!(" at {address}"),
        PeerAddress::ThisComputer => String::from(" on this computer"),
        PeerAddress::Unknown => String::new(),
    };
    let who = if side == Side::Inlet { "outlet" } else { "inlet" };
    // The look at the pins has told of that, and of the device.
    let is_told = refusal == Refusal::WrongDevice && side == Side::Inlet;
    if !is_told && is_news(peer, refusal, side) {
        log::warning!("{}: no session with the {who}{at}: {}", stream.name(), Explained(refusal));
    }
}

/// An outlet is there that a search does not find, because there could be no session with it.
pub(crate) fn hidden(peer: SocketAddr, refusal: Refusal) {
    let reason: &dyn fmt::Display = &refusal;
    file::write(
        Cause::Stranger,
        kind_of(refusal),
        &[("side", &"inlet"), ("peer", &peer), ("reason", reason)],
    );
    if is_news(PeerAddress::Address(peer), refusal, Side::Inlet) {
        log::warning!("the outlet at {peer} is not found: {}", Explained(refusal));
    }
}

/// The lab's revocation list was not exchanged with an outlet, because there is no session with it.
pub(crate) fn not_exchanged(peer: SocketAddr, refusal: Refusal) {
    if is_news(PeerAddress::Address(peer), refusal, Side::Inlet) {
        log::warning!("no revocation list was exchanged with {peer}: {}", Explained(refusal));
    }
}

/// A search from `peer` gets no answer, because no session with its sender is possible.
pub(crate) fn unanswered(stream: &StreamInfo, peer: SocketAddr, refusal: Refusal) {
    let peer = PeerAddress::Address(peer);
    let is_written =
        event(Cause::Stranger, kind_of(refusal), stream, peer, Side::Outlet, &[("reason", &refusal)]);
    if is_written && is_news(peer, refusal, Side::Outlet) {
        log::warning!("{}: a search from {peer} gets no answer: {}", stream.name(), Explained(refusal));
    }
}

/// From now on the log tells of no refusal: the program's own screen names each.
pub fn refusals_are_shown() {
    ARE_SHOWN.store(true, Ordering::Relaxed);
}

/// Whether people have not been told lately that there is no session with this computer for this reason. Each of its
/// streams, searches and new attempts comes to the same.
fn is_news(peer: PeerAddress, refusal: Refusal, side: Side) -> bool {
    if ARE_SHOWN.load(Ordering::Relaxed) {
        return false;
    }
    let ip = match peer {
        PeerAddress::Address(address) => Some(address.ip().to_canonical()),
        PeerAddress::ThisComputer | PeerAddress::Unknown => None,
    };
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.is_news(ip, refusal, side, Instant::now())
}

/// Refusals that people were told of lately, by their cause and by this process's end. Each has room of its own.
/// So strangers do not silence members, and a flood at an outlet does not silence the inlets.
struct Told([[Reasons; 2]; 2]);

/// Computers and why there was no session with them.
type Reasons = Lately<(Option<IpAddr>, Refusal)>;

impl Told {
    const fn new() -> Self {
        Self([const { [const { Lately::new(TELL_AGAIN) }; 2] }; 2])
    }

    fn is_news(&mut self, ip: Option<IpAddr>, refusal: Refusal, side: Side, now: Instant) -> bool {
        self.0[cause_of(refusal) as usize][side as usize].is_new((ip, refusal), now)
    }
}

/// The event of a refusal.
fn kind_of(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::PlainPeer | Refusal::ClassicRefused => "downgrade",
        _ => "refuse",
    }
}

/// The cause of a refusal: only a proven device of the lab gets these reasons (secure-session §3.8).
fn cause_of(refusal: Refusal) -> Cause {
    match refusal {
        Refusal::Expired
        | Refusal::NotYetValid
        | Refusal::Revoked
        | Refusal::WrongDevice
        | Refusal::WrongRole => Cause::Member,
        _ => Cause::Stranger,
    }
}

/// A session ended because what came does not verify, or is out of order.
pub(crate) fn broken(identity: Option<&PeerIdentity>, peer: PeerAddress, error: LayerError) {
    let device = identity.map_or("", |identity| identity.statement.name.as_str());
    let cause = if identity.is_some() { Cause::Member } else { Cause::Stranger };
    file::write(cause, "tamper", &[("device", &device), ("peer", &peer), ("reason", &error)]);
    log::error!("a sealed connection to {device} {peer} was broken off: {error}");
}

/// A member handed on a revocation list that is not the authority's, or came with a wrong key.
pub(crate) fn disloyal(identity: &PeerIdentity, reason: &dyn fmt::Display) {
    let statement = &identity.statement;
    let (device, serial) = (statement.name.as_str(), statement.serial);
    if file::write(Cause::Member, "tamper", &[("device", &device), ("serial", &serial), ("reason", reason)]) {
        log::warning!("an update of the lab from {device} (serial {serial}) was not taken in: {reason}");
    }
}

/// A datagram was here before, or is from another time. An outlet's screen tells of the latter when it is surely no
/// mishap.
pub(crate) fn replayed(peer: SocketAddr, reason: &dyn fmt::Display) {
    if file::write(Cause::Stranger, "replay", &[("peer", &peer), ("reason", reason)]) {
        log::verbose!(1, "a sealed datagram from {peer} was ignored: {reason}");
    }
}

/// A member's searches come from another time.
pub(crate) fn wrong_time(stream: &StreamInfo, peer: SocketAddr) {
    log::warning!(
        "{}: a search from {peer} gets no answer: its time is more than 30 s from this clock; if it is no attack, a \
         clock is wrong: compare `date -u` on both computers, and set it right with `sudo timedatectl set-ntp true`",
        stream.name()
    );
}

/// What came from a hub counts for nothing (relay §9): `what` it would have been, of the relayed stream `stream`.
pub fn refused_from_hub(what: &str, stream: &str, reason: &dyn fmt::Display) {
    if file::write(Cause::Stranger, "relay", &[("what", &what), ("stream", &stream), ("reason", reason)]) {
        log::warning!("a {what} from the hub was not taken in: {reason}");
    }
}

/// A sender has changed the keys of its sessions.
pub(crate) fn rekeyed(stream: &StreamInfo, peer: PeerAddress, side: Side, count: u64) {
    event(Cause::Member, "rekey", stream, peer, side, &[("count", &count)]);
}

/// This device has another certificate from now on.
pub(crate) fn renewed(statement: &Statement) {
    let serial = statement.serial;
    file::write(Cause::Member, "renew", &[("device", &statement.name.as_str()), ("serial", &serial)]);
}

/// A newer revocation list is in force.
pub(crate) fn revoked(number: u64) {
    file::write(Cause::Member, "revoke", &[("list", &number)]);
}

/// Writes an event of a connection; says whether it was not one of too many.
fn event(
    cause: Cause,
    kind: &'static str,
    stream: &StreamInfo,
    peer: PeerAddress,
    side: Side,
    more: &[(&str, &dyn fmt::Display)],
) -> bool {
    let side = if side == Side::Inlet { "inlet" } else { "outlet" };
    let (name, uid) = (stream.name().to_string(), stream.uid().to_string());
    let head: [(&str, &dyn fmt::Display); 4] =
        [("side", &side), ("stream", &name), ("uid", &uid), ("peer", &peer)];
    file::write(cause, kind, &[&head, more].concat())
}

static ARE_SHOWN: AtomicBool = AtomicBool::new(false);
/// For the whole process.
static TOLD: Mutex<Told> = Mutex::new(Told::new());
/// Time after which a reason is told again.
const TELL_AGAIN: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_strangers_silences_neither_members_nor_the_inlets() {
        let (mut told, now) = (Told::new(), Instant::now());
        let address = |number: u32| Some(IpAddr::from(number.to_be_bytes()));
        let mut is_news = |number, refusal, side| told.is_news(address(number), refusal, side, now);
        let words = (0..1000).filter(|number| is_news(*number, Refusal::PlainPeer, Side::Outlet)).count();
        assert_eq!(words, 64);
        assert!(is_news(7, Refusal::RefusedByPeer, Side::Inlet));
        assert!(is_news(7, Refusal::Expired, Side::Inlet));
        assert!(is_news(7, Refusal::Revoked, Side::Outlet));
        assert!(!is_news(7, Refusal::Revoked, Side::Outlet), "it is told");
    }
}
