//! `schwann keys invite`: the lab's machine shows six words, and certifies the device that knows them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use schwann_recorder::Stop;
use schwann_session::pairing::{Candidate, Invitation, PairingError, Screen, Words, refusal};
use schwann_session::{AuthorityKey, Flags, Lab, PublicKey, Statement, SystemEntropy};

use super::authority::Granted;
use super::places::Places;
use super::revoke::Said;
use super::text::Membership;
use super::wire::{self, Entrance, MESSAGE_TIMEOUT, PAIRING};
use super::{Keys, failed, words};
use crate::doctor::is_card;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use crate::terminal::{self, plural, printable};

/// What an invitation does to a key that the device had before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Replaces {
    Nothing,
    OldKey,
}

impl Replaces {
    /// What the device answers with: `join` offers the key that it has.
    fn answer(self) -> &'static str {
        match self {
            Self::Nothing => "schwann keys join",
            Self::OldKey => "schwann keys rotate",
        }
    }
}

/// What came of a conversation.
enum Came {
    Candidate(TcpStream, Box<Candidate>),
    /// A wrong try, from where, and how many are left.
    Wrong(IpAddr, u8),
}

/// Conversations with devices about one invitation.
struct Conversations {
    invitation: Arc<Mutex<Invitation>>,
    came: Sender<Came>,
    coming: Receiver<Came>,
    places: Places,
}

impl Conversations {
    /// None yet.
    fn about(invitation: Invitation) -> Self {
        let (came, coming) = channel();
        Self { invitation: Arc::new(Mutex::new(invitation)), came, coming, places: Places::default() }
    }

    /// Waits for a device that knows the words, for `patience` at most.
    fn candidate(
        &mut self,
        entrance: &mut Entrance,
        patience: Duration,
        stop: &Stop,
    ) -> Result<(TcpStream, Box<Candidate>), Problem> {
        let deadline = Instant::now() + patience;
        while !stop.is_raised() {
            if Instant::now() >= deadline {
                return Err(Problem::Failed(String::from("no device came; run this again for new words")));
            }
            self.take_in(entrance);
            if let Some(candidate) = next(&self.coming)? {
                return Ok(candidate);
            }
        }
        Err(Problem::Failed(String::from("the invitation is withdrawn; no device was certified")))
    }

    /// Begins one with each device that waits at the entrance, as far as there is room.
    fn take_in(&mut self, entrance: &mut Entrance) {
        for _ in 0..AT_A_TIME {
            if self.places.is_full() {
                break;
            }
            let Some((link, from)) = entrance.next() else { break };
            if let Some(place) = self.places.take(from.ip()) {
                let (invitation, came) = (Arc::clone(&self.invitation), self.came.clone());
                let converse = move || {
                    let _place = place;
                    converse(link, &invitation, &came);
                };
                // Without a thread the connection ends, and the device asks again.
                let _ = thread::Builder::new().spawn(converse);
            }
        }
    }
}

impl Keys {
    /// Waits for one device that knows six words, for `patience` at most, and certifies it.
    ///
    /// `replaces` says whether the device with this name gets a new key, and its old one is revoked.
    pub(super) fn invite(
        &self,
        name: Option<&str>,
        replaces: Replaces,
        granted: Granted,
        patience: Duration,
    ) -> Outcome {
        if let Some(name) = name {
            super::device_name(name)?;
            self.refuse_number(name)?;
        }
        let authority = self.authority()?;
        if let (Some(name), Replaces::OldKey) = (name, replaces) {
            self.living(&authority.lab(), name)?;
        }
        let stop = stop::on_signals()?;
        let mut entrance = Entrance::open()?;
        let announced = wire::announce(PAIRING, entrance.port())?;
        let words = words::draw(words::PAIRING)?;
        let mut conversations = Conversations::about(Invitation::new(Words::new(&words)));
        show(&words, replaces, entrance.port(), patience)?;
        let candidate = conversations.candidate(&mut entrance, patience, &stop)?;
        drop(announced);
        self.admit(candidate, &authority, name, replaces, granted)
    }

    fn admit(
        &self,
        (mut link, candidate): (TcpStream, Box<Candidate>),
        authority: &AuthorityKey,
        name: Option<&str>,
        replaces: Replaces,
        granted: Granted,
    ) -> Outcome {
        let name = name.unwrap_or(candidate.name.as_str()).to_owned();
        let (device, screen) = (candidate.device, candidate.screen());
        // First of all: what the device gets then holds the list without its old key.
        let revoked = match replaces {
            Replaces::Nothing => Ok(Exit::Good),
            Replaces::OldKey => self.revoke_old(authority, &name, &device, granted),
        };
        let before = self.name_of(&authority.lab(), device);
        let certify = |_| self.certify(authority, device, &name, granted, Flags::NONE);
        let membership = revoked.and_then(certify).inspect_err(|_| {
            let _ = link.write_all(&refusal(PairingError::Declined));
        })?;
        let message = candidate.admit(&membership.to_bytes()).map_err(failed)?;
        link.write_all(&message).map_err(|error| not_handed_over(&name, &error))?;
        if let Some(before) = before.filter(|before| *before != name) {
            eprintln!("{} is called {} from now on.", printable(&before), printable(&name));
        }
        tell(&name, &membership, screen)?;
        Ok(Exit::Good)
    }

    /// Revokes the key of the device with this name, if `new` can take its place.
    fn revoke_old(&self, authority: &AuthorityKey, name: &str, new: &PublicKey, granted: Granted) -> Outcome {
        if self.living(&authority.lab(), name)? == *new {
            return Err(Problem::Failed(format!(
                "{name:?} offered the very key that is to be replaced, so nothing was revoked; run this again, and type the new \
                 words there into `schwann keys rotate`, which makes a new key"
            )));
        }
        // A key that no certificate can follow must not cost the device its old one.
        match self.why_revoked(new)? {
            Some(why) if !granted.again => Err(Problem::Failed(why)),
            _ => self.revoke_with(authority, Said::Name(name)),
        }
    }

    /// The name under which a device was certified last; nothing if it never was, or that cannot be read.
    fn name_of(&self, lab: &Lab, device: PublicKey) -> Option<String> {
        let certificates = self.certificates(lab).ok()?;
        let last = certificates.iter().rev().find(|one| one.statement.device == device)?;
        Some(last.statement.name.as_str().to_owned())
    }
}

fn not_handed_over(name: &str, error: &io::Error) -> Problem {
    Problem::with(printable(name), format_args!("{error}; it did not get its certificate: run this again"))
}

/// Says who is a member now, and what to compare.
fn tell(name: &str, membership: &Membership, screen: Screen) -> io::Result<()> {
    let Statement { serial, device, .. } = &membership.certificate.statement;
    let mut out = io::stdout().lock();
    writeln!(out, "{} is a member now, with certificate {serial}.", printable(name))?;
    writeln!(out, "  key        {}", device.fingerprint())?;
    writeln!(out, "Both screens show: {}", words::of_screen(screen))?;
    writeln!(out, "If the other one shows other words, run: schwann keys revoke {serial}")
}

/// Waits a moment for what came of a conversation.
fn next(coming: &Receiver<Came>) -> Result<Option<(TcpStream, Box<Candidate>)>, Problem> {
    match coming.recv_timeout(LOOK_EVERY) {
        Ok(Came::Candidate(link, candidate)) => Ok(Some((link, candidate))),
        Ok(Came::Wrong(from, 0)) => Err(Problem::Failed(format!(
            "the third wrong try, from {from}, ended the invitation; run this again for new words"
        ))),
        Ok(Came::Wrong(from, left)) => {
            eprintln!("schwann: wrong words from {from}; tries left: {left}");
            Ok(None)
        }
        Err(_) => Ok(None),
    }
}

/// Leads one conversation; a peer that does not keep to the protocol is left alone.
fn converse(mut link: TcpStream, invitation: &Mutex<Invitation>, came: &Sender<Came>) {
    let Ok(from) = link.peer_addr() else { return };
    // A listener that does not wait hands that on to its connections on some systems.
    let _ = link.set_nonblocking(false);
    let _ = link.set_write_timeout(Some(MESSAGE_TIMEOUT));
    let lock = || invitation.lock().unwrap_or_else(PoisonError::into_inner);
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    let judged = (|| {
        let first = wire::read(&mut link, deadline).ok()?;
        let answered = lock().answer(&first, &mut SystemEntropy);
        let (answered, second) = answered.map_err(|error| link.write_all(&refusal(error))).ok()?;
        link.write_all(&second).ok()?;
        let third = wire::read(&mut link, deadline).ok()?;
        let mut invitation = lock();
        Some((invitation.judge(answered, &third), invitation.tries_left()))
    })();
    // The other end of the channel is gone once a device has come.
    let _ = match judged {
        Some((Ok(candidate), _)) => came.send(Came::Candidate(link, Box::new(candidate))),
        Some((Err(error), left)) => {
            let _ = link.write_all(&refusal(error));
            match error {
                PairingError::WrongWords => came.send(Came::Wrong(from.ip(), left)),
                _ => Ok(()),
            }
        }
        None => Ok(()),
    };
}

fn show(words: &str, replaces: Replaces, port: u16, patience: Duration) -> io::Result<()> {
    let all = addresses();
    // One of IPv6 that is link-local has a zone, which has another name on every computer.
    let nameable = all.iter().filter(|ip| ip.is_ipv4() || !is_link_local(**ip));
    let places: Vec<_> = nameable.take(MOST_PLACES).map(|ip| SocketAddr::new(*ip, port)).collect();
    let mut out = io::stdout().lock();
    if let (true, Some(code)) = (out.is_terminal(), code(words, places.first().copied())) {
        writeln!(out, "{code}")?;
    }
    match replaces {
        Replaces::Nothing => {
            writeln!(out, "On the new computer, run `schwann keys join`, and type or scan there:")?;
        }
        Replaces::OldKey => writeln!(
            out,
            "On that device, run `schwann keys rotate` (`schwann keys join` if it has no key any more), and type or scan there:"
        )?,
    }
    writeln!(out, "\n  {words}\n")?;
    put_places(&mut out, &all, &places, replaces.answer())?;
    let minutes = usize::try_from(patience.as_secs().div_ceil(60)).unwrap_or(usize::MAX);
    writeln!(
        out,
        "The words hold for one device, {} and three tries. Show them to no one else.",
        plural(minutes, "minute")
    )?;
    out.flush()
}

/// Says where the other machine may look if it finds nothing by itself.
fn put_places(
    out: &mut impl io::Write,
    all: &[IpAddr],
    places: &[SocketAddr],
    answer: &str,
) -> io::Result<()> {
    if all.is_empty() {
        writeln!(out, "This computer has no network, so no other one reaches it; why: schwann doctor")?;
    } else if places.is_empty() {
        writeln!(
            out,
            "It must be on the same cable or switch: no address of this computer holds beyond it."
        )?;
    }
    for (number, place) in places.iter().enumerate() {
        let when = if number == 0 { "If it finds nothing" } else { "or                 " };
        writeln!(out, "{when}: {answer} --at {place}")?;
    }
    Ok(())
}

/// Words and place, for a scanner that types what it reads.
fn code(words: &str, place: Option<SocketAddr>) -> Option<String> {
    let text = place.map_or_else(|| words.to_owned(), |place| format!("{words} at {place}"));
    terminal::code(&text)
}

/// Addresses of this machine that others may reach, the likeliest first: of the way to the rest of the world, then of other
/// cards, then of bridges and tunnels, then those that no network gave.
fn addresses() -> Vec<IpAddr> {
    let Ok(all) = getifaddrs::getifaddrs() else { return Vec::new() };
    let versions = lab::config().ports.ip;
    let up = all.filter(|one| one.flags.contains(getifaddrs::InterfaceFlags::UP));
    let named = up.filter_map(|one| Some((one.address.ip_addr()?, is_card(&one.name))));
    let mut outward: Vec<_> = named.filter(|(ip, _)| !ip.is_loopback() && versions.allows(*ip)).collect();
    let usual =
        [way_out(Ipv4Addr::UNSPECIFIED, DOCUMENTATION), way_out(Ipv6Addr::UNSPECIFIED, DOCUMENTATION_6)];
    outward
        .sort_unstable_by_key(|&(ip, is_card)| (is_link_local(ip), !is_card, !usual.contains(&Some(ip)), ip));
    outward.into_iter().map(|(ip, _)| ip).collect()
}

/// Whether an address holds on one cable or switch alone.
fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// The address that this computer has on its way to others. Connecting a datagram socket looks up the way and sends nothing.
fn way_out(own: impl Into<IpAddr>, far: impl Into<IpAddr>) -> Option<IpAddr> {
    let socket = UdpSocket::bind((own.into(), 0)).ok()?;
    socket.connect((far.into(), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// An address of documentation, which no computer has (RFC 5737).
const DOCUMENTATION: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The same (RFC 3849).
const DOCUMENTATION_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// Places that are shown; more would only be read by mistake.
const MOST_PLACES: usize = 3;
/// Connections that are taken before it is looked what came of others.
const AT_A_TIME: usize = 256;
/// Meanwhile the system keeps some hundred connections; those behind them try again after a second.
const LOOK_EVERY: Duration = Duration::from_millis(5);
