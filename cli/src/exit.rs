//! How the program ends: its exit codes, and the only place that turns errors into text.

use core::fmt;
use std::io;
use std::process::ExitCode;

use schwann_dash::ServeError;
use schwann_recorder::AddError;

use crate::terminal::printable;

/// What a command ends with.
pub(crate) type Outcome = Result<Exit, Problem>;

/// How a command ended that did its work. The numbers are part of the program's interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// All is well.
    Good = 0,
    /// The command worked and found something wrong.
    Found = 1,
    /// The command line makes no sense; clap's own number for it.
    Usage = 2,
}

/// Why a command could not do its work: one sentence for the person at the terminal.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Says what, and to which file or stream it happened.
    Failed(String),
    /// The reader of our output has stopped, as `head` does. Nothing to say. A command that does more than say something goes on:
    /// see [`told`].
    NobodyReads,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(what) => out.write_str(&plain(what)),
            Self::NobodyReads => out.write_str("no program reads the output"),
        }
    }
}

impl Problem {
    /// Says that `error` happened to `subject`, a file or a stream.
    pub(crate) fn with(subject: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::Failed(format!("{}: {error}", printable(&subject.to_string())))
    }
}

/// An error of the system in words for people: without its number, and with the remedy if none is said behind it.
fn plain(error: &str) -> String {
    let Some((words, number)) = error.split_once(" (os error ") else { return error.to_owned() };
    let Some((number, rest)) = number.split_once(')') else { return error.to_owned() };
    let kind = number.parse().map(|number| io::Error::from_raw_os_error(number).kind());
    let what_to_do = match kind {
        _ if !rest.is_empty() => "",
        Ok(io::ErrorKind::NotFound) => "; check how it is written, and that its folder exists",
        Ok(io::ErrorKind::AlreadyExists) => "; existing files are never replaced: name another file",
        Ok(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            "; make room, or name a file on another disk"
        }
        Ok(io::ErrorKind::ReadOnlyFilesystem) => "; name a file on another disk",
        _ => "",
    };
    format!("{words}{what_to_do}{rest}")
}

impl From<ServeError> for Problem {
    fn from(error: ServeError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<AddError> for Problem {
    fn from(error: AddError) -> Self {
        Self::with(error.name, error.error)
    }
}

impl From<io::Error> for Problem {
    /// Takes an error of writing to the terminal.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::with("output", error),
        }
    }
}

/// Lets a command go on and end with the code that its work earned, though no program reads what it says any more.
pub(crate) fn told(said: io::Result<()>) -> Result<(), Problem> {
    match said.map_err(Problem::from) {
        Err(Problem::NobodyReads) => Ok(()),
        other => other,
    }
}

/// Turns what a command ended with into the program's exit code, and says what went wrong.
pub(crate) fn conclude(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(Problem::NobodyReads) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("schwann: {problem}");
            ExitCode::from(FAILED)
        }
    }
}

/// The end of every command's help.
pub(crate) const HELP: &str = "\
Exit codes:
  0  all is well
  1  the command worked and found a problem
  2  the command line is invalid
  3  the command failed; one line on standard error says why
  130  a second Ctrl-C ended the command before its work was done";

/// The command could not do its work.
const FAILED: u8 = 3;

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn errors_of_the_system_are_words() {
        let [exists, full] = if cfg!(windows) { [80, 112] } else { [17, 28] };
        for (number, remedy) in [
            (exists, "existing files are never replaced: name another file"),
            (full, "make room, or name a file on another disk"),
        ] {
            assert_eq!(plain(&format!("It failed (os error {number})")), format!("It failed; {remedy}"));
        }
        let cases = [
            ("it failed: No such file or directory (os error 2)!", "it failed: No such file or directory!"),
            ("a sentence (of ours)", "a sentence (of ours)"),
        ];
        for (error, words) in cases {
            assert_eq!(plain(error), words);
        }
    }
}
