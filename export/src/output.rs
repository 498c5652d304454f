//! The files of an export: none replaces another, and none is left behind after an error.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use schwann_xdf::private_as;

use crate::error::{ExportError, writing};

/// The files that were made.
pub(crate) struct Outputs {
    base: PathBuf,
    /// What they are made from; who may not read it may not read them.
    source: PathBuf,
    made: Vec<PathBuf>,
    kept: bool,
}

/// How the names of the files begin. In a folder that exists they have the recording's name.
pub(crate) fn base(output: Option<&Path>, recording: &Path) -> PathBuf {
    let own = stem(recording);
    match output {
        None => own,
        Some(folder) if folder.is_dir() => folder.join(own.file_name().unwrap_or_default()),
        Some(name) => name.to_owned(),
    }
}

/// Where files beginning with this path lie.
pub(crate) fn folder_of(base: &Path) -> &Path {
    base.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path without what says of which kind the file is.
fn stem(path: &Path) -> PathBuf {
    let is_sealed = path.extension().is_some_and(|extension| extension == "age");
    if is_sealed { path.with_extension("").with_extension("") } else { path.with_extension("") }
}

impl Outputs {
    /// Files whose names begin with `base`, as private as `source`.
    pub(crate) fn new(base: &Path, source: &Path) -> Self {
        Self { base: base.to_owned(), source: source.to_owned(), made: Vec::new(), kept: false }
    }

    /// The path with this extension; `part` tells several files apart, if it says something.
    pub(crate) fn path(&self, part: &str, extension: &str) -> PathBuf {
        let mut name = self.base.clone();
        if name.extension().is_some_and(|given| given.eq_ignore_ascii_case(extension)) {
            name.set_extension("");
        }
        let text = name.as_mut_os_string();
        if !part.is_empty() {
            text.push("_");
            text.push(part);
        }
        text.push(".");
        text.push(extension);
        name
    }

    /// Makes a file that does not exist yet.
    pub(crate) fn create(&mut self, path: &Path) -> Result<BufWriter<File>, ExportError> {
        let file = self.create_plain(path)?;
        Ok(BufWriter::with_capacity(BUFFER_BYTES, file))
    }

    /// The same without a buffer, and it can be read.
    pub(crate) fn create_plain(&mut self, path: &Path) -> Result<File, ExportError> {
        let mut how = private_as(&self.source);
        let file = how.read(true).write(true).create_new(true).open(path).map_err(writing(path))?;
        self.made.push(path.to_owned());
        Ok(file)
    }

    /// Keeps the files, and says which they are.
    pub(crate) fn keep(&mut self) -> &[PathBuf] {
        self.kept = true;
        &self.made
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if !self.kept {
            for path in &self.made {
                // An error is on its way already.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// What is read or written at once.
pub(crate) const BUFFER_BYTES: usize = 1 << 20;
