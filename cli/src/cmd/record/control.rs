//! `record --control`: programs drive the recorder over HTTP and WebSocket.

use core::net::SocketAddr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use schwann::security::keys::store;
use schwann_dash::{Certificate, ControlOptions, Controlled, Role, serve_control};
use schwann_recorder::control::Control;
use serde_json::{Map, Value, json};

use crate::exit::Problem;
use crate::sys::files;

/// Whether programs drive the recorder, and how they get in.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Access {
    /// Wait for programs that drive the recorder over HTTP and WebSocket, by default on this computer's port 22346.
    ///
    /// The printed address holds a token, and every request needs it. Addresses that other computers
    /// reach use TLS. docs/record-control.md lists the requests.
    #[arg(id = "control", long = "control", value_name = "IP:PORT", num_args = 0..=1)]
    #[arg(default_missing_value = "127.0.0.1:22346")]
    address: Option<SocketAddr>,
    /// Write that address into this file, which this user alone can read. The file is removed when the program ends.
    #[arg(long, value_name = "FILE", requires = "control")]
    control_file: Option<PathBuf>,
}

impl Access {
    /// Lets programs in, if they are to be, to a recorder whose files lie in `folder`.
    ///
    /// - Errors: the address cannot be served, or the file not be written.
    pub(super) fn serve(&self, control: &Control, folder: &Path) -> Result<Option<Door>, Problem> {
        let Some(address) = self.address else { return Ok(None) };
        let options = ControlOptions {
            bind: address.ip(),
            port: address.port(),
            certificate: Certificate::Kept(store::folder()),
            folder: folder.to_owned(),
        };
        let mut door = Door { controlled: serve_control(control.clone(), &options)?, file: None };
        if let Some(path) = &self.control_file {
            door.write(path).map_err(|error| Problem::with(path.display(), error))?;
        }
        Ok(Some(door))
    }
}

/// The way in for programs, until this is dropped.
pub(super) struct Door {
    controlled: Controlled,
    /// Where its address is written.
    file: Option<PathBuf>,
}

impl Door {
    fn write(&mut self, path: &Path) -> io::Result<()> {
        make_room(path)?;
        let mut how = OpenOptions::new();
        how.write(true).create_new(true);
        files::make_private(&mut how);
        let mut file = how.open(path)?;
        self.file = Some(path.to_owned());
        let address = self.controlled.urls().pop().map(|(_, url)| url).unwrap_or_default();
        writeln!(file, "{address}")
    }

    /// The addresses, for a person.
    pub(super) fn text(&self) -> String {
        let urls = self.controlled.urls();
        let mut text: String = match &*urls {
            [(_, url)] => format!("control: {url}\n"),
            urls => urls.iter().map(|(role, url)| format!("control, {:<7} {url}\n", name(*role))).collect(),
        };
        if let Some(fingerprint) = self.controlled.fingerprint() {
            text.push_str(&format!("SHA-256 fingerprint of its certificate:\n  {fingerprint}\n"));
        }
        text
    }

    /// The same for a program.
    pub(super) fn json(&self) -> Value {
        let urls = self.controlled.urls();
        let urls: Map<_, _> = urls.into_iter().map(|(role, url)| (role.name().into(), url.into())).collect();
        json!({ "control": urls, "fingerprint": self.controlled.fingerprint() })
    }
}

/// Removes the address that a killed program left. A link is not written through, and nothing else is touched.
fn make_room(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let mut head = Vec::new();
    if found.is_file() {
        File::open(path)?.take(4).read_to_end(&mut head)?;
    }
    if found.is_symlink() || head == b"http" {
        return fs::remove_file(path);
    }
    let what = "something is there that holds no address of a recorder: name another file";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

fn name(role: Role) -> String {
    format!("{}:", role.name())
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(path) = &self.file {
            // A file that is gone already needs no removal.
            let _ = fs::remove_file(path);
        }
    }
}
