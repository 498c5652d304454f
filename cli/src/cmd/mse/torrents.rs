//! The torrents that peers may ask for. They come from the command line, and from a file that may
//! change.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use schwann_mse::{InfoHash, SkeyIndex};

use crate::exit::Problem;

/// The torrents there are now.
pub(super) struct Torrents {
    given: Vec<InfoHash>,
    file: Option<PathBuf>,
    /// What the file said when it was last read, or why it could not be read.
    seen: Result<String, String>,
    index: Arc<RwLock<SkeyIndex>>,
}

impl Torrents {
    /// Takes the given torrents, and the file's.
    ///
    /// - Errors: the file cannot be read, or a line is no info hash.
    pub(super) fn new(given: &[InfoHash], file: Option<PathBuf>) -> Result<Self, Problem> {
        let mut torrents = Self {
            given: given.to_owned(),
            file,
            seen: Ok(String::new()),
            index: Arc::new(RwLock::new(given.iter().copied().collect())),
        };
        match torrents.look_again() {
            Some(Err(error)) => Err(Problem::Failed(error)),
            Some(Ok(_)) | None => Ok(torrents),
        }
    }

    /// Where the relay looks them up; follows every change.
    pub(super) fn index(&self) -> Arc<RwLock<SkeyIndex>> {
        Arc::clone(&self.index)
    }

    /// Reads the file again. Returns nothing if it says what it said before; else the number of torrents, or what is wrong. After
    /// an error the torrents stay as they were.
    pub(super) fn look_again(&mut self) -> Option<Result<usize, String>> {
        let file = self.file.as_ref()?;
        let text = read(file).map_err(|error| format!("{}: {error}", file.display()));
        if text == self.seen {
            return None;
        }
        self.seen = text;
        let listed = match &self.seen {
            Ok(text) => parse(text).map_err(|error| format!("{}: {error}", file.display())),
            Err(error) => Err(error.clone()),
        };
        Some(listed.map(|listed| {
            let index: SkeyIndex = self.given.iter().copied().chain(listed).collect();
            let count = index.len();
            *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
            count
        }))
    }
}

fn read(file: &PathBuf) -> io::Result<String> {
    if fs::metadata(file)?.len() > FILE_LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file has more than 16 MiB"));
    }
    fs::read_to_string(file)
}

/// The info hashes of a text: one a line; empty lines and what follows a `#` count for nothing.
fn parse(text: &str) -> Result<Vec<InfoHash>, String> {
    let words = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    words
        .enumerate()
        .filter(|(_, word)| !word.is_empty())
        .map(|(index, word)| super::info_hash(word).map_err(|why| format!("line {}: {why}", index + 1)))
        .collect()
}

/// Most bytes that a file of torrents may have: some 400,000 info hashes.
const FILE_LIMIT: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use std::fs;

    use schwann_mse::InfoHash;

    use super::Torrents;

    fn knows(torrents: &Torrents, hash: InfoHash) -> bool {
        torrents.index().read().expect("no thread panicked").clone().remove(&hash)
    }

    #[test]
    fn torrents_come_and_go_with_the_file_and_an_error_changes_nothing() {
        let file = std::env::temp_dir().join(format!("schwann-torrents-{}", std::process::id()));
        let [given, first, second] = [1, 2, 3].map(|byte| InfoHash([byte; 20]));
        fs::write(&file, format!("# two\n\n  {first}  # the first\n")).expect("a file");
        let mut torrents = Torrents::new(&[given], Some(file.clone())).expect("a sound file");
        assert_eq!(torrents.look_again(), None);
        assert!(knows(&torrents, given) && knows(&torrents, first) && !knows(&torrents, second));

        fs::write(&file, format!("{second}\n")).expect("a file");
        assert_eq!(torrents.look_again(), Some(Ok(2)));
        assert!(knows(&torrents, given) && !knows(&torrents, first) && knows(&torrents, second));

        fs::write(&file, format!("{first}\nrubbish\n")).expect("a file");
        let error = torrents.look_again().expect("a change").expect_err("rubbish");
        assert!(error.contains("line 2") && error.contains("40 or 64"), "{error}");
        assert_eq!(torrents.look_again(), None);
        assert!(!knows(&torrents, first) && knows(&torrents, second));

        fs::remove_file(&file).expect("it was there");
        assert!(torrents.look_again().expect("a change").is_err());
        assert!(knows(&torrents, second));
        assert!(Torrents::new(&[], Some(file)).is_err());
    }
}
