//! Where libraries were swapped: a list in the user's folder for a program's state.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Problem;
use crate::{synced, sys};

/// The list, kept in a file from change to change.
pub(super) struct Record {
    place: PathBuf,
    files: Vec<PathBuf>,
}

impl Record {
    /// Reads the list; an absent one is empty.
    pub(super) fn open() -> Result<Self, Problem> {
        let place = folder().join("schwann").join("swapped.json");
        let files = match fs::read(&place) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| Problem::with(place.display(), error))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Problem::with(place.display(), error)),
        };
        Ok(Self { place, files })
    }

    /// The swapped libraries, in the order of their swapping.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Adds one, on the disk as well.
    pub(super) fn add(&mut self, file: &Path) -> Result<(), Problem> {
        if self.files.iter().any(|known| known == file) {
            return Ok(());
        }
        self.files.push(file.to_owned());
        self.save()
    }

    /// Removes one, on the disk as well.
    pub(super) fn remove(&mut self, file: &Path) -> Result<(), Problem> {
        self.files.retain(|known| known != file);
        self.save()
    }

    fn save(&self) -> Result<(), Problem> {
        let new = self.place.with_extension("json-new");
        let saved = serde_json::to_vec_pretty(&self.files).map_err(io::Error::from).and_then(|bytes| {
            fs::create_dir_all(self.place.parent().unwrap_or(Path::new(".")))?;
            synced::write(&new, &bytes)?;
            fs::rename(&new, &self.place)
        });
        saved.map_err(|error| {
            let variable = sys::files::STATE_FOLDER;
            let what = "it remembers which libraries to take back";
            let advice =
                format_args!("{error}; {what}: make room, or set {variable} to a folder on another disk");
            Problem::with(self.place.display(), advice)
        })
    }
}

fn folder() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(sys::files::STATE_FOLDER)
        .or_else(|| env::home_dir().map(|home| home.join(".local").join("state")))
        .unwrap_or_else(env::temp_dir)
}
