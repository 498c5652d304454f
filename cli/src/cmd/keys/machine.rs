//! What a machine does with keys of its own: it gets them, shows them, hands them on and opens them.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use schwann::security::TrustError;
use schwann::security::keys::store::{self, AUTHORITY, CERTIFICATE, DEVICE_KEY, LAB};
use schwann::security::keys::{alone, install_list, weaknesses};
use schwann_session::keystore::{self, Bundle, Cost, Kind};
use schwann_session::{DeviceKey, Lab, PublicKey, SystemEntropy, envelope};

use super::founding::LAB_LOST;
use super::text::{self, Membership, Secret};
use super::{DAY, Keys, device_name, device_of, failed, is_new, now, passphrase};
use crate::exit::{Exit, Outcome, Problem};
use crate::sys;
use crate::terminal::printable;

impl Keys {
    pub(super) fn status(&self) -> Outcome {
        self.show()?;
        let mut weaknesses = weaknesses(&self.folder);
        // If it cannot be told, what cannot be read was said above.
        weaknesses.extend(self.forgotten_by_list().unwrap_or_default());
        let mut out = io::stdout().lock();
        for weakness in &weaknesses {
            writeln!(out, "unsafe     {weakness}")?;
        }
        Ok(if in_force().is_ok() && weaknesses.is_empty() { Exit::Good } else { Exit::Found })
    }

    /// Shows what is in force now that keys were installed, and what is left to do.
    pub(super) fn installed(&self) -> Outcome {
        self.show()?;
        match in_force() {
            Ok(()) => Ok(Exit::Good),
            Err(TrustError::Locked(_)) => {
                writeln!(io::stdout().lock(), "{}", sys::files::OPEN_KEY)?;
                Ok(Exit::Good)
            }
            Err(_) => Ok(Exit::Found),
        }
    }

    fn show(&self) -> Result<(), Problem> {
        let mut out = io::stdout().lock();
        writeln!(out, "keys       {}", self.folder.display())?;
        match self.path(LAB).exists() {
            true => {
                if let Err(problem) = self.put_lab(&mut out) {
                    let next = "a command that was broken off goes on if it is run again";
                    writeln!(out, "UNREADABLE {problem}; {next}")?;
                }
            }
            false if self.has_lost_lab() => writeln!(out, "lab        {LAB_LOST}")?,
            false => {
                writeln!(
                    out,
                    "lab        none; `schwann keys init` creates one, `schwann keys join` joins one"
                )?;
            }
        }
        if let Ok(certificate) = self.certificate() {
            let statement = certificate.statement;
            writeln!(out, "device     {} (certificate {})", statement.name.as_str(), statement.serial)?;
            writeln!(out, "key        {}", statement.device.fingerprint())?;
            writeln!(out, "valid      {} more days", statement.not_after.0.saturating_sub(now().0) / DAY)?;
        }
        Ok(put_trust(&mut out)?)
    }

    fn put_lab(&self, out: &mut impl io::Write) -> Result<(), Problem> {
        let lab = self.lab()?;
        writeln!(out, "lab        {}", lab.authority().fingerprint())?;
        let authority =
            if self.path(AUTHORITY).exists() { "this computer can issue and revoke" } else { "elsewhere" };
        writeln!(out, "authority  {authority}")?;
        writeln!(out, "revoked    list {}", self.revoked(&lab)?.number())?;
        Ok(())
    }

    pub(super) fn new_device(&self, name: &str) -> Outcome {
        self.refuse_number(name)?;
        let name = device_name(name)?;
        if self.path(DEVICE_KEY).exists() {
            return self.same_device(name.as_str());
        }
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let passphrase = self.new_passphrase("a passphrase for this computer's key")?;
        let _alone = alone(&self.folder).map_err(failed)?;
        // Another command may have made one meanwhile.
        if self.path(DEVICE_KEY).exists() {
            return self.same_device(name.as_str());
        }
        let seed = device.seed();
        store::write_key(
            &self.path(DEVICE_KEY),
            seed.as_slice(),
            Kind::Device,
            passphrase.as_ref().map(|passphrase| passphrase.as_slice()),
        )
        .map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "This computer's key is made; it never leaves it.")?;
        Ok(put_request(&mut out, &device.public(), name.as_str())?)
    }

    /// Shows the request for a key that is there: its certificate is to be renewed, or the first request was lost.
    fn same_device(&self, name: &str) -> Outcome {
        self.refuse_own_revoked()?;
        let key = match self.own_key() {
            Some(key) => key,
            None => device_of(&self.private(DEVICE_KEY, Kind::Device)?)?.public(),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "This computer has a key already; a new certificate for it replaces the one before.")?;
        Ok(put_request(&mut out, &key, name)?)
    }

    /// Refuses to go on with a key that is out.
    pub(super) fn refuse_own_revoked(&self) -> Result<(), Problem> {
        match (self.lab(), self.certificate()) {
            (Ok(lab), Ok(certificate)) if self.revoked(&lab)?.puts_out(&certificate.statement) => {
                let next = match self.path(AUTHORITY).exists() {
                    // The lab is lost with this folder.
                    true => "`schwann keys rotate` gives it a new one",
                    false => "put this folder away, and run `schwann keys join` for a new one",
                };
                let what = format_args!("this computer's key has been revoked; {next}");
                Err(Problem::with(self.folder.display(), what))
            }
            _ => Ok(()),
        }
    }

    /// This machine's public key, if it has a key and that can be told without asking for a passphrase.
    fn own_key(&self) -> Option<PublicKey> {
        let seed = store::private(&self.path(DEVICE_KEY), Kind::Device).ok();
        let opened = seed.and_then(|seed| device_of(&seed).ok()).map(|device| device.public());
        opened.or_else(|| self.certificate().ok().map(|certificate| certificate.statement.device))
    }

    pub(super) fn trust(&self) -> Outcome {
        let membership = self.pasted()?;
        let lab = membership.lab;
        let left = self.keep_authority(&lab)?;
        let before = self.present_name();
        let is_renewed = before.is_some();
        self.install_membership(&membership)?;
        left.inspect(|left| eprintln!("{left}"));
        self.tell_renamed(before);
        let mut out = io::stdout().lock();
        writeln!(out, "This computer is a member of the lab {}.", lab.authority().fingerprint())?;
        if is_renewed {
            writeln!(out, "Programs that run use this certificate for new connections from now on.")?;
        }
        drop(out);
        self.installed()
    }

    /// Reads what `schwann keys issue` printed for this machine's key.
    fn pasted(&self) -> Result<Membership, Problem> {
        if !self.path(DEVICE_KEY).exists() {
            return Err(Problem::Failed(String::from(
                "there is no key on this computer yet; run `schwann keys new-device NAME`, and let the lab's computer issue \
                 a certificate for what that prints",
            )));
        }
        let bytes = self.pasted_bytes()?;
        let membership = Membership::parse(&bytes).ok_or_else(text::no_membership)?;
        let key = membership.certificate.statement.device;
        if self.own_key().is_some_and(|own| own != key) {
            return Err(Problem::Failed(format!(
                "this certificate is for another key, {}; run `schwann keys issue` for what `schwann keys new-device` \
                 prints here",
                key.fingerprint()
            )));
        }
        Ok(membership)
    }

    /// The bytes of a membership, opened if they were sealed for this machine's key.
    fn pasted_bytes(&self) -> Result<Secret, Problem> {
        let mut key = None;
        if io::stdin().is_terminal() {
            // Asked for before: the end of what is pasted must not count as a passphrase.
            key = Some(self.private(DEVICE_KEY, Kind::Device)?);
            eprintln!("Paste the lines that `schwann keys issue` printed on the lab's computer:");
        }
        let bytes = text::read_lines(&mut io::stdin().lock())?;
        if !envelope::is_envelope(&bytes) {
            return Ok(bytes);
        }
        let key = key.map_or_else(|| self.private(DEVICE_KEY, Kind::Device), Ok)?;
        opened(&device_of(&key)?, &bytes)
    }

    /// The name that this machine has as a member.
    pub(super) fn present_name(&self) -> Option<String> {
        self.certificate().ok().map(|certificate| certificate.statement.name.as_str().to_owned())
    }

    /// Says so if this machine has another name than before.
    pub(super) fn tell_renamed(&self, before: Option<String>) {
        if let (Some(before), Some(now)) = (before, self.present_name())
            && before != now
        {
            eprintln!("This computer was called {}; it is now {}.", printable(&before), printable(&now));
        }
    }

    /// Writes everything of a membership but the private key.
    pub(super) fn install_membership(&self, membership: &Membership) -> Result<(), Problem> {
        let Membership { lab, certificate, discovery, revoked } = membership;
        store::write_private(&self.path(LAB), &lab.authority().0).map_err(failed)?;
        store::write_private(&self.path(CERTIFICATE), &certificate.encode()).map_err(failed)?;
        install_list(&self.folder, lab, revoked, discovery).map_err(failed)
    }

    pub(super) fn export(&self, file: &Path) -> Outcome {
        is_new(file)?;
        let seed = self.private(DEVICE_KEY, Kind::Device)?;
        let lab = self.lab()?;
        let bundle = Bundle {
            certificate: self.certificate()?,
            device: device_of(&seed)?,
            discovery: self.discovery(&lab)?,
            revoked: self.revoked(&lab)?,
            lab,
        };
        let passphrase = passphrase::fresh("a passphrase for the file")?;
        let sealed =
            keystore::seal(Kind::Bundle, &bundle.encode(), &passphrase, Cost::default(), &mut SystemEntropy)
                .map_err(failed)?;
        store::write_private(file, &sealed).map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{} holds this computer's identity. On each other computer, run:", file.display())?;
        writeln!(out, "  schwann keys import {}", file.display())?;
        writeln!(
            out,
            "Computers that share an identity cannot be revoked one by one; see `schwann keys new-device`."
        )?;
        Ok(Exit::Good)
    }

    pub(super) fn import(&self, file: &Path) -> Outcome {
        let exported = "take the file that `schwann keys export` wrote on another computer";
        let not_there = |error| Problem::with(file.display(), format_args!("{error}; {exported}"));
        let sealed = std::fs::read(file).map_err(not_there)?;
        if keystore::kind_of(&sealed) != Some(Kind::Bundle) {
            return Err(Problem::with(file.display(), format_args!("it holds no identity; {exported}")));
        }
        let open = |passphrase: &[u8]| store::open(file, &sealed, Kind::Bundle, passphrase);
        let (content, passphrase) = passphrase::opens("the file's passphrase", open)?;
        let bundle = Bundle::parse(&content).map_err(failed)?;
        let left = self.keep_authority(&bundle.lab)?;
        if left.is_none() && self.own_key().is_some_and(|own| own != bundle.device.public()) {
            let why = "this computer has a key of its own, which the file would replace; put this folder away first";
            return Err(Problem::with(self.folder.display(), why));
        }
        let own = if self.unprotected { None } else { Some(passphrase.as_slice()) };
        store::install(&self.folder, &bundle, own).map_err(failed)?;
        left.inspect(|left| eprintln!("{left}"));
        self.installed()
    }

    pub(super) fn unlock(&self) -> Outcome {
        let seed = self.private(DEVICE_KEY, Kind::Device)?;
        store::unlock(&self.path(DEVICE_KEY), &seed).map_err(failed)?;
        writeln!(
            io::stdout().lock(),
            "This user's programs can seal streams until this user logs out or the computer restarts."
        )?;
        Ok(Exit::Good)
    }

    /// Refuses to let this machine join `lab` if that would leave the authority of another one behind. Returns what is to be
    /// said once it has joined, if it leaves another lab.
    pub(super) fn keep_authority(&self, lab: &Lab) -> Result<Option<String>, Problem> {
        if self.has_lost_lab() {
            return Err(Problem::with(self.folder.display(), LAB_LOST));
        }
        let Some(other) = self.lab().ok().filter(|own| own.id() != lab.id()) else { return Ok(None) };
        if self.path(AUTHORITY).exists() {
            return Err(Problem::with(
                self.folder.display(),
                "the authority of another lab is kept here; put this folder away before the computer joins a lab",
            ));
        }
        let [other, new] = [other.authority(), lab.authority()].map(|authority| authority.fingerprint());
        Ok(Some(format!("This computer has left the lab {other} for {new}.")))
    }

    /// A passphrase for new keys; none if none is wanted.
    pub(super) fn new_passphrase(&self, what: &str) -> Result<Option<Secret>, Problem> {
        if self.unprotected { Ok(None) } else { passphrase::fresh(what).map(Some) }
    }
}

/// Opens what was sealed for this machine's key.
fn opened(key: &DeviceKey, sealed: &[u8]) -> Result<Secret, Problem> {
    envelope::open(key, sealed).ok_or_else(|| {
        Problem::Failed(format!(
            "this certificate is for another key than this computer's, {}; run `schwann keys issue` for what \
             `schwann keys new-device` prints here",
            key.public().fingerprint()
        ))
    })
}

/// Whether this machine can do what its policy asks for.
fn in_force() -> Result<(), TrustError> {
    crate::lab::config().trust()?.check()
}

/// Says what is in force, and its exceptions.
fn put_trust(out: &mut impl io::Write) -> io::Result<()> {
    let trust = crate::lab::config().trust();
    writeln!(out, "in force   {}", schwann::security::summary(&trust))?;
    let Ok(trust) = trust else { return Ok(()) };
    if let Some(condition) = trust.admitted().condition() {
        writeln!(out, "plain      {}; anybody can read these and send in their names", printable(condition))?;
    }
    for pin in trust.pins().iter() {
        writeln!(out, "pinned     {}", printable(&pin.to_string()))?;
    }
    Ok(())
}

/// Says what to run on the lab's machine.
fn put_request(out: &mut impl io::Write, key: &PublicKey, name: &str) -> io::Result<Exit> {
    writeln!(out, "  key        {}", key.fingerprint())?;
    writeln!(out, "On the lab's computer, run, and compare the key that it shows with this one:")?;
    writeln!(out, "  schwann keys issue {}", text::request(key, name))?;
    Ok(Exit::Good)
}
