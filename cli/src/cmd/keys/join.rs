//! `schwann keys join`: a new machine, six words, and it is a member.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use schwann::security::keys::alone;
use schwann::security::keys::store::{self, DEVICE_KEY};
use schwann_recorder::words::quoted;
use schwann_session::keystore::Kind;
use schwann_session::pairing::{
    Awaiting, Joining, MESSAGE_2, MESSAGE_4_HEAD, PairingError, TRIES, Words, refused,
};
use schwann_session::{DeviceKey, DeviceName, SystemEntropy};
use zeroize::Zeroizing;

use super::issued::is_number;
use super::text::{Membership, Secret};
use super::wire::{self, CONNECT_TIMEOUT, MESSAGE_TIMEOUT, PAIRING};
use super::words::{self, Typed};
use super::{Keys, device_name, device_of, failed};
use crate::exit::{Outcome, Problem};
use crate::terminal::printable;

/// This machine's key, and how it will be kept.
struct Own {
    key: DeviceKey,
    name: DeviceName,
    /// Nothing if the key is on disk already.
    fresh: Option<Option<Secret>>,
}

impl Keys {
    /// Joins the lab whose machine shows six words.
    pub(super) fn join(&self, name: Option<&str>, at: Option<&str>) -> Outcome {
        let name = name.map(str::to_owned).or_else(|| self.present_name()).unwrap_or_else(host_name);
        self.refuse_number(&name)?;
        let own = self.own(device_name(&name)?)?;
        self.try_to_store()?;
        let membership = self.paired(&own, at)?;
        self.joined(membership, &own)
    }

    /// Gives a machine that is a member already a new key, by an invitation that revokes its old one.
    pub(super) fn rotate_member(&self, at: Option<&str>) -> Outcome {
        let (lab, old) = (self.lab()?, self.certificate()?.statement);
        self.refuse_own_revoked()?;
        eprintln!(
            "On the lab's computer, run: schwann keys invite --replace {}",
            quoted(&printable(old.name.as_str()))
        );
        let key = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let fresh = Some(self.new_passphrase("a passphrase for the new key")?);
        let own = Own { key, name: old.name, fresh };
        let membership = self.paired(&own, at)?;
        if membership.lab.id() != lab.id() {
            return Err(failed("that invitation is another lab's; nothing was installed"));
        }
        if membership.revoked.puts_out(&old) {
            eprintln!("This computer's old key, certificate {}, is revoked.", old.serial);
        } else {
            eprintln!(
                "schwann: the old key, certificate {}, is NOT revoked; on the lab's computer: schwann keys revoke {}",
                old.serial, old.serial
            );
        }
        self.joined(membership, &own)
    }

    /// Refuses to begin where a membership could not be stored: the invitation would be used up for nothing.
    fn try_to_store(&self) -> Result<(), Problem> {
        let missing: Vec<_> = self.folder.ancestors().take_while(|folder| !folder.exists()).collect();
        let path = self.path("join.try");
        let tried = store::write_private(&path, &[0; MEMBERSHIP_ROOM]);
        // Wrong words then leave nothing behind.
        let _ = fs::remove_file(&path);
        missing.into_iter().for_each(|folder| _ = fs::remove_dir(folder));
        tried.map_err(failed)
    }

    /// Asks for the words, until they fit an invitation.
    fn paired(&self, own: &Own, at: Option<&str>) -> Result<Membership, Problem> {
        for left in (0..TRIES).rev() {
            let Typed { words, place } = match words::read(&ask()?) {
                Ok(typed) => typed,
                Err(Problem::Failed(complaint)) if left > 0 && io::stdin().is_terminal() => {
                    eprintln!("schwann: {complaint}");
                    continue;
                }
                Err(problem) => return Err(problem),
            };
            match self.pair(&words, at.or(place.as_deref()), own)? {
                Ok(membership) => return Ok(membership),
                Err(PairingError::WrongWords) if left > 0 && io::stdin().is_terminal() => {
                    eprintln!("schwann: {}; compare them with the other screen", PairingError::WrongWords);
                }
                Err(error) => return Err(ended(error, own)),
            }
        }
        Err(ended(PairingError::Ended, own))
    }

    /// The key that is here, or a new one.
    fn own(&self, name: DeviceName) -> Result<Own, Problem> {
        if self.path(DEVICE_KEY).exists() {
            self.refuse_own_revoked()?;
            let key = device_of(&self.private(DEVICE_KEY, Kind::Device)?)?;
            return Ok(Own { key, name, fresh: None });
        }
        let key = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let fresh = Some(self.new_passphrase("a passphrase for this computer's key")?);
        Ok(Own { key, name, fresh })
    }

    /// Tries every invitation that is there: the words fit one.
    fn pair(
        &self,
        words: &Words,
        at: Option<&str>,
        own: &Own,
    ) -> Result<Result<Membership, PairingError>, Problem> {
        let places = wire::find(PAIRING, at)?;
        if places.is_empty() {
            return Err(Problem::Failed(match at {
                Some(at) => format!(
                    "no invitation answers at {at}: is that computer on, does `schwann keys invite` run there, and do TCP 16572 to \
                     16603 pass its firewall?"
                ),
                None => String::from(
                    "no invitation was found; run `schwann keys invite` on the lab's computer, and if it runs, use the line \
                     `--at` that it shows",
                ),
            }));
        }
        let mut last = None;
        for place in places {
            match converse(place, words, own) {
                Ok(Ok(membership)) => return Ok(Ok(membership)),
                Ok(Err(error)) => last = Some(Ok(Err(error))),
                Err(error) if last.is_none() => last = Some(Err(unreached(place, &error))),
                Err(_) => {}
            }
        }
        last.unwrap_or(Ok(Err(PairingError::Malformed)))
    }

    fn joined(&self, membership: Membership, own: &Own) -> Outcome {
        if membership.certificate.statement.device != own.key.public() {
            return Err(failed(
                "the lab's computer certified another key than this computer's; nothing was installed",
            ));
        }
        let left = self.keep_authority(&membership.lab)?;
        let before = self.present_name();
        let alone = alone(&self.folder).map_err(failed)?;
        if let Some(passphrase) = &own.fresh {
            let passphrase = passphrase.as_ref().map(|passphrase| passphrase.as_slice());
            store::write_key(&self.path(DEVICE_KEY), own.key.seed().as_slice(), Kind::Device, passphrase)
                .map_err(failed)?;
        }
        self.install_membership(&membership)?;
        drop(alone);
        left.inspect(|left| eprintln!("{left}"));
        self.tell_renamed(before);
        // Its passphrase was typed a moment ago. Where there is no memory for an open key, the next lines say so.
        let opened = store::unlock(&self.path(DEVICE_KEY), own.key.seed().as_slice()).is_ok();
        let outcome = self.installed();
        if opened && !self.unprotected {
            writeln!(
                io::stdout().lock(),
                "The key is open until you log out or the computer restarts; then: schwann keys unlock"
            )?;
        }
        outcome
    }
}

/// Leads the conversation with one lab's machine.
///
/// - Errors: of the connection.
fn converse(place: SocketAddr, words: &Words, own: &Own) -> io::Result<Result<Membership, PairingError>> {
    let mut link = TcpStream::connect_timeout(&place, CONNECT_TIMEOUT)?;
    link.set_write_timeout(Some(MESSAGE_TIMEOUT))?;
    let awaiting = match prove(&mut link, words, own)? {
        Ok(awaiting) => awaiting,
        Err(error) => return Ok(Err(error)),
    };
    let screen = words::of_screen(awaiting.screen());
    let membership = receive(&mut link, awaiting)?;
    if membership.is_ok() {
        let mut out = io::stdout().lock();
        writeln!(out, "Both screens show: {screen}")?;
    }
    Ok(membership)
}

/// Proves to the lab's machine that this one knows the words, once it has proved the same.
fn prove(link: &mut TcpStream, words: &Words, own: &Own) -> io::Result<Result<Awaiting, PairingError>> {
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    let (joining, first) = match Joining::begin(words, &mut SystemEntropy) {
        Ok(begun) => begun,
        Err(error) => return Ok(Err(error)),
    };
    link.write_all(&first)?;
    // An ended invitation answers with one byte.
    let mut second = [0; MESSAGE_2];
    if let Err(error) = wire::read_into(link, &mut second, deadline) {
        let [first, ..] = second;
        let ended =
            error.kind() == io::ErrorKind::UnexpectedEof && refused(first) == Some(PairingError::Ended);
        return if ended { Ok(Err(PairingError::Ended)) } else { Err(error) };
    }
    let (awaiting, third) = match joining.prove(&second, &own.key, &own.name) {
        Ok(proved) => proved,
        Err(error) => return Ok(Err(error)),
    };
    link.write_all(&third)?;
    Ok(Ok(awaiting))
}

/// Takes what the lab's machine gives once it has certified this one.
fn receive(link: &mut TcpStream, awaiting: Awaiting) -> io::Result<Result<Membership, PairingError>> {
    let deadline = Instant::now() + CERTIFYING;
    let [verdict] = wire::read::<1>(link, deadline)?;
    if let Some(error) = refused(verdict) {
        return Ok(Err(error));
    }
    let mut head = [verdict; MESSAGE_4_HEAD];
    wire::read_into(link, head.get_mut(1..).unwrap_or_default(), deadline)?;
    let length = match awaiting.head(&head) {
        Ok(length) => length,
        Err(error) => return Ok(Err(error)),
    };
    let mut sealed = vec![0; length];
    wire::read_into(link, &mut sealed, deadline)?;
    let opened = awaiting.open(&head, &sealed);
    Ok(opened.and_then(|bytes| Membership::parse(&bytes).ok_or(PairingError::Malformed)))
}

/// Asks for the words, or takes them from what is piped in.
fn ask() -> Result<Zeroizing<String>, Problem> {
    if io::stdin().is_terminal() {
        eprint!("The six words: ");
        io::stderr().flush()?;
    }
    let mut line = Zeroizing::new(String::with_capacity(LONGEST));
    let read = io::stdin().lock().read_line(&mut line).map_err(failed)?;
    if read == 0 {
        return Err(Problem::Failed(String::from(
            "the six words are needed; `schwann keys invite` on the lab's computer shows them",
        )));
    }
    Ok(line)
}

fn unreached(place: SocketAddr, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Problem::with(
            place,
            "no invitation waits there any more; run `schwann keys invite` on the lab's computer, and type the new words",
        ),
        _ => Problem::with(
            place,
            format_args!(
                "{error}; does the firewall there let TCP 16572 to 16603 in? On that computer: sudo schwann doctor"
            ),
        ),
    }
}

fn ended(error: PairingError, own: &Own) -> Problem {
    let what_to_do = match error {
        PairingError::Malformed | PairingError::NoEntropy => "nothing was installed",
        // The key that was offered is the one from before.
        PairingError::Declined if own.fresh.is_none() => {
            "its screen says why; nothing was installed. A member gets a new key by `schwann keys rotate`"
        }
        PairingError::Declined => "its screen says why; nothing was installed",
        _ => "run `schwann keys invite` there again for new words",
    };
    Problem::Failed(format!("{error}; {what_to_do}"))
}

/// What this computer is called, as a device's name.
pub(super) fn host_name() -> String {
    match schwann::host_name() {
        name if name.is_empty() => String::from("new computer"),
        name if is_number(&name) => format!("computer {name}"),
        name => name,
    }
}

/// What a membership takes on the disk at least, in bytes, with the sizes of blocks.
const MEMBERSHIP_ROOM: usize = 32 << 10;
/// Time that the lab's machine may take to certify.
const CERTIFYING: Duration = Duration::from_secs(30);

/// Room for a line, so that it is not moved while it is read.
const LONGEST: usize = 512;
