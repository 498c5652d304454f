//! `schwann keys`: from nothing to a lab whose streams are sealed.

use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use schwann::security::TrustError;
use schwann::security::keys::store::{self, CERTIFICATE, LAB, REVOKED};
use schwann::security::keys::{keep_from_swap, read_list};
use schwann_recorder::Selector;
use schwann_session::keystore::Kind;
use schwann_session::{Certificate, DeviceKey, DeviceName, Lab, RevocationList, UnixSeconds};
use zeroize::Zeroizing;

use crate::exit::{Outcome, Problem};

pub(crate) mod archive;
mod authority;
mod backup;
mod condition;
mod founding;
mod grant;
mod invite;
mod issued;
mod join;
pub(crate) mod keyring;
mod machine;
mod passphrase;
mod pin;
mod places;
mod plain;
pub(crate) mod renew;
mod revoke;
mod rotate;
mod text;
pub(crate) mod wire;
mod words;

use backup::Afterwards;
use grant::{DAY, Grant, MOST_DAYS, statement};
use invite::Replaces;

/// Set up, hand out and revoke the keys with which a lab seals its streams.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples: a lab in three steps:
  schwann keys init --name \"control room\"     on the computer of the lab's manager
  schwann keys invite \"EEG room\"              there, too; shows six words
  schwann keys join                            on the new computer; type the words

Without a network between the two, by mail or on a stick:
  schwann keys new-device eeg-room             on the new computer; prints a request
  schwann keys issue REQUEST                   on the lab's computer; prints a certificate
  schwann keys trust                           on the new computer; paste there what `issue` printed

Or one identity for every computer, of which none can be revoked alone:
  schwann keys export lab.bundle               on the computer of the lab's manager; copy the file
  schwann keys import lab.bundle               on each other computer

A microcontroller prints its request on its serial line, and takes what this prints:
  schwann keys issue --device REQUEST

The lab's authority, kept in a safe and moved to another computer:
  schwann keys backup lab.backup              prints a sheet for the safe; keep the file elsewhere
  schwann keys recover lab.backup             on any computer, with the words of the sheet

Recordings that only the lab can open:
  schwann keys archive                        on the lab's computer; prints what to run on the others
  schwann record --seal                       on any of them

Streams are sealed as soon as a key is installed. `schwann keys status` tells what is in force.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Protect private keys only by file permissions.
    #[arg(long, global = true)]
    unprotected: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Create a lab, and make this computer its first member.
    Init {
        /// What people call this computer.
        #[arg(long, default_value = "first computer")]
        name: String,
    },
    /// Tell which keys and which policy are in force.
    Status,
    /// Show six words, and certify the one device on which they are typed into `join`.
    Invite {
        /// What people call the new computer; else what it calls itself.
        name: Option<String>,
        /// The device is a member already: give it a new key, and revoke its old one.
        #[arg(long, requires = "name")]
        replace: bool,
        #[command(flatten)]
        grant: Grant,
        /// Minutes to wait for the new computer.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
        minutes: u64,
    },
    /// Join the lab whose computer shows six words.
    Join {
        /// What people call this computer; else its name in the network. The lab's computer may decide otherwise.
        #[arg(long)]
        name: Option<String>,
        /// Where the lab's computer is, if it is not found: HOST or HOST:PORT.
        #[arg(long, value_name = "PLACE")]
        at: Option<String>,
    },
    /// Make a key on this computer, unless it has one, and print the request for its certificate.
    NewDevice {
        /// What people call this computer.
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
        /// The device is a microcontroller without a serial line. Make its key here, and write the image of its
        /// key store to this file, which you flash.
        #[arg(long, value_name = "FILE")]
        image: Option<PathBuf>,
        #[command(flatten)]
        grant: Grant,
        /// Certify without a question.
        #[arg(long)]
        yes: bool,
    },
    /// List the certificates that this lab has issued, and which of them are revoked.
    Issued,
    /// Install the certificate that `issue` printed for this computer; reads it from the terminal or from standard input.
    Trust,
    /// Write this computer's whole identity to an encrypted file, to be used on other computers.
    Export {
        /// The file.
        file: PathBuf,
    },
    /// Install an identity that `export` wrote.
    Import {
        /// The file.
        file: PathBuf,
    },
    /// Revoke a device: revoke every certificate of its key.
    Revoke {
        /// The device's name, or the number of one of its certificates; `schwann keys issued` lists both.
        #[arg(value_name = "NAME|SERIAL")]
        device: String,
        /// It is the number of a certificate, even if a device is called so.
        #[arg(long)]
        serial: bool,
    },
    /// Get a certificate that is valid for longer, from 30 days before the present one expires.
    Renew {
        /// Where the lab's computer is, if it is not found: HOST or HOST:PORT.
        #[arg(long, value_name = "PLACE", conflicts_with = "serve")]
        at: Option<String>,
        /// On the lab's computer: renew the certificates of others until Ctrl-C.
        #[arg(long)]
        serve: bool,
        /// Days that the new certificates of others are valid.
        #[arg(long, requires = "serve", default_value_t = 365, value_parser = clap::value_parser!(u64).range(31..=MOST_DAYS))]
        days: u64,
    },
    /// Give this computer a new key, and revoke its old one. Computers without the lab's authority need six words for it.
    Rotate {
        /// Where the lab's computer is, if it is not found: HOST or HOST:PORT.
        #[arg(long, value_name = "PLACE")]
        at: Option<String>,
    },
    /// Write the lab's authority to a file, and print the sheet with the words that open it.
    Backup {
        /// The file.
        file: PathBuf,
        /// Move the authority: take it away from this computer, which stays a member.
        #[arg(long = "move")]
        moves: bool,
    },
    /// Take the lab's authority from a file of `backup`, with the words of its sheet and a new passphrase.
    Recover {
        /// The file.
        file: PathBuf,
    },
    /// Make or show the key that recordings are sealed to, for `schwann record --seal`.
    Archive {
        /// Install the public half that the lab's computer printed.
        #[arg(long, value_name = "KEY", conflicts_with = "export")]
        install: Option<String>,
        /// Write the secret half to a file for a safe, which `age -d -i FILE` reads.
        #[arg(long, value_name = "FILE")]
        export: Option<PathBuf>,
    },
    /// Admit plain streams, which the lab otherwise hides; each by its name, source id and computer.
    Admit {
        /// The stream: its name, type, source id, or a condition; all plain streams if none is given.
        #[arg(value_name = "STREAM")]
        stream: Option<Selector>,
        /// Admit without a question.
        #[arg(long)]
        yes: bool,
    },
    /// Accept a stream only from the device that sends it now.
    Pin {
        /// The stream: its name, type, source id, or a condition.
        #[arg(value_name = "STREAM")]
        stream: Selector,
        /// Pin without a question.
        #[arg(long)]
        yes: bool,
    },
    /// Take a stream from any device of the lab again.
    Unpin {
        /// The stream's name or source id.
        #[arg(value_name = "STREAM")]
        stream: String,
    },
    /// Keep this computer's key open in memory until you log out or the computer restarts.
    Unlock,
    /// Put the passphrase of this computer's key into the system's keyring, so that your login opens the key.
    Remember,
    /// Take the passphrase out of the system's keyring.
    Forget,
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Keys and passphrases lie in this program's memory for some seconds.
    schwann::security::keys::forbid_dumps();
    schwann::security::keys::keep_stack_from_swap();
    let keys = Keys { folder: store::folder(), unprotected: arguments.unprotected };
    match &arguments.action {
        Action::Init { name } => keys.init(name),
        Action::Status => keys.status(),
        Action::NewDevice { name } => keys.new_device(name),
        Action::Invite { name, replace, grant, minutes } => {
            let replaces = if *replace { Replaces::OldKey } else { Replaces::Nothing };
            keys.invite(name.as_deref(), replaces, grant.granted(true), Duration::from_secs(minutes * 60))
        }
        Action::Issue { request, device, image, grant, yes } => {
            let granted = grant.granted(*yes);
            match (device, image) {
                (_, Some(file)) => keys.issue_image(request, file, granted),
                (true, None) => keys.issue_device(request, granted),
                (false, None) => keys.issue(request, granted),
            }
        }
        Action::Join { name, at } => keys.join(name.as_deref(), at.as_deref()),
        Action::Issued => keys.issued(),
        Action::Trust => keys.trust(),
        Action::Export { file } => keys.export(file),
        Action::Import { file } => keys.import(file),
        Action::Revoke { device, serial } => keys.revoke(device, *serial),
        Action::Renew { serve: true, days, .. } => keys.serve_renewals(*days),
        Action::Renew { at, .. } => keys.renew(at.as_deref()),
        Action::Rotate { at } => keys.rotate(at.as_deref()),
        Action::Backup { file, moves } => {
            keys.backup(file, if *moves { Afterwards::Remove } else { Afterwards::Keep })
        }
        Action::Recover { file } => keys.recover(file),
        Action::Archive { install: Some(key), .. } => keys.install_archive(key),
        Action::Archive { export: Some(file), .. } => keys.export_archive(file),
        Action::Archive { .. } => keys.archive(),
        Action::Admit { stream, yes } => plain::admit(stream.as_ref(), *yes),
        Action::Pin { stream, yes } => pin::pin(stream, *yes),
        Action::Unpin { stream } => pin::unpin(stream),
        Action::Unlock => keys.unlock(),
        Action::Remember => keys.remember(),
        Action::Forget => keys.forget(),
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

    fn lab(&self) -> Result<Lab, Problem> {
        let bytes = store::read(&self.path(LAB)).map_err(failed)?;
        bytes.as_slice().try_into().ok().and_then(Lab::new).ok_or_else(|| damaged(&self.path(LAB)))
    }

    fn revoked(&self, lab: &Lab) -> Result<RevocationList<Vec<u8>>, Problem> {
        let bytes = store::read(&self.path(REVOKED)).map_err(failed)?;
        RevocationList::parse(bytes, lab).map_err(|_| damaged(&self.path(REVOKED)))
    }

    /// The discovery key that belongs to the revocation list.
    fn discovery(&self, lab: &Lab) -> Result<Zeroizing<[u8; 32]>, Problem> {
        let (_, key) = read_list(&self.folder, lab).map_err(failed)?;
        Ok(key)
    }

    /// Refuses what makes no sense on a machine of no lab.
    fn needs_lab(&self) -> Result<(), Problem> {
        match self.path(LAB).exists() {
            true => Ok(()),
            false => Err(failed(
                "this computer is in no lab; `schwann keys join` joins one, `schwann keys init` creates one",
            )),
        }
    }

    fn certificate(&self) -> Result<Certificate, Problem> {
        let bytes = store::read(&self.path(CERTIFICATE)).map_err(failed)?;
        let bytes = bytes.as_slice().try_into().map_err(|_| damaged(&self.path(CERTIFICATE)))?;
        Certificate::parse(bytes).map_err(|_| damaged(&self.path(CERTIFICATE)))
    }

    /// A private key, asking for its passphrase where there is a terminal to ask at.
    fn private(&self, name: &str, kind: Kind) -> Result<text::Secret, Problem> {
        let path = self.path(name);
        if !path.exists() {
            self.needs_lab()?;
        }
        let key = match store::private(&path, kind) {
            Err(TrustError::Locked(locked)) => {
                if let Some(key) = self.private_remembered(name, kind) {
                    return Ok(key);
                }
                if !io::stdin().is_terminal() {
                    return Err(failed(TrustError::Locked(locked)));
                }
                let bytes = store::read(&path).map_err(failed)?;
                let opened = passphrase::opens("passphrase", |passphrase| {
                    store::open(&path, &bytes, kind, passphrase)
                });
                opened.map_err(|problem| {
                    failed(format_args!(
                        "{problem}; without the passphrase, `schwann keys recover` takes the words of the recovery sheet"
                    ))
                })?.0
            }
            other => other.map_err(failed)?,
        };
        keep_from_swap(&key);
        Ok(key)
    }
}

fn device_name(name: &str) -> Result<DeviceName, Problem> {
    DeviceName::new(name).ok_or_else(|| {
        Problem::Failed(format!(
            "{name:?} cannot be a device's name: give it 1 to 48 bytes without control characters"
        ))
    })
}

/// Refuses to write to a file that is there.
fn is_new(file: &Path) -> Result<(), Problem> {
    match file.exists() {
        true => Err(Problem::with(
            file.display(),
            "it exists; existing files are never replaced: name another file",
        )),
        false => Ok(()),
    }
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
    failed(store::damaged(path))
}

/// Days of a certificate for the authority's own machine.
const OWN_DAYS: u64 = 3650;
