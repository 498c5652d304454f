//! What the lab's machine does: it certifies devices.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use schwann::security::keys::store::{self, AUTHORITY};
use schwann_session::keystore::Kind;
use schwann_session::{AuthorityKey, DeviceKey, Flags, Lab, PublicKey, Roles, SystemEntropy};
use schwann_session::{envelope, key_slots, provision};

use super::text::{self, Secret};
use super::{Keys, damaged, device_name, failed, is_new, statement};
use crate::exit::{Exit, Outcome, Problem};
use crate::terminal::printable;

/// What a certificate grants.
#[derive(Clone, Copy)]
pub(super) struct Granted {
    pub(super) days: u64,
    pub(super) roles: Roles,
    /// Also to a key that was revoked.
    pub(super) again: bool,
    /// Without a question.
    pub(super) yes: bool,
}

impl Keys {
    /// Certifies another machine that printed its request; the answer may go by mail.
    pub(super) fn issue(&self, request: &str, granted: Granted) -> Outcome {
        self.answer(
            request,
            granted,
            Flags::NONE,
            "Run `schwann keys trust` on the new computer, and paste these lines there.\n\
             That computer alone can open them, so they may go by mail.",
        )
    }

    /// Certifies a microcontroller that printed its request, and prints what to paste into its serial line.
    pub(super) fn issue_device(&self, request: &str, granted: Granted) -> Outcome {
        self.answer(
            request,
            granted,
            Flags::CLASSIC,
            "Paste these lines into the device's serial line. They hold the key that the lab's streams are found\n\
             with, so show them to no one else.",
        )
    }

    /// Certifies what asked, and prints what to do with the lines that follow, and these.
    fn answer(&self, request: &str, granted: Granted, flags: Flags, what_to_do: &str) -> Outcome {
        let (device, name) = requested(request)?;
        self.needs_authority()?;
        agree(&device, &name, granted)?;
        let membership = self.certify(&self.authority()?, device, &name, granted, flags)?;
        let mut out = io::stdout().lock();
        let serial = membership.certificate.statement.serial;
        let name = printable(&name);
        writeln!(out, "Certificate {serial} for {name}, {}.\n{what_to_do}", device.fingerprint())?;
        let content = membership.to_bytes();
        let lines = match flags == Flags::CLASSIC {
            true => text::to_lines(&content)?,
            false => {
                let sealed = envelope::seal(&device, &content, &mut SystemEntropy);
                text::to_lines(&sealed.ok_or_else(|| failed("this request holds no key of a device"))?)?
            }
        };
        out.write_all(lines.as_bytes())?;
        Ok(Exit::Good)
    }

    /// Makes a microcontroller's key and writes an image of its key store.
    pub(super) fn issue_image(&self, name: &str, file: &Path, granted: Granted) -> Outcome {
        is_new(file)?;
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let membership = self.certify(&self.authority()?, device.public(), name, granted, Flags::CLASSIC)?;
        let mut content = Secret::new(vec![0; KEY_STORE_LEN]);
        let content =
            provision::join(&device.seed(), &membership.to_bytes(), &mut content).map_err(failed)?;
        let mut image = Secret::new(vec![0; KEY_STORE_LEN]);
        let len =
            key_slots::image(content, &mut image).ok_or_else(|| failed("the revocation list is too long"))?;
        store::write_private(file, image.get(..len).unwrap_or_default()).map_err(failed)?;
        let mut out = io::stdout().lock();
        let serial = membership.certificate.statement.serial;
        writeln!(out, "Certificate {serial} for {name}, {}.", device.public().fingerprint())?;
        writeln!(
            out,
            "{} holds its private key: flash it into the first slot of the device's",
            file.display()
        )?;
        writeln!(out, "key store, erase the second, and delete the file.")?;
        Ok(Exit::Good)
    }

    /// Certifies a device under the next serial.
    pub(super) fn certify(
        &self,
        authority: &AuthorityKey,
        device: PublicKey,
        name: &str,
        granted: Granted,
        flags: Flags,
    ) -> Result<text::Membership, Problem> {
        // First of all: a name that no certificate can hold costs no serial.
        device_name(name)?;
        self.refuse_number(name)?;
        let _turn = self.turn()?;
        let lab = authority.lab();
        self.refuse_taken_name(&lab, &device, name)?;
        let (discovery, revoked) = (self.discovery(&lab)?, self.revoked(&lab)?);
        let Granted { days, roles, again, .. } = granted;
        let flags = match self.why_revoked(&device)? {
            None => flags,
            Some(_) if again => flags.with(Flags::COME_BACK),
            Some(why) => return Err(Problem::Failed(why)),
        };
        let mut statement = statement(device, name, self.next_serial(&lab)?, days, roles)?;
        statement.flags = flags;
        let certificate = authority.certify(statement);
        self.record(&certificate)?;
        Ok(text::Membership { lab, certificate, discovery, revoked })
    }

    /// Refuses what only the lab's machine can do on any other.
    pub(super) fn needs_authority(&self) -> Result<(), Problem> {
        if self.path(AUTHORITY).exists() {
            return Ok(());
        }
        self.needs_lab()?;
        Err(Problem::Failed(String::from(
            "the lab's authority is not on this computer; run this where `schwann keys init` was run, or `schwann keys \
             recover` since",
        )))
    }

    pub(super) fn authority(&self) -> Result<AuthorityKey, Problem> {
        self.needs_authority()?;
        let seed = self.private(AUTHORITY, Kind::Authority)?;
        let seed = seed.as_slice().try_into().map_err(|_| damaged(&self.path(AUTHORITY)))?;
        Ok(AuthorityKey::from_seed(seed))
    }

    /// Waits until no other process issues or revokes here; others wait until the file is dropped.
    pub(super) fn turn(&self) -> Result<File, Problem> {
        let file = File::open(self.path(AUTHORITY)).map_err(failed)?;
        file.lock().map_err(failed)?;
        // `backup --move` may have taken it away meanwhile.
        self.needs_authority()?;
        Ok(file)
    }

    /// The number of the last certificate issued here.
    pub(super) fn last_serial(&self, lab: &Lab) -> Result<u64, Problem> {
        let (path, issued) = (self.path(SERIAL), self.certificates(lab)?);
        let last = match std::fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| damaged(&path))?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Problem::with(path.display(), error));
            }
            // The file comes with the second certificate. If it was lost since, no number is given twice.
            Err(_) if issued.len() > 1 => lane()?,
            Err(_) => 1,
        };
        // The record may know more than the file: a backup was joined with an older folder.
        let on_record = issued.iter().map(|certificate| certificate.statement.serial);
        Ok(on_record.filter(|serial| serial / LANE == last / LANE).fold(last, u64::max))
    }

    pub(super) fn next_serial(&self, lab: &Lab) -> Result<u64, Problem> {
        let serial = self.last_serial(lab)? + 1;
        store::write_private(&self.path(SERIAL), serial.to_string().as_bytes()).map_err(failed)?;
        Ok(serial)
    }
}

/// Asks the person before a device is certified: a request may come from anybody.
fn agree(device: &PublicKey, name: &str, granted: Granted) -> Result<(), Problem> {
    if granted.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(failed(
            "there is no terminal to ask at; compare the key with that of the device, and add --yes",
        ));
    }
    let may = super::issued::may(granted.roles);
    eprintln!("Certify {} for {} days ({may})?", printable(name), granted.days);
    eprintln!("  key        {}", device.fingerprint());
    match super::passphrase::confirm("Does the device show the same key? [y/N] ")? {
        true => Ok(()),
        false => Err(failed("not certified; nothing was written")),
    }
}

fn requested(request: &str) -> Result<(PublicKey, String), Problem> {
    text::parse_request(request).ok_or_else(|| {
        Problem::Failed(String::from("this is no request; copy the whole line that the device printed"))
    })
}

/// A beginning for this machine's serials that is no other's, but by chance.
pub(super) fn lane() -> Result<u64, Problem> {
    let mut random = [0; 2];
    getrandom::fill(&mut random).map_err(failed)?;
    Ok(u64::from(u16::from_le_bytes(random) % LANES + 1) * LANE)
}

/// Room for the key store of a microcontroller, in bytes: one slot of flash.
const KEY_STORE_LEN: usize = 4096;
/// Serials of one machine that has the authority; another one begins elsewhere.
pub(super) const LANE: u64 = 1_000_000;
/// Machines' beginnings to choose from.
const LANES: u16 = 9_999;
/// The number of the last certificate that was issued, beside the authority's key.
pub(super) const SERIAL: &str = "authority.serial";
