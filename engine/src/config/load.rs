//! Where the configuration comes from, and what happened on the way.

use core::fmt;
use std::{fs, io, path::PathBuf};

use super::{Config, Note, NoteKind, SyntaxError};
use crate::environment;

/// The places where a configuration may be, in the order of their precedence.
///
/// Source: lsl-wire §2.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Search {
    /// A configuration text; comes first.
    pub content: Option<String>,
    /// Files that must exist: the one in `LSLAPICFG`, then the one that the program names.
    pub required: Vec<PathBuf>,
    /// Files that may be there.
    pub optional: Vec<PathBuf>,
}

/// A place where a configuration was looked for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Origin {
    /// The text given to [`set_config_content`](crate::set_config_content).
    Content,
    /// A file.
    File(PathBuf),
}

/// Why a configuration text cannot be used: a line is not INI.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Invalid {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub error: SyntaxError,
}

/// What became of one candidate.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is in use.
    Loaded {
        /// What its author may not have meant.
        notes: Vec<Note>,
    },
    /// It does not parse; nothing of it is used.
    Invalid(Invalid),
    /// It is not there or cannot be read.
    Unreadable(io::ErrorKind),
}

/// One candidate and what became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attempt {
    /// Where it came from.
    pub origin: Origin,
    /// What became of it.
    pub outcome: Outcome,
}

/// Every candidate that was tried. If none was loaded, the defaults are in use.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LoadReport {
    /// The candidates in the order in which they were tried. Optional files that are absent are left out.
    pub attempts: Vec<Attempt>,
}

impl Search {
    /// The candidates for this process, without what a program may add.
    pub fn from_environment() -> Self {
        let file_in = |directory: PathBuf| directory.join(FILE_NAME);
        let home = home().map(|home| file_in(home.join("lsl_api")));
        // A user may start a program with more rights than the user's own, and chooses
        // its folder.
        let local = (!environment::has_rights_of_its_own()).then(|| PathBuf::from(FILE_NAME));
        // The path under /etc is tried literally on every system, as the original does.
        let optional = [local, home, Some(file_in("/etc/lsl_api".into()))];
        Self {
            content: None,
            required: environment::variable("LSLAPICFG").map(PathBuf::from).into_iter().collect(),
            optional: optional.into_iter().flatten().collect(),
        }
    }

    /// Tries the candidates until one is valid; with none, the defaults are used.
    pub fn load(&self) -> (Config, LoadReport) {
        let mut report = LoadReport::default();
        let content = self.content.iter().map(|text| (Origin::Content, Ok(text.clone())));
        let read = |path: &PathBuf| (Origin::File(path.clone()), read_text(path));
        let required = self.required.iter().map(read);
        let optional = self.optional.iter().filter(|path| path.is_file()).map(read);
        let mut has_lost_policy = false;
        for (origin, text) in content.chain(required).chain(optional) {
            let speaks = text.as_deref().is_ok_and(speaks_of_security);
            let (config, outcome) = Self::attempt(text);
            report.attempts.push(Attempt { origin: origin.clone(), outcome });
            if let Some(config) = config {
                let is_substitute = report.attempts.len() > 1;
                let beneath = self.beneath(&origin, is_substitute).map(Box::new);
                let origin = Some(origin);
                return (Config { is_substitute, has_lost_policy, beneath, origin, ..config }, report);
            }
            has_lost_policy |= speaks;
        }
        let is_substitute = !report.attempts.is_empty();
        (Config { is_substitute, has_lost_policy, ..Config::default() }, report)
    }

    /// The configuration that would count if `origin`, a file in the current folder, were not there. None if
    /// `origin` is elsewhere.
    fn beneath(&self, origin: &Origin, is_substitute: bool) -> Option<Config> {
        let Origin::File(path) = origin else { return None };
        let at = self.optional.iter().position(|optional| optional == path && path.is_relative())?;
        let rest = self.optional.get(at + 1..).unwrap_or_default();
        let whole = fs::canonicalize(path).ok();
        if rest.iter().any(|other| whole.is_some() && fs::canonicalize(other).ok() == whole) {
            return None;
        }
        let (beneath, _) = Self { optional: rest.to_vec(), ..Self::default() }.load();
        Some(Config { is_substitute: is_substitute || beneath.is_substitute, ..beneath })
    }

    fn attempt(text: io::Result<String>) -> (Option<Config>, Outcome) {
        let text = match text {
            Ok(text) => text,
            Err(error) => return (None, Outcome::Unreadable(error.kind())),
        };
        match Config::parse_with_notes(&text) {
            Ok((config, notes)) => (Some(config), Outcome::Loaded { notes }),
            Err(invalid) => (None, Outcome::Invalid(invalid)),
        }
    }
}

/// Whether a configuration has a section on security, however the rest of it reads.
fn speaks_of_security(text: &str) -> bool {
    let heads = text.lines().filter_map(|line| line.trim().strip_prefix('[')?.split(']').next());
    heads.map(str::trim).any(|section| section.eq_ignore_ascii_case("security"))
}

impl LoadReport {
    /// The candidate in use; `None` if it is the defaults.
    pub fn origin(&self) -> Option<&Origin> {
        let loaded = |attempt: &&Attempt| matches!(attempt.outcome, Outcome::Loaded { .. });
        self.attempts.iter().find(loaded).map(|attempt| &attempt.origin)
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for attempt in &self.attempts {
            writeln!(f, "{attempt}")?;
            if let Outcome::Loaded { notes } = &attempt.outcome {
                notes.iter().try_for_each(|note| writeln!(f, "{}, {note}", attempt.origin))?;
            }
        }
        if self.origin().is_none() {
            writeln!(f, "configuration: the built-in defaults are in use")?;
        }
        Ok(())
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Loaded { .. } => write!(f, "configuration: loaded {}", self.origin),
            Outcome::Invalid(invalid) => {
                write!(f, "configuration: {} is NOT used: {invalid}", self.origin)
            }
            Outcome::Unreadable(kind) => {
                write!(f, "configuration: {} is NOT used: it cannot be read ({kind})", self.origin)
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content => f.write_str("the text set by the program"),
            // With its whole path: a program's folder is easily forgotten.
            Self::File(path) => {
                let whole = std::path::absolute(path);
                write!(f, "{}", whole.as_deref().unwrap_or(path).display())
            }
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} {}", self.line, self.error)
    }
}

impl core::error::Error for Invalid {}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, kind } = self;
        match kind {
            NoteKind::NoEffect => write!(f, "line {line}: {key} is accepted and has no effect"),
            NoteKind::TrailingText => write!(f, "line {line}: {key}: text behind the number is ignored"),
            NoteKind::UnknownKey if self.is_of_security() => {
                write!(
                    f,
                    "line {line}: {key} is no known key, so streams must be sealed until it is corrected"
                )
            }
            NoteKind::UnknownKey => write!(f, "line {line}: {key} is no known key and is ignored"),
            NoteKind::WithoutBraces => {
                write!(f, "line {line}: {key} is empty, because a list needs braces: {{a, b}}")
            }
            NoteKind::WrongValue(error) => {
                write!(f, "line {line}: {key} {error}, so its default counts")
            }
        }
    }
}

/// Reads a file. Bytes that are not UTF-8 become replacement characters instead of an error, because
/// the original takes any bytes.
fn read_text(path: &PathBuf) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

fn home() -> Option<PathBuf> {
    let direct = environment::variable("HOME").or_else(|| environment::variable("USERPROFILE"));
    let joined = || {
        let mut home = environment::variable("HOMEDRIVE")?;
        home.push(environment::variable("HOMEPATH")?);
        Some(home)
    };
    direct.or_else(joined).map(PathBuf::from)
}

const FILE_NAME: &str = "lsl_api.cfg";
