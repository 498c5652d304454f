//! How commands open a recording: as it is, unpacked, or with a key if it is sealed.

use core::cell::OnceCell;
use core::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use schwann_xdf::{Identities, Location, Wrapping};
use zeroize::Zeroizing;

use super::keys::archive;
use super::survey::Progress;
use crate::exit::Problem;

/// What opens a sealed recording.
#[derive(clap::Args, Default)]
pub(crate) struct Opening {
    /// The secret key of a sealed recording, in a file of age-keygen; else the lab's archive key.
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    #[arg(skip)]
    read: OnceCell<Identities>,
}

impl fmt::Debug for Opening {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Opening").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Opening {
    /// The recording at `path`. Keys are read, and a passphrase asked for, only if it is sealed.
    pub(crate) fn location(&self, path: &Path) -> Result<Location, Problem> {
        let location = Location::from(path);
        match location.wrapping() {
            Ok(Wrapping::Age) => {}
            Ok(Wrapping::Gzip) => {
                let mut progress = Progress::new("unpacking");
                let done = location.unpack(|done, all| progress.show(done, all));
                progress.clear();
                return done.map(|()| location).map_err(|error| Problem::with(path.display(), error));
            }
            // What cannot be read is said by what reads it.
            _ => return Ok(location),
        }
        if self.read.get().is_none() {
            let identities = self.identities()?.ok_or_else(|| Problem::with(path.display(), NO_KEY))?;
            // Nothing else fills it.
            let _ = self.read.set(identities);
        }
        Ok(Location::new(path, self.read.get().cloned().unwrap_or_default()))
    }

    fn identities(&self) -> Result<Option<Identities>, Problem> {
        if self.identity.is_empty() {
            return archive::identities();
        }
        let mut all = Identities::none();
        for file in &self.identity {
            let wrong = |error: &dyn fmt::Display| Problem::with(file.display(), error);
            let text = Zeroizing::new(fs::read_to_string(file).map_err(|error| wrong(&error))?);
            all = all.and(&Identities::parse(&text).map_err(|error| wrong(&error))?);
        }
        Ok(Some(all))
    }
}

const NO_KEY: &str = "the recording is sealed, and the lab's archive key is not on this computer; open it where \
                      schwann keys archive made the key, or name a file with the secret key: --identity FILE";
