//! The file of the security log: lines of JSON, bounded, shared by all programs of a user.
//!
//! A file that has grown beyond [`FILE_LEN`] becomes `FILE.1`, that one `FILE.2`, and so on up to [`OLD_FILES`].
//! Strangers cannot fill the disk, or push events out quickly: of each kind at most [`PER_SECOND`] events in a
//! second are written, and the next one tells how many were not.

use core::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use crate::log;

/// Length at which a file is put aside, in bytes.
const FILE_LEN: u64 = 8 << 20;
/// Files that are kept besides the present one.
const OLD_FILES: u32 = 4;
/// Events of a kind that are written in one second.
const PER_SECOND: u32 = 20;
/// Kinds of events that are counted; there are fewer.
const KINDS: usize = 16;

/// Writes the security log to this file from now on; events go to the ordinary log if it cannot be opened.
pub fn log_to(path: &Path) {
    match Journal::open(path) {
        Ok(journal) => lock(&JOURNAL).file = Some(journal),
        Err(error) => log::announce(format_args!(
            "the security log {} cannot be opened: {error}; name another file in SCHWANN_SECURITY_LOG",
            path.display()
        )),
    }
}

/// Writes an event; says whether it was not one of too many.
pub(super) fn write(kind: &'static str, fields: &[(&str, &dyn Display)]) -> bool {
    let mut state = lock(&JOURNAL);
    let Some(left_out) = state.admit(kind) else { return false };
    let line = line(SystemTime::now(), kind, fields, left_out);
    if let Some(journal) = &mut state.file {
        match journal.append(&line) {
            Ok(()) => return true,
            Err(error) => log::error!("the security log was not written: {error}"),
        }
    }
    log::info!("{}", line.trim_end());
    true
}

/// One line.
fn line(now: SystemTime, kind: &str, fields: &[(&str, &dyn Display)], left_out: u32) -> String {
    let mut line = format!(
        "{{\"time\":\"{}\",\"process\":{},\"event\":{}",
        log::Utc(now),
        std::process::id(),
        Text(&kind)
    );
    for (name, value) in fields {
        // A string takes any text.
        let _ = write!(line, ",\"{name}\":{}", Text(*value));
    }
    if left_out > 0 {
        let _ = write!(line, ",\"left_out\":\"{left_out}\"");
    }
    line.push_str("}\n");
    line
}

struct State {
    file: Option<Journal>,
    kinds: [Kind; KINDS],
}

/// How many events of one kind there were lately.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    since: Option<Instant>,
    written: u32,
    left_out: u32,
}

impl State {
    /// Lets an event through, with the number of those before that were not; nothing if there are too many.
    fn admit(&mut self, name: &'static str) -> Option<u32> {
        let kind = self.kinds.iter_mut().find(|kind| kind.name == name || kind.name.is_empty())?;
        kind.name = name;
        let now = Instant::now();
        if kind.since.is_none_or(|since| now.duration_since(since).as_secs() > 0) {
            (kind.since, kind.written) = (Some(now), 0);
        }
        if kind.written >= PER_SECOND {
            kind.left_out = kind.left_out.saturating_add(1);
            return None;
        }
        kind.written += 1;
        Some(core::mem::take(&mut kind.left_out))
    }
}

/// An open file of the security log.
struct Journal {
    path: PathBuf,
    file: File,
    len: u64,
}

impl Journal {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), file: open(path)?, len: FILE_LEN })
    }

    /// Appends a line in one piece, so that programs which share the file do not mix theirs.
    fn append(&mut self, line: &str) -> io::Result<()> {
        if self.file.metadata()?.len() >= self.len {
            self.put_aside()?;
        }
        self.file.write_all(line.as_bytes())
    }

    /// Begins a new file, unless another program just did.
    fn put_aside(&mut self) -> io::Result<()> {
        let guard = open(&self.path.with_added_extension("lock"))?;
        guard.lock()?;
        if std::fs::metadata(&self.path).is_ok_and(|present| present.len() >= self.len) {
            let old = |number: u32| self.path.with_added_extension(number.to_string());
            for number in (1..OLD_FILES).rev() {
                // Those that are not there yet cannot be moved.
                let _ = std::fs::rename(old(number), old(number + 1));
            }
            std::fs::rename(&self.path, old(1))?;
        }
        self.file = open(&self.path)?;
        Ok(())
    }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().append(true).create(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// A JSON string.
struct Text<'a>(&'a dyn Display);

impl Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("\"")?;
        write!(Escaped(out), "{}", self.0)?;
        out.write_str("\"")
    }
}

struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '"' => self.0.write_str("\\\"")?,
                '\\' => self.0.write_str("\\\\")?,
                c if c.is_control() => write!(self.0, "\\u{:04x}", u32::from(c))?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

fn lock(journal: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

const NO_KIND: Kind = Kind { name: "", since: None, written: 0, left_out: 0 };
static JOURNAL: Mutex<State> = Mutex::new(State { file: None, kinds: [NO_KIND; KINDS] });

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_line_is_json_whatever_a_peer_calls_itself() {
        let now = UNIX_EPOCH + Duration::from_millis(1_709_164_799_042);
        let name = "a\"b\\c\n\u{7f}\u{85}\u{1f600}";
        let line = line(now, "connect", &[("device", &name), ("serial", &7)], 3);
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(value["time"], "2024-02-28T23:59:59.042Z");
        assert_eq!((&value["event"], &value["device"]), (&"connect".into(), &name.into()));
        assert_eq!((&value["serial"], &value["left_out"]), (&"7".into(), &"3".into()));
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn a_flood_is_cut_and_counted() {
        let mut state = State { file: None, kinds: [NO_KIND; KINDS] };
        let written = (0..1000).filter(|_| state.admit("refuse").is_some()).count();
        assert!((20..=40).contains(&written), "{written}");
        assert_eq!(state.admit("connect"), Some(0), "other kinds are not held up");
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(state.admit("refuse"), Some(1000 - u32::try_from(written).expect("few")));
    }

    #[test]
    fn files_are_put_aside_and_bounded_also_for_two_programs() {
        let folder = std::env::temp_dir().join(format!("schwann-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("security.log");
        let mut programs = [(); 2].map(|()| Journal::open(&path).expect("a file"));
        programs.iter_mut().for_each(|journal| journal.len = 1000);
        for number in 0..1000 {
            let line = format!("{{\"number\":{number:>87}}}\n");
            programs[number % 2].append(&line).expect("written");
        }
        let names: Vec<_> = (0..8).map(|number| path.with_added_extension(number.to_string())).collect();
        let there: Vec<_> = names.iter().map(|name| name.exists()).collect();
        assert_eq!(there, [false, true, true, true, true, false, false, false]);
        let text = |path: &Path| std::fs::read_to_string(path).expect("text");
        let all: String = [&names[4], &names[3], &names[2], &names[1], &path].map(|name| text(name)).concat();
        let first = 1000 - all.lines().count();
        assert!(all.lines().count() > 40 && all.len() < 6 * 1100, "{}", all.len());
        for (number, line) in (first..).zip(all.lines()) {
            assert!(line.trim_end_matches('}').ends_with(&format!(" {number}")), "nothing between is lost");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
