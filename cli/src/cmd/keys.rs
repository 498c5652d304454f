//! `schwann keys`: from nothing to a lab whose streams are sealed.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use schwann::trust::replace_list;
use schwann::trust::store::{self, AUTHORITY, CERTIFICATE, DEVICE_KEY, DISCOVERY, LAB, REVOKED};
use schwann_node::{key_slots, provision};
use schwann_session::keystore::{self, Bundle, Cost, Kind};
use schwann_session::{
    AuthorityKey, Certificate, DeviceKey, DeviceName, Flags, Lab, PublicKey, RevocationList, Roles,
    Statement, SystemEntropy, UnixSeconds,
};

use crate::exit::{Exit, Outcome, Problem};

mod text;

/// Set up, hand out and withdraw the keys with which a lab seals its streams.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples: a lab in three steps:
  schwann keys init --name \"control room\"     on the machine of whoever runs the lab
  schwann keys export eeg-room.bundle          one identity for every machine: copy the file there
  schwann keys import eeg-room.bundle          on each other machine

Or a key of its own for each machine, so that one can be revoked:
  schwann keys new-device eeg-room             on the new machine; prints a request
  schwann keys issue REQUEST                   on the lab's machine; prints a certificate
  schwann keys trust CERTIFICATE               on the new machine

A microcontroller prints its request on its serial line, and takes what this prints:
  schwann keys issue --device REQUEST

Streams are sealed as soon as a key is installed. `schwann keys status` tells what is in force.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Protect private keys by nothing but the file's mode.
    #[arg(long, global = true)]
    unprotected: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Found a lab, and make this machine its first member.
    Init {
        /// What people call this machine.
        #[arg(long, default_value = "first machine")]
        name: String,
    },
    /// Tell which keys and which policy are in force.
    Status,
    /// Make a key on this machine and print the request for its certificate.
    NewDevice {
        /// What people call this machine.
        name: String,
    },
    /// Certify the device whose request is given, and print the certificate.
    Issue {
        /// What `new-device`, or a microcontroller on its serial line, printed; with --image, the device's name.
        request: String,
        /// The device is a microcontroller: print lines to paste into its serial line. It may do without the
        /// post-quantum exchange.
        #[arg(long)]
        device: bool,
        /// The device is a microcontroller that cannot be talked to: make its key here, and write what belongs into its
        /// key store to this file, to be flashed.
        #[arg(long, value_name = "FILE")]
        image: Option<PathBuf>,
        /// Days that the certificate is valid.
        #[arg(long, default_value_t = 365)]
        days: u64,
        /// The device may only offer streams.
        #[arg(long, conflicts_with = "subscribe_only")]
        publish_only: bool,
        /// The device may only receive streams.
        #[arg(long)]
        subscribe_only: bool,
    },
    /// Install the certificate that `issue` printed for this machine.
    Trust {
        /// What `issue` printed.
        certificate: String,
    },
    /// Write this machine's whole identity to an encrypted file, to be used on other machines.
    Export {
        /// The file.
        file: PathBuf,
    },
    /// Install an identity that `export` wrote.
    Import {
        /// The file.
        file: PathBuf,
    },
    /// Withdraw a device's certificate, and print the new list for the other machines.
    Revoke {
        /// The number of the certificate; `issue` printed it.
        serial: u64,
    },
    /// Keep this machine's key open in memory until it is switched off.
    Unlock,
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let keys = Keys { folder: store::folder(), unprotected: arguments.unprotected };
    match &arguments.action {
        Action::Init { name } => keys.init(name),
        Action::Status => keys.status(),
        Action::NewDevice { name } => keys.new_device(name),
        Action::Issue { request, device, image, days, publish_only, subscribe_only } => {
            let roles = match (publish_only, subscribe_only) {
                (true, _) => Roles::PUBLISH,
                (_, true) => Roles::SUBSCRIBE,
                _ => Roles::BOTH,
            };
            let granted = Granted { days: *days, roles };
            match (device, image) {
                (_, Some(file)) => keys.issue_image(request, file, granted),
                (true, None) => keys.issue_device(request, granted),
                (false, None) => keys.issue(request, granted),
            }
        }
        Action::Trust { certificate } => keys.trust(certificate),
        Action::Export { file } => keys.export(file),
        Action::Import { file } => keys.import(file),
        Action::Revoke { serial } => keys.revoke(*serial),
        Action::Unlock => keys.unlock(),
    }
}

/// The key folder, and how keys are written into it.
struct Keys {
    folder: PathBuf,
    unprotected: bool,
}

impl Keys {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn init(&self, name: &str) -> Outcome {
        if self.path(LAB).exists() {
            return Err(Problem::with(
                self.folder.display(),
                "a lab is installed here already; `schwann keys status` tells which",
            ));
        }
        let authority = AuthorityKey::generate(&mut SystemEntropy).map_err(failed)?;
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let mut discovery_key = [0; 32];
        getrandom::fill(&mut discovery_key).map_err(failed)?;
        let revoked = RevocationList::sign(&authority, 1, now(), &discovery_key, &[]).map_err(failed)?;
        let certificate = authority.certify(statement(device.public(), name, 1, 3650, Roles::BOTH)?);
        let lab = authority.lab();
        let passphrase = self.new_passphrase("a passphrase for the lab's keys")?;
        let passphrase = passphrase.as_ref().map(|passphrase| passphrase.as_slice());
        store::write_key(&self.path(AUTHORITY), authority.seed().as_slice(), Kind::Authority, passphrase)
            .map_err(failed)?;
        let bundle = Bundle { certificate, device, discovery: discovery_key.into(), lab, revoked };
        store::install(&self.folder, &bundle, passphrase).map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "The lab is founded, and this machine is its first member.")?;
        writeln!(out, "  lab        {}", bundle.lab.authority().fingerprint())?;
        writeln!(out, "  keys       {}", self.folder.display())?;
        if passphrase.is_some() {
            writeln!(out, "Now, and once after each start of this machine, open its key:")?;
            writeln!(out, "  schwann keys unlock")?;
        }
        writeln!(out, "Streams of this machine are sealed from now on. For the other machines, one of:")?;
        writeln!(
            out,
            "  schwann keys export lab.bundle     then `schwann keys import lab.bundle` elsewhere"
        )?;
        writeln!(out, "  schwann keys new-device NAME       on another machine, for a key of its own")?;
        Ok(Exit::Good)
    }

    fn status(&self) -> Outcome {
        let mut out = io::stdout().lock();
        writeln!(out, "keys       {}", self.folder.display())?;
        if !self.path(LAB).exists() {
            writeln!(
                out,
                "lab        none; `schwann keys init` founds one, `schwann keys import` joins one"
            )?;
        } else {
            let lab = self.lab()?;
            writeln!(out, "lab        {}", lab.authority().fingerprint())?;
            let authority =
                if self.path(AUTHORITY).exists() { "this machine can issue and revoke" } else { "elsewhere" };
            writeln!(out, "authority  {authority}")?;
            let revoked = self.revoked(&lab)?;
            writeln!(out, "revoked    list {}", revoked.number())?;
        }
        if let Ok(certificate) = self.certificate() {
            let statement = certificate.statement;
            writeln!(out, "device     {} (certificate {})", statement.name.as_str(), statement.serial)?;
            writeln!(out, "key        {}", statement.device.fingerprint())?;
            writeln!(out, "valid      {} more days", statement.not_after.0.saturating_sub(now().0) / DAY)?;
        }
        writeln!(out, "in force   {}", schwann::security::summary(schwann::Config::get()))?;
        let usable = schwann::Config::get().trust().is_ok();
        Ok(if usable { Exit::Good } else { Exit::Found })
    }

    fn new_device(&self, name: &str) -> Outcome {
        if self.path(DEVICE_KEY).exists() {
            return Err(Problem::with(self.path(DEVICE_KEY).display(), "this machine has a key already"));
        }
        let name = device_name(name)?;
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let passphrase = self.new_passphrase("a passphrase for this machine's key")?;
        let seed = device.seed();
        store::write_key(
            &self.path(DEVICE_KEY),
            seed.as_slice(),
            Kind::Device,
            passphrase.as_ref().map(|passphrase| passphrase.as_slice()),
        )
        .map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "This machine's key is made; it never leaves it.")?;
        writeln!(out, "  key        {}", device.public().fingerprint())?;
        writeln!(out, "On the lab's machine, run, and compare the key that it shows with this one:")?;
        writeln!(out, "  schwann keys issue {}", text::request(&device.public(), name.as_str()))?;
        Ok(Exit::Good)
    }

    fn issue(&self, request: &str, granted: Granted) -> Outcome {
        let (device, name) = requested(request)?;
        let membership = self.certify(device, &name, granted, Flags::NONE)?;
        let mut out = io::stdout().lock();
        let serial = membership.certificate.statement.serial;
        writeln!(out, "Certificate {serial} for {name}, {}.", device.fingerprint())?;
        writeln!(out, "If this is the key that `new-device` showed on the new machine, run there:")?;
        writeln!(out, "  schwann keys trust {}", membership.to_text())?;
        Ok(Exit::Good)
    }

    /// Certifies a microcontroller that printed its request, and prints what to paste into its serial line.
    fn issue_device(&self, request: &str, granted: Granted) -> Outcome {
        let (device, name) = requested(request)?;
        let membership = self.certify(device, &name, granted, Flags::CLASSIC)?;
        let mut lines = Vec::new();
        provision::put_lines(&membership.to_bytes(), &mut lines).map_err(failed)?;
        let mut out = io::stdout().lock();
        let serial = membership.certificate.statement.serial;
        writeln!(out, "Certificate {serial} for {name}, {}.", device.fingerprint())?;
        writeln!(out, "Paste these lines into the device's serial line:")?;
        out.write_all(&lines)?;
        Ok(Exit::Good)
    }

    /// Makes a microcontroller's key and writes an image of its key store.
    fn issue_image(&self, name: &str, file: &Path, granted: Granted) -> Outcome {
        let device = DeviceKey::generate(&mut SystemEntropy).map_err(failed)?;
        let membership = self.certify(device.public(), name, granted, Flags::CLASSIC)?;
        let mut content = text::Secret::new(vec![0; KEY_STORE_LEN]);
        let content =
            provision::join(&device.seed(), &membership.to_bytes(), &mut content).map_err(failed)?;
        let mut image = text::Secret::new(vec![0; KEY_STORE_LEN]);
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
    fn certify(
        &self,
        device: PublicKey,
        name: &str,
        granted: Granted,
        flags: Flags,
    ) -> Result<text::Membership, Problem> {
        let authority = self.authority()?;
        let lab = authority.lab();
        let (discovery, revoked) = (self.discovery()?, self.revoked(&lab)?);
        let Granted { days, roles } = granted;
        let mut statement = statement(device, name, self.next_serial()?, days, roles)?;
        statement.flags = flags;
        Ok(text::Membership { lab, certificate: authority.certify(statement), discovery, revoked })
    }

    fn trust(&self, membership: &str) -> Outcome {
        let text::Membership { lab, certificate, discovery, revoked } = text::Membership::parse(membership)
            .ok_or_else(|| {
            Problem::Failed(String::from("this is no certificate; copy the whole line that `issue` printed"))
        })?;
        store::write_private(&self.path(LAB), &lab.authority().0).map_err(failed)?;
        store::write_private(&self.path(CERTIFICATE), &certificate.encode()).map_err(failed)?;
        replace_list(&self.folder, revoked.as_bytes(), &discovery).map_err(failed)?;
        writeln!(
            io::stdout().lock(),
            "This machine is a member of the lab {}.",
            lab.authority().fingerprint()
        )?;
        self.status()
    }

    fn export(&self, file: &Path) -> Outcome {
        let seed = self.private(DEVICE_KEY, Kind::Device)?;
        let lab = self.lab()?;
        let bundle = Bundle {
            certificate: self.certificate()?,
            device: device_of(&seed)?,
            discovery: self.discovery()?.into(),
            revoked: self.revoked(&lab)?,
            lab,
        };
        let passphrase = self.passphrase("a passphrase for the file")?;
        let sealed =
            keystore::seal(Kind::Bundle, &bundle.encode(), &passphrase, Cost::default(), &mut SystemEntropy)
                .map_err(failed)?;
        store::write_private(file, &sealed).map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{} holds this machine's identity. On each other machine, run:", file.display())?;
        writeln!(out, "  schwann keys import {}", file.display())?;
        writeln!(
            out,
            "Machines that share an identity cannot be revoked one by one; see `schwann keys new-device`."
        )?;
        Ok(Exit::Good)
    }

    fn import(&self, file: &Path) -> Outcome {
        let sealed = store::read(file).map_err(failed)?;
        let passphrase = self.passphrase("the file's passphrase")?;
        let content = store::open(file, &sealed, Kind::Bundle, &passphrase).map_err(failed)?;
        let bundle = Bundle::parse(&content).map_err(failed)?;
        let own = if self.unprotected { None } else { Some(passphrase.as_slice()) };
        store::install(&self.folder, &bundle, own).map_err(failed)?;
        self.status()
    }

    fn revoke(&self, serial: u64) -> Outcome {
        let authority = self.authority()?;
        let old = self.revoked(&authority.lab())?;
        let mut serials: Vec<u64> =
            (1..self.last_serial()? + 1).filter(|serial| old.contains(*serial)).collect();
        serials.push(serial);
        // Whoever is out must not find the lab's streams any more.
        let mut discovery = [0; 32];
        getrandom::fill(&mut discovery).map_err(failed)?;
        let list = RevocationList::sign(&authority, old.number() + 1, now(), &discovery, &serials)
            .map_err(failed)?;
        replace_list(&self.folder, list.as_bytes(), &discovery).map_err(failed)?;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "Certificate {serial} is revoked by list {}; running programs of this machine refuse it within 10 s.",
            list.number()
        )?;
        writeln!(
            out,
            "Other machines learn it when they next stream from or to one that knows. To be sure of one:"
        )?;
        writeln!(
            out,
            "  schwann keys status    there; it shows the number of its list. Copying {REVOKED} and {DISCOVERY} there works, too."
        )?;
        Ok(Exit::Good)
    }

    fn unlock(&self) -> Outcome {
        let seed = self.private(DEVICE_KEY, Kind::Device)?;
        store::unlock(&self.path(DEVICE_KEY), &seed).map_err(failed)?;
        writeln!(
            io::stdout().lock(),
            "This user's programs can seal streams until the machine is switched off."
        )?;
        Ok(Exit::Good)
    }

    fn lab(&self) -> Result<Lab, Problem> {
        let bytes = store::read(&self.path(LAB)).map_err(failed)?;
        bytes.as_slice().try_into().ok().and_then(Lab::new).ok_or_else(|| damaged(&self.path(LAB)))
    }

    fn revoked(&self, lab: &Lab) -> Result<RevocationList<Vec<u8>>, Problem> {
        let bytes = store::read(&self.path(REVOKED)).map_err(failed)?;
        RevocationList::parse(bytes, lab).map_err(|_| damaged(&self.path(REVOKED)))
    }

    fn discovery(&self) -> Result<[u8; 32], Problem> {
        let bytes = store::read(&self.path(DISCOVERY)).map_err(failed)?;
        bytes.try_into().map_err(|_| damaged(&self.path(DISCOVERY)))
    }

    fn certificate(&self) -> Result<Certificate, Problem> {
        let bytes = store::read(&self.path(CERTIFICATE)).map_err(failed)?;
        let bytes = bytes.as_slice().try_into().map_err(|_| damaged(&self.path(CERTIFICATE)))?;
        Certificate::parse(bytes).map_err(|_| damaged(&self.path(CERTIFICATE)))
    }

    fn authority(&self) -> Result<AuthorityKey, Problem> {
        if !self.path(AUTHORITY).exists() {
            return Err(Problem::Failed(String::from(
                "the lab's authority is not on this machine; run this where `schwann keys init` was run",
            )));
        }
        let seed = self.private(AUTHORITY, Kind::Authority)?;
        let seed = seed.as_slice().try_into().map_err(|_| damaged(&self.path(AUTHORITY)))?;
        Ok(AuthorityKey::from_seed(seed))
    }

    /// A private key, asking for its passphrase where there is somebody to ask.
    fn private(&self, name: &str, kind: Kind) -> Result<text::Secret, Problem> {
        let path = self.path(name);
        match store::private(&path, kind) {
            Err(schwann::trust::TrustError::Locked(_)) if io::stdin().is_terminal() => {
                let passphrase = text::ask("passphrase")?;
                let bytes = store::read(&path).map_err(failed)?;
                store::open(&path, &bytes, kind, &passphrase).map_err(failed)
            }
            other => other.map_err(failed),
        }
    }

    /// The number of the last certificate issued here.
    fn last_serial(&self) -> Result<u64, Problem> {
        match std::fs::read_to_string(self.path(SERIAL)) {
            Ok(text) => text.trim().parse().map_err(|_| damaged(&self.path(SERIAL))),
            Err(_) => Ok(1),
        }
    }

    fn next_serial(&self) -> Result<u64, Problem> {
        let serial = self.last_serial()? + 1;
        store::write_private(&self.path(SERIAL), serial.to_string().as_bytes()).map_err(failed)?;
        Ok(serial)
    }

    /// A passphrase for a new key; none if none is wanted.
    fn new_passphrase(&self, what: &str) -> Result<Option<text::Secret>, Problem> {
        if self.unprotected { Ok(None) } else { self.passphrase(what).map(Some) }
    }

    fn passphrase(&self, what: &str) -> Result<text::Secret, Problem> {
        match store::passphrase().map_err(failed)? {
            Some(passphrase) => Ok(passphrase),
            None if io::stdin().is_terminal() => text::ask(what),
            None => Err(Problem::Failed(format!(
                "{what} is needed, and there is nobody to ask; set SCHWANN_PASSPHRASE or SCHWANN_PASSPHRASE_FILE"
            ))),
        }
    }
}

/// What a certificate grants.
#[derive(Clone, Copy)]
struct Granted {
    days: u64,
    roles: Roles,
}

fn requested(request: &str) -> Result<(PublicKey, String), Problem> {
    text::parse_request(request).ok_or_else(|| {
        Problem::Failed(String::from("this is no request; copy the whole line that the device printed"))
    })
}

/// Room for the key store of a microcontroller, in bytes: one slot of flash.
const KEY_STORE_LEN: usize = 4096;
/// The number of the last certificate that was issued, beside the authority's key.
const SERIAL: &str = "authority.serial";
const DAY: u64 = 86_400;

fn statement(
    device: PublicKey,
    name: &str,
    serial: u64,
    days: u64,
    roles: Roles,
) -> Result<Statement, Problem> {
    Ok(Statement {
        device,
        flags: Flags::default(),
        lab: schwann_session::LabId([0; 16]),
        name: device_name(name)?,
        not_after: UnixSeconds(now().0 + days * DAY),
        // A clock that is a little behind must not refuse a new certificate.
        not_before: UnixSeconds(now().0 - DAY),
        roles,
        serial,
    })
}

fn device_name(name: &str) -> Result<DeviceName, Problem> {
    DeviceName::new(name)
        .ok_or_else(|| Problem::Failed(format!("{name:?} is too long or too odd for a device's name")))
}

fn device_of(seed: &[u8]) -> Result<DeviceKey, Problem> {
    let seed = seed.try_into().map_err(|_| Problem::Failed(String::from("the device's key is damaged")))?;
    Ok(DeviceKey::from_seed(seed))
}

fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

fn failed(error: impl core::fmt::Display) -> Problem {
    Problem::Failed(error.to_string())
}

fn damaged(path: &Path) -> Problem {
    Problem::with(
        path.display(),
        "the file is damaged; import the lab's bundle again with `schwann keys import`",
    )
}
