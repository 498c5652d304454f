//! The file with the configuration, as a person or a command changes it: its path, and one value in its text.
//!
//! Comments and the order of lines stay as they are. A text that the library would not take is never written.

use core::ops::Range;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use schwann::Config;
use schwann::config::{Ini, Note, NoteKind, Origin, Outcome, Search};
use schwann::security::{Admitted, Pins, Policy};

use crate::exit::Problem;
use crate::synced;

/// The file in use, or the one in its place that has an error; else this user's own, which may not exist yet.
pub(crate) fn path() -> PathBuf {
    path_of(Search::from_environment())
}

/// The same for what weakens or names devices: a file in the current folder cannot (secure-session §6.4).
pub(crate) fn path_of_trust() -> PathBuf {
    let mut search = Search::from_environment();
    search.optional.retain(|path| path.is_absolute());
    path_of(search)
}

fn path_of(search: Search) -> PathBuf {
    let (_, report) = search.load();
    let there = report.attempts.into_iter().find_map(|attempt| match (attempt.origin, attempt.outcome) {
        (Origin::File(path), Outcome::Loaded { .. } | Outcome::Invalid(_)) => Some(path),
        _ => None,
    });
    let named = || search.required.first().cloned();
    // Behind the one in the current folder.
    let own = || search.optional.iter().find(|path| path.is_absolute()).cloned();
    let path = there.or_else(named).or_else(own).unwrap_or_else(|| PathBuf::from("lsl_api.cfg"));
    std::path::absolute(&path).unwrap_or(path)
}

/// Says so if a variable is set that comes before a value of the file.
pub(crate) fn tell_overruled(full_key: &str) {
    let variable = match full_key {
        "security.policy" => "SCHWANN_SECURITY",
        "security.plain" => "SCHWANN_SECURITY_PLAIN",
        "security.log" => "SCHWANN_SECURITY_LOG",
        "tuning.LocalSocket" => "SCHWANN_LOCAL_SOCKET",
        _ => return,
    };
    if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
        eprintln!("schwann: {variable} is set here, and comes before {full_key}: unset {variable}");
    }
}

/// Waits until no other command changes the file; others wait until this is dropped. To be held from the reading of a
/// value to the writing of the next.
///
/// The folder is locked, as the file is replaced. Where a folder cannot be locked, the later command wins.
pub(crate) fn turn(path: &Path) -> Option<File> {
    let folder = path.parent()?;
    // What is wrong with the folder shows when the file is written.
    let _ = fs::create_dir_all(folder);
    let folder = File::open(folder).ok()?;
    folder.lock().ok().map(|()| folder)
}

/// The text of the file; empty if there is none.
pub(crate) fn text(path: &Path) -> Result<String, Problem> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

/// The bytes of the file; none if it does not exist.
fn bytes(path: &Path) -> Result<Vec<u8>, Problem> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| Problem::with(path.display(), error)),
    }
}

/// Writes a value into the file, or removes it. Creates the file and its folder if they are missing.
pub(crate) fn set(path: &Path, section: &str, key: &str, value: Option<&str>) -> Result<(), Problem> {
    if value.is_some_and(|value| value.contains(char::is_control)) {
        // A second line would be a setting of its own, and the value may come from the network.
        return Err(Problem::with(
            path.display(),
            "nothing was written: a value is one line without control characters",
        ));
    }
    // A link stays one, and the file behind it is changed.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let next = "nothing was changed: it is no file; name one in LSLAPICFG, or unset that";
        return Err(Problem::with(path.display(), next));
    }
    if section.chars().chain(key.chars()).any(|letter| letter.is_control() || "[]=;#".contains(letter)) {
        return Err(Problem::with(
            path.display(),
            "nothing was written: a key is a word, such as lab.SessionID",
        ));
    }
    let before = String::from_utf8(bytes(path)?).map_err(|_| {
        let next = "nothing was changed: it has letters that are no UTF-8; save it as UTF-8 in an editor, and run this again";
        Problem::with(path.display(), next)
    })?;
    let after = changed(&before, section, key, value);
    check(&after, section, key).map_err(|complaint| Problem::with(path.display(), complaint))?;
    write(path, &after)
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Problem::with(folder.display(), error))?;
    }
    let fresh = path.with_added_extension(format!("{}.new", std::process::id()));
    let written = synced::write(&fresh, text.as_bytes())
        .and_then(|()| keep_mode(path, &fresh))
        .and_then(|()| fs::rename(&fresh, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&fresh);
        let next = "nothing was changed; make room or make the folder writable for you, and run this again";
        Problem::with(path.display(), format_args!("{error}; {next}"))
    })
}

/// The new file is readable by whom the old one was.
fn keep_mode(old: &Path, new: &Path) -> io::Result<()> {
    match fs::metadata(old) {
        Ok(metadata) => fs::set_permissions(new, metadata.permissions()),
        Err(_) => Ok(()),
    }
}

/// Whether the library takes the text, and knows the key.
fn check(text: &str, section: &str, key: &str) -> Result<(), String> {
    check_trust(text, section, key).map_err(|error| format!("nothing was written: {error}"))?;
    let parsed = Config::parse_with_notes(text);
    let (_, notes) = parsed.map_err(|invalid| format!("nothing was written, because {invalid}"))?;
    let full = format!("{section}.{key}");
    let is_odd =
        |note: &&Note| note.key == full && !matches!(note.kind, NoteKind::NoEffect | NoteKind::TrailingText);
    match notes.iter().find(is_odd).map(|note| (note, note.kind)) {
        None => Ok(()),
        Some((_, NoteKind::WrongValue(error))) => Err(format!("nothing was written: {full} {error}")),
        Some((note, _)) => Err(format!("nothing was written: {note}")),
    }
}

/// Whether a value by which this computer trusts others is one of those that there are.
fn check_trust(text: &str, section: &str, key: &str) -> Result<(), String> {
    let read = |key| Ini::parse(text).ok().and_then(|ini| ini.get("security", key).map(str::to_owned));
    match (section, key) {
        ("security", "plain") => Admitted::parse(&read(key).unwrap_or_default()).map(drop),
        // An unknown word would count as `require`.
        ("security", "policy") => match read(key) {
            Some(word) if Policy::of_word(&word).is_none() => {
                Err(format!("{word:?} is none of require, prefer and off"))
            }
            _ => Ok(()),
        },
        ("security", "pin") => Pins::parse(&read(key).unwrap_or_default()).map(drop),
        _ => Ok(()),
    }
}

/// The text with another value, or without it.
fn changed(text: &str, section: &str, key: &str, value: Option<&str>) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let heading = format!("[{section}]");
    let line = value.map(|value| format!("{key} = {value}"));
    let begins = lines.iter().position(|line| line.trim_end() == heading);
    let Some(begins) = begins else {
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return line.map_or_else(|| text.to_owned(), |line| format!("{text}{end}{gap}{heading}\n{line}\n"));
    };
    let after = lines.iter().skip(begins + 1).position(|line| line.starts_with('['));
    let ends = after.map_or(lines.len(), |offset| begins + 1 + offset);
    match (line_of(key, &lines, begins + 1..ends), &line) {
        (Some(at), Some(line)) => lines[at] = line,
        (Some(at), None) => {
            lines.remove(at);
        }
        (None, Some(line)) => {
            // Before the empty lines that part it from the next section.
            let last = lines[..ends].iter().rposition(|line| !line.trim().is_empty()).unwrap_or(begins);
            lines.insert(last + 1, line);
        }
        (None, None) => {}
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The line that sets a key, among those of its section.
fn line_of(key: &str, lines: &[&str], section: Range<usize>) -> Option<usize> {
    let is_key = |line: &&str| {
        line.split_once('=').is_some_and(|(name, _)| name.trim() == key) && !line.starts_with(';')
    };
    let mut within = lines.iter().skip(section.start).take(section.len());
    within.position(is_key).map(|offset| section.start + offset)
}

/// The entries of a set such as `{one, two}`.
pub(crate) fn entries(value: &str) -> Vec<String> {
    let inside = value.trim().trim_start_matches('{').trim_end_matches('}');
    inside.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// The value of a key in the file itself.
pub(crate) fn value(path: &Path, section: &str, key: &str) -> Result<Option<String>, Problem> {
    let ini = Ini::parse(&text(path)?);
    let ini =
        ini.map_err(|(line, error)| Problem::with(path.display(), format_args!("line {line} {error}")))?;
    Ok(ini.get(section, key).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_changed_and_everything_else_stays() {
        let text = "; ours\n[lab]\nSessionID = one\n; peers\nKnownPeers={a}\n\n[ports]\nIPv6=disable\n";
        assert_eq!(
            changed(text, "lab", "SessionID", Some("two")),
            text.replace("SessionID = one", "SessionID = two")
        );
        assert_eq!(changed(text, "lab", "KnownPeers", None), text.replace("KnownPeers={a}\n", ""));
        let more = changed(text, "lab", "ResolveOverTCP", Some("1"));
        assert_eq!(more, text.replace("KnownPeers={a}\n", "KnownPeers={a}\nResolveOverTCP = 1\n"));
        let section = changed(text, "tuning", "LocalSocket", Some("off"));
        assert_eq!(section, format!("{text}\n[tuning]\nLocalSocket = off\n"));
        assert_eq!(changed("", "lab", "SessionID", Some("x")), "[lab]\nSessionID = x\n");
        assert_eq!(changed("[lab]", "lab", "SessionID", Some("x")), "[lab]\nSessionID = x\n");
        assert_eq!(changed(text, "nothing", "key", None), text);
    }

    #[test]
    fn what_the_library_would_not_take_is_not_written() {
        let path = std::env::temp_dir().join(format!("schwann-config-{}.cfg", std::process::id()));
        let _ = fs::remove_file(&path);
        for (section, key, value) in [
            ("ports", "BasePort", "many"),
            ("ports", "BasePrt", "16572"),
            ("lab", "KnownPeers", "one"),
            ("lab", "SessionID", "x\n[security]\npolicy=off"),
            ("security", "plain", "name='Eyes"),
            ("security", "policy", "loud"),
            ("security", "pin", "name='EEG' -> amplifier"),
        ] {
            assert!(set(&path, section, key, Some(value)).is_err(), "{section}.{key} = {value}");
            assert!(!path.exists());
        }
        set(&path, "security", "policy", Some("prefer")).expect("written");
        set(&path, "ports", "BasePort", Some("16600")).expect("written");
        assert_eq!(value(&path, "ports", "BasePort").expect("read").as_deref(), Some("16600"));
        let _ = fs::remove_file(&path);
    }
}
