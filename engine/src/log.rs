//! Messages to the standard error stream or to `log.file`, for people who look for a fault.
//!
//! A message that is below the level costs one relaxed atomic read and formats nothing. Before
//! the configuration is loaded the level is "warning" and messages go to the standard error stream. Logging never fails and
//! never waits for another program, but for the stream or the file itself. There is no filtering by module.
//!
//! Line format: `date time ( uptime s) [thread] file:line LEVEL| message`, with the date and time in UTC.
//! Source: lsl-wire §23.

use core::{
    fmt,
    sync::atomic::{AtomicI8, AtomicU32, AtomicU64, Ordering},
};
use std::{
    io::Write,
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
    thread,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

mod file;

pub(crate) use self::file::{LogFile, Readers};

/// Levels that have names; 1 to 9 are more and more verbose.
pub mod level {
    /// The program cannot go on.
    pub const FATAL: i8 = -3;
    /// Something did not work.
    pub const ERROR: i8 = -2;
    /// Something may not work as its user expects.
    pub const WARNING: i8 = -1;
    /// Something worth knowing happened.
    pub const INFO: i8 = 0;
}

/// Begins to log messages up to `level`.
pub(crate) fn start(level: i8) {
    START.get_or_init(Instant::now);
    LEVEL.store(level, Ordering::Relaxed);
}

/// From now on, writes messages to the file that `log.file` names. They go to the standard error stream if it
/// cannot be opened.
pub(crate) fn use_file(path: &Path, file: Result<LogFile, String>) {
    match file {
        Ok(file) => *SINK.lock().unwrap_or_else(PoisonError::into_inner) = Some(file),
        Err(error) => {
            announce(level::ERROR, format_args!("log.file {} is not used: {error}", path.display()))
        }
    }
}

/// Prints fatal messages alone from now on: for a program whose answer says by itself what a log would say.
pub fn hush() {
    LEVEL.store(level::FATAL, Ordering::Relaxed);
}

/// Whether messages of `level` are printed.
#[inline]
pub fn enabled(level: i8) -> bool {
    level <= LEVEL.load(Ordering::Relaxed)
}

/// Prints a message; the caller checks [`enabled`] before.
pub fn write(level: i8, file: &str, line: u32, message: fmt::Arguments<'_>) {
    let text = Line { level, file, line, message, now: SystemTime::now() }.to_string();
    emit(&text);
}

/// Prints a message at every level, on the standard error stream as well as in `log.file`.
pub(crate) fn announce(level: i8, message: fmt::Arguments<'_>) {
    let now = SystemTime::now();
    let text = Line { level, file: file!(), line: line!(), message, now }.to_string();
    if emit(&text) == Sink::File {
        to_stderr(&text);
    }
}

/// Lets a limited number of messages per second through, so that a peer cannot fill the disk.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    second: AtomicU64,
    printed: AtomicU32,
}

impl Throttle {
    /// Whether one more message may be printed in the present second.
    pub(crate) fn allows(&self) -> bool {
        let second = START.get_or_init(Instant::now).elapsed().as_secs() + 1;
        if self.second.swap(second, Ordering::Relaxed) != second {
            self.printed.store(0, Ordering::Relaxed);
        }
        self.printed.fetch_add(1, Ordering::Relaxed) < MESSAGES_PER_SECOND
    }
}

/// One line of the log.
struct Line<'a> {
    level: i8,
    file: &'a str,
    line: u32,
    message: fmt::Arguments<'a>,
    now: SystemTime,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uptime = START.get_or_init(Instant::now).elapsed().as_secs_f64();
        let thread = thread::current();
        let thread = thread.name().unwrap_or("unnamed");
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or(self.file);
        write_utc(self.now, ' ', f)?;
        write!(f, " ({uptime:8.3}s) [{thread:<16}] ")?;
        write!(f, "{file:>23}:{:<5} {:>4}| {}", self.line, LevelName(self.level), Plain(self.message))
    }
}

/// A time as RFC 3339 writes it, in UTC and milliseconds.
pub struct Utc(pub SystemTime);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_utc(self.0, 'T', f)
    }
}

fn write_utc(time: SystemTime, between: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil_date(since_1970.as_secs() / 86_400);
    let second = since_1970.as_secs() % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    write!(f, "{year:04}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}")?;
    write!(f, ".{:03}Z", since_1970.subsec_millis())
}

struct LevelName(i8);

impl fmt::Display for LevelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..=level::FATAL => f.pad("FATL"),
            level::ERROR => f.pad("ERR"),
            level::WARNING => f.pad("WARN"),
            level::INFO => f.pad("INFO"),
            verbose => f.pad(&verbose.to_string()),
        }
    }
}

/// A message without control characters: names from the network cannot forge lines or drive a terminal.
struct Plain<'a>(fmt::Arguments<'a>);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut escaped = Escaped(f);
        fmt::Write::write_fmt(&mut escaped, self.0)
    }
}

/// Whether a terminal does more with a character than show it. It may be a control character. Or it turns the
/// direction of text around and makes a name look like another.
pub fn steers_terminals(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(steers_terminals) {
            match part.char_indices().next_back() {
                Some((at, last)) if steers_terminals(last) => {
                    self.0.write_str(&part[..at])?;
                    write!(self.0, "{}", last.escape_default())?;
                }
                _ => self.0.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// Where a line went.
#[derive(Eq, PartialEq)]
enum Sink {
    File,
    Stderr,
}

fn emit(text: &str) -> Sink {
    // One write per line, so that processes which share the file do not mix their lines.
    if let Some(file) = &mut *SINK.lock().unwrap_or_else(PoisonError::into_inner)
        && file.append(&format!("{text}\n")).is_ok()
    {
        return Sink::File;
    }
    to_stderr(text);
    Sink::Stderr
}

fn to_stderr(text: &str) {
    // A closed standard error stream leaves no place to report it.
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// Year, month and day of the day counted from 1970-01-01 in the Gregorian calendar.
///
/// Counts in eras of 400 years from 1 March, which makes the leap day the last day of a year.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

macro_rules! at_level {
    ($level:expr, $($message:tt)*) => {
        if $crate::log::enabled($level) {
            $crate::log::write($level, file!(), line!(), format_args!($($message)*));
        }
    };
}
#[allow(unused_macros, reason = "not every level has a message yet")]
macro_rules! error {
    ($($message:tt)*) => { $crate::log::at_level!($crate::log::level::ERROR, $($message)*) };
}
macro_rules! warning {
    ($($message:tt)*) => { $crate::log::at_level!($crate::log::level::WARNING, $($message)*) };
}
macro_rules! info {
    ($($message:tt)*) => { $crate::log::at_level!($crate::log::level::INFO, $($message)*) };
}
macro_rules! verbose {
    ($level:literal, $($message:tt)*) => { $crate::log::at_level!($level, $($message)*) };
}
#[allow(unused_imports, reason = "not every level has a message yet")]
pub(crate) use {at_level, error, info, verbose, warning};

const MESSAGES_PER_SECOND: u32 = 10;

static LEVEL: AtomicI8 = AtomicI8::new(level::WARNING);
static SINK: Mutex<Option<LogFile>> = Mutex::new(None);
static START: OnceLock<Instant> = OnceLock::new();

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn line(message: fmt::Arguments<'_>) -> String {
        let now = UNIX_EPOCH + Duration::from_millis(1_709_164_799_042);
        Line { level: level::WARNING, file: "engine/src/log.rs", line: 7, message, now }.to_string()
    }

    #[test]
    fn a_line_has_the_format_of_the_original() {
        let line = line(format_args!("three {}", 3));
        let (date, rest) = line.split_once(" (").expect("an uptime follows");
        assert_eq!(date, "2024-02-28 23:59:59.042Z");
        let (uptime, rest) = rest.split_once("s) [").expect("a thread follows");
        assert!(uptime.trim().parse::<f64>().expect("a number") >= 0.0);
        let (_, rest) = rest.split_once("] ").expect("a place follows");
        assert_eq!(rest.trim_start(), "log.rs:7     WARN| three 3");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert!(line(format_args!("a\nb\x1b[2Jc{}", "\r")).ends_with("| a\\nb\\u{1b}[2Jc\\r"));
        assert!(line(format_args!("EEG\u{202e}gpj")).ends_with("| EEG\\u{202e}gpj"));
    }

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (19_782, (2024, 2, 29)),
            (20_778, (2026, 11, 21)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(civil_date(days), date);
        }
    }

    #[test]
    fn a_flood_of_messages_is_cut() {
        let throttle = Throttle::default();
        let printed = (0..1000).filter(|_| throttle.allows()).count();
        // The flood may straddle the end of a second.
        assert!((10..=20).contains(&printed), "{printed}");
    }
}
