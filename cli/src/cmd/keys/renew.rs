//! `schwann keys renew`, on a device and on the lab's machine: certificates go on before they expire.
//!
//! The lab's machine offers renewals while `schwann keys renew --serve` runs there; it is found as an invitation is. A
//! device asks when its certificate is valid for 30 days or less: by this command, or by itself while `schwann`, `record`
//! or `dash` runs.
//!
//! Source: pairing §7.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Instant;

use schwann::security::keys::alone;
use schwann::security::keys::store::{self, AUTHORITY, CERTIFICATE, DEVICE_KEY};
use schwann_session::keystore::Kind;
use schwann_session::renewal::{self, AHEAD, ANSWER, Declined};
use schwann_session::{AuthorityKey, Certificate, DeviceKey, Lab, Statement, SystemEntropy, UnixSeconds};

use super::places::Places;
use super::wire::{self, CONNECT_TIMEOUT, Entrance, MESSAGE_TIMEOUT, RENEWAL};
use super::{DAY, Keys, OWN_DAYS, device_of, failed, now};
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;
use crate::terminal::printable;

impl Keys {
    /// Renews this device's certificate.
    pub(super) fn renew(&self, at: Option<&str>) -> Outcome {
        let lab = self.lab()?;
        let old = self.certificate()?;
        let name = printable(old.statement.name.as_str()).into_owned();
        self.refuse_own_revoked()?;
        let left = days_left(&old);
        if left > AHEAD / DAY {
            writeln!(
                io::stdout().lock(),
                "The certificate of {name} is valid for {left} more days; it is renewed from 30 on."
            )?;
            return Ok(Exit::Good);
        }
        if self.path(AUTHORITY).exists() {
            let authority = self.authority()?;
            let _turn = self.turn()?;
            let certificate = self.prolong(&authority, &old.statement, OWN_DAYS)?;
            return self.took(&old, &certificate);
        }
        let key = device_of(&self.private(DEVICE_KEY, Kind::Device)?)?;
        let certificate = fetch(&key, &old, &lab, at)?;
        self.took(&old, &certificate)
    }

    /// Puts a certificate in the place of the one that it renews. Meanwhile another command may have given this device another key.
    fn replace(&self, old: &Certificate, new: &Certificate) -> Result<(), Problem> {
        let _alone = alone(&self.folder).map_err(failed)?;
        if self.certificate()?.encode() != old.encode() {
            return Err(failed("this device's certificate was replaced meanwhile; run this again"));
        }
        store::write_private(&self.path(CERTIFICATE), &new.encode()).map_err(failed)
    }

    fn took(&self, old: &Certificate, certificate: &Certificate) -> Outcome {
        self.replace(old, certificate)?;
        let (serial, left) = (certificate.statement.serial, days_left(certificate));
        writeln!(
            io::stdout().lock(),
            "Renewed: certificate {serial}, valid for {left} days. Programs that run use it for new connections."
        )?;
        Ok(Exit::Good)
    }

    /// A new certificate for the same key, name and roles.
    fn prolong(&self, authority: &AuthorityKey, old: &Statement, days: u64) -> Result<Certificate, Problem> {
        // One that was granted a moment ago is given again: a lost answer costs no serial.
        let lab = authority.lab();
        let known = self.certificates(&lab)?.into_iter().rev();
        let fresh = UnixSeconds(now().0 + AHEAD);
        let revoked = self.revoked(&lab)?;
        let same = |one: &Certificate| {
            let it = &one.statement;
            it.device == old.device && it.roles == old.roles && it.not_after > fresh && !revoked.puts_out(it)
        };
        if let Some(certificate) = known.into_iter().find(same) {
            return Ok(certificate);
        }
        let mut statement =
            super::statement(old.device, old.name.as_str(), self.next_serial(&lab)?, days, old.roles)?;
        statement.flags = old.flags;
        let certificate = authority.certify(statement);
        self.record(&certificate)?;
        Ok(certificate)
    }

    /// Renews certificates of others until the program is ended.
    pub(super) fn serve_renewals(&self, days: u64) -> Outcome {
        let authority = self.authority()?;
        let stop = stop::on_signals()?;
        let mut entrance = Entrance::open()?;
        let _announced = wire::announce(RENEWAL, entrance.port())?;
        writeln!(
            io::stdout().lock(),
            "Certificates are renewed from 30 days before they expire. Ctrl-C ends it."
        )?;
        let ((lines, shown), mut places) = (screen()?, Places::default());
        thread::scope(|scope| {
            while !stop.is_raised() {
                let next = if places.is_full() { None } else { entrance.next() };
                let Some((link, from)) = next else {
                    stop.wait(LOOK_EVERY);
                    continue;
                };
                let Some(place) = places.take(from.ip()) else { continue };
                let (lines, authority) = (lines.clone(), &authority);
                let attend = move || {
                    let _place = place;
                    if let Some(line) = self.attend(link, from, authority, days) {
                        // A screen that takes no more lines keeps no device from its certificate.
                        let _ = lines.try_send(line);
                    }
                };
                // Without a thread the connection ends, and the device asks again.
                let _ = thread::Builder::new().spawn_scoped(scope, attend);
            }
        });
        drop(lines);
        // It ends without a word as soon as all is shown. A screen that stands still is not waited for.
        let _ = shown.recv_timeout(SHORT);
        Ok(Exit::Good)
    }

    /// Answers one request, and returns what came of it. What goes wrong with it ends no other.
    fn attend(
        &self,
        link: TcpStream,
        from: SocketAddr,
        authority: &AuthorityKey,
        days: u64,
    ) -> Option<String> {
        match self.serve_one(link, authority, days) {
            Ok(answer) => answer.map(|answer| sentence(&answer, from)),
            Err(problem) => Some(format!("{} got no certificate: {problem}", from.ip())),
        }
    }

    /// Answers one request; a peer that sends anything else gets a reason. Nothing if the peer went away.
    fn serve_one(
        &self,
        mut link: TcpStream,
        authority: &AuthorityKey,
        days: u64,
    ) -> Result<Option<Result<Certificate, Declined>>, Problem> {
        // A listener that does not wait hands that on to its connections on some systems.
        let _ = link.set_nonblocking(false);
        let _ = link.set_write_timeout(Some(SHORT));
        let Ok(request) = wire::read(&mut link, Instant::now() + SHORT) else { return Ok(None) };
        let revoked = self.revoked(&authority.lab())?;
        let statement = match renewal::judge(authority, &revoked, &request, now()) {
            Ok(statement) => statement,
            Err(declined) => {
                let _ = link.write_all(&[declined.byte()]);
                return Ok(Some(Err(declined)));
            }
        };
        let certificate = {
            let _turn = self.turn()?;
            self.prolong(authority, &statement, days)?
        };
        let answer = renewal::grant(&certificate, &mut SystemEntropy);
        let answer = answer.ok_or_else(|| failed("the system gives no random bytes"))?;
        let sent = link.write_all(&[0]).and_then(|()| link.write_all(&answer));
        Ok(sent.is_ok().then_some(Ok(certificate)))
    }
}

/// Shows lines in a thread of its own: a screen may stand still, and no other thread waits for it.
///
/// The receiver's other end is dropped once all lines are shown.
fn screen() -> Result<(SyncSender<String>, Receiver<()>), Problem> {
    let (lines, coming) = sync_channel::<String>(LINES_AHEAD);
    let (done, shown) = channel::<()>();
    let show = move || {
        let _done = done;
        let mut told = String::new();
        for line in coming {
            // A device that asks again and again fills no screen.
            if line != told {
                let mut out = io::stdout().lock();
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
                told = line;
            }
        }
    };
    thread::Builder::new().name("screen".to_owned()).spawn(show).map_err(failed)?;
    Ok((lines, shown))
}

/// Asks every machine that offers renewals.
fn fetch(key: &DeviceKey, old: &Certificate, lab: &Lab, at: Option<&str>) -> Result<Certificate, Problem> {
    let places = wire::find(RENEWAL, at)?;
    if places.is_empty() {
        return Err(Problem::Failed(String::from(
            "the lab's authority does not answer; run `schwann keys renew --serve` on its computer, or renew without a \
             network: `schwann keys new-device`",
        )));
    }
    let mut last = failed("no computer renews for this lab");
    for place in places {
        let request = renewal::request(key, old, lab, now(), &mut SystemEntropy);
        let request = request.ok_or_else(|| failed("the system gives no random bytes"))?;
        match ask(place, &request) {
            Ok(Ok(answer)) => match renewal::open(key, old, lab, &answer) {
                Some(certificate) => return Ok(certificate),
                None => last = Problem::with(place, "it answers with a certificate for another device"),
            },
            Ok(Err(declined)) => last = Problem::with(place, why(declined)),
            Err(error) => last = unreached(place, &error),
        }
    }
    Err(last)
}

/// Asks one machine for a renewal.
///
/// - Errors: of the connection.
fn ask(place: SocketAddr, request: &[u8]) -> io::Result<Result<[u8; ANSWER], Declined>> {
    let mut link = TcpStream::connect_timeout(&place, CONNECT_TIMEOUT)?;
    link.set_write_timeout(Some(MESSAGE_TIMEOUT))?;
    link.write_all(request)?;
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    let [verdict] = wire::read::<1>(&mut link, deadline)?;
    if let Some(declined) = Declined::from_byte(verdict) {
        return Ok(Err(declined));
    }
    Ok(Ok(wire::read::<ANSWER>(&mut link, deadline)?))
}

fn unreached(place: SocketAddr, error: &io::Error) -> Problem {
    Problem::with(
        place,
        format_args!("{error}; does its firewall let this computer in? There: sudo schwann doctor"),
    )
}

/// What came of a request, for the person at the lab's machine.
fn sentence(answer: &Result<Certificate, Declined>, from: SocketAddr) -> String {
    match answer {
        Ok(certificate) => {
            let statement = &certificate.statement;
            let name = printable(statement.name.as_str());
            format!("{name} at {from} has certificate {} now", statement.serial)
        }
        Err(declined) => format!("{} got no certificate: {}", from.ip(), why_of(*declined)),
    }
}

/// The same for the person at the lab's machine.
fn why_of(declined: Declined) -> &'static str {
    match declined {
        Declined::Certificate => {
            "its certificate has expired, is revoked, or is another lab's: schwann keys issued"
        }
        Declined::Early => {
            "its certificate is valid for more than 30 days; if not by its clock, compare `date -u`"
        }
        Declined::Time => "its clock differs by more than five minutes; compare `date -u`",
        _ => "it asked for another lab",
    }
}

fn why(declined: Declined) -> &'static str {
    match declined {
        Declined::Certificate => {
            "this device's certificate has expired or is revoked; run `schwann keys join`"
        }
        Declined::Early => "the certificate is valid for more than 30 days by its clock; compare `date -u`",
        Declined::Time => {
            "the clocks of the two computers differ by more than five minutes; compare `date -u`"
        }
        _ => "it is another lab's authority",
    }
}

fn days_left(certificate: &Certificate) -> u64 {
    certificate.statement.not_after.0.saturating_sub(now().0) / DAY
}

/// Renews by itself, in the background, for as long as the program runs: it may begin long before the certificate needs it.
///
/// - `tells`: whether a renewal, or why there is none, goes to the standard error stream. A painted screen tells how long
///   the certificate is valid, and has no room for lines.
pub(crate) fn in_background(tells: bool) {
    let folder = store::folder();
    if !folder.join(CERTIFICATE).exists() {
        return;
    }
    // Without a thread the person renews.
    let _ = thread::Builder::new().name("renewal".to_owned()).spawn(move || {
        let keys = Keys { folder, unprotected: false };
        let mut told = String::new();
        loop {
            if let Some(days) = days_if_due(&keys.folder) {
                let what = match keys.renew_quietly() {
                    Ok(()) => String::from("this device's certificate was renewed"),
                    Err(problem) => {
                        format!(
                            "this device's certificate expires in {days} days, and was not renewed: {problem}"
                        )
                    }
                };
                if tells && what != told {
                    eprintln!("schwann: {what}");
                    told = what;
                }
            }
            thread::sleep(TRY_EVERY);
        }
    });
}

impl Keys {
    fn renew_quietly(&self) -> Result<(), Problem> {
        let (lab, old) = (self.lab()?, self.certificate()?);
        let seed = store::private(&self.path(DEVICE_KEY), Kind::Device).map_err(failed)?;
        let certificate = fetch(&device_of(&seed)?, &old, &lab, None)?;
        self.replace(&old, &certificate)
    }
}

/// Days for which the certificate in the folder is valid; nothing if that is long, or if it has expired.
fn days_if_due(folder: &Path) -> Option<u64> {
    let bytes = std::fs::File::open(folder.join(CERTIFICATE)).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(Certificate::LEN as u64 + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let certificate = bytes.ok().and_then(|bytes| Certificate::parse(bytes.as_slice().try_into().ok()?).ok());
    let left = |one: Certificate| one.statement.not_after.0.checked_sub(now().0);
    certificate.and_then(left).filter(|left| *left <= AHEAD).map(|left| left / DAY)
}

/// Requests are answered one after another, so none may take long.
const SHORT: Duration = Duration::from_secs(2);
const TRY_EVERY: Duration = Duration::from_secs(3600);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Lines that wait for the screen; more are not shown.
const LINES_AHEAD: usize = 64;
