//! The file of the security log: lines of JSON, bounded, shared by all programs of a user.
//!
//! Events of strangers, which proved no membership, go to a file of their own, `FILE.strangers`. They cannot push
//! out what members did. No events fill the disk: files are bounded ([`LogFile`]). Of each kind, at most
//! [`PER_SECOND`] events in a second are written; of strangers', [`PER_SECOND_OF_STRANGERS`]. The next one tells
//! how many were not.

use core::fmt::{self, Display, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use crate::log::{self, LogFile, Readers};

/// The kind of peer that caused an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Cause {
    /// This program, or a peer that proved to be a member.
    Member,
    /// A peer that proved nothing.
    Stranger,
}

/// From now on, writes the security log to this file. Events go to the ordinary log if it cannot be
/// opened.
pub fn log_to(path: &Path) {
    use_file(path, LogFile::open(path, Readers::Owner).map_err(|error| error.to_string()));
}

/// The same for a file that was opened, or not.
pub(crate) fn use_file(path: &Path, file: Result<LogFile, String>) {
    let opened = file.and_then(|of_members| {
        let of_strangers = of_members.open_second("strangers").map_err(|error| error.to_string())?;
        Ok([of_members, of_strangers])
    });
    match opened {
        Ok(files) => lock(&JOURNAL).files = Some(files),
        Err(error) => log::announce(
            log::level::ERROR,
            format_args!(
                "the security log {} is not used: {error}; name another file in SCHWANN_SECURITY_LOG",
                path.display()
            ),
        ),
    }
}

/// Writes an event; says whether it was not one of too many.
pub(super) fn write(cause: Cause, kind: &'static str, fields: &[(&str, &dyn Display)]) -> bool {
    let mut state = lock(&JOURNAL);
    let Some(left_out) = state.admit(cause, kind) else { return false };
    let line = line(SystemTime::now(), kind, fields, left_out);
    if let Some([of_members, of_strangers]) = &mut state.files {
        let file = if cause == Cause::Member { of_members } else { of_strangers };
        match file.append(&line) {
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

struct Journal {
    /// What members caused, and what strangers did.
    files: Option<[LogFile; 2]>,
    kinds: [Kind; KINDS],
}

/// How many events of one kind there were lately.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    cause: Cause,
    since: Option<Instant>,
    written: u32,
    left_out: u32,
}

impl Cause {
    fn per_second(self) -> u32 {
        match self {
            Self::Member => PER_SECOND,
            Self::Stranger => PER_SECOND_OF_STRANGERS,
        }
    }
}

impl Journal {
    /// Lets an event through, with the number of those before that were not; nothing if there are too many.
    fn admit(&mut self, cause: Cause, name: &'static str) -> Option<u32> {
        let is_it = |kind: &Kind| kind.name == name && kind.cause == cause;
        let kind = self.kinds.iter_mut().find(|kind| is_it(kind) || kind.name.is_empty())?;
        (kind.name, kind.cause) = (name, cause);
        let now = Instant::now();
        if kind.since.is_none_or(|since| now.duration_since(since).as_secs() > 0) {
            (kind.since, kind.written) = (Some(now), 0);
        }
        if kind.written >= cause.per_second() {
            kind.left_out = kind.left_out.saturating_add(1);
            return None;
        }
        kind.written += 1;
        Some(core::mem::take(&mut kind.left_out))
    }
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
                c if log::steers_terminals(c) => write!(self.0, "\\u{:04x}", u32::from(c))?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

fn lock(journal: &Mutex<Journal>) -> std::sync::MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Events of a kind that are written in one second.
const PER_SECOND: u32 = 20;
/// The same for what strangers cause.
const PER_SECOND_OF_STRANGERS: u32 = 5;
/// Kinds of events that are counted, by who caused them; there are fewer.
const KINDS: usize = 32;
const NO_KIND: Kind = Kind { name: "", cause: Cause::Member, since: None, written: 0, left_out: 0 };
static JOURNAL: Mutex<Journal> = Mutex::new(Journal { files: None, kinds: [NO_KIND; KINDS] });

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
        let mut state = Journal { files: None, kinds: [NO_KIND; KINDS] };
        let mut written = |cause| (0..1000).filter(|_| state.admit(cause, "refuse").is_some()).count();
        let (strangers, members) = (written(Cause::Stranger), written(Cause::Member));
        assert!((5..=10).contains(&strangers) && (20..=40).contains(&members), "{strangers} {members}");
        assert_eq!(state.admit(Cause::Stranger, "replay"), Some(0), "other kinds are not held up");
        std::thread::sleep(Duration::from_millis(1100));
        let left_out = 1000 - u32::try_from(members).expect("few");
        assert_eq!(state.admit(Cause::Member, "refuse"), Some(left_out));
    }
}
