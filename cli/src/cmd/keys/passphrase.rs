//! Where passphrases come from: the environment, or the user at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use schwann::security::TrustError;
use schwann::security::keys::{keep_from_swap, store};
use zeroize::Zeroizing;

use super::failed;
use super::text::Secret;
use crate::exit::Problem;
use crate::sys::HiddenInput;

/// What the passphrase of something opens, and that passphrase. A slip at the terminal is asked for again: who has the file tries
/// as often as he likes anyway.
pub(super) fn opens<T>(
    what: &str,
    open: impl Fn(&[u8]) -> Result<T, TrustError>,
) -> Result<(T, Secret), Problem> {
    let is_typed = store::passphrase().map_err(failed)?.is_none();
    for _ in 1..if is_typed { ATTEMPTS } else { 1 } {
        let passphrase = one(what, ask)?;
        match open(&passphrase) {
            Ok(content) => return Ok((content, passphrase)),
            Err(error) => eprintln!("{error}"),
        }
    }
    let passphrase = one(what, ask)?;
    let content = open(&passphrase).map_err(failed)?;
    Ok((content, passphrase))
}

/// A passphrase for something new: typed twice, for a slip would lock it for ever.
pub(super) fn fresh(what: &str) -> Result<Secret, Problem> {
    one(what, |what| twice(what, &mut ask))
}

/// The environment's, else what the terminal says.
fn one(what: &str, ask: impl FnOnce(&str) -> Result<Secret, Problem>) -> Result<Secret, Problem> {
    match store::passphrase().map_err(failed)? {
        Some(passphrase) => {
            keep_from_swap(&passphrase);
            Ok(passphrase)
        }
        None if io::stdin().is_terminal() => ask(what),
        None => Err(Problem::Failed(format!(
            "{what} is needed, and there is no terminal; set SCHWANN_PASSPHRASE or SCHWANN_PASSPHRASE_FILE"
        ))),
    }
}

fn twice(what: &str, ask: &mut dyn FnMut(&str) -> Result<Secret, Problem>) -> Result<Secret, Problem> {
    for _ in 0..ATTEMPTS {
        let first = ask(what)?;
        if first.is_empty() {
            return Err(Problem::Failed(format!("{what} must not be empty")));
        }
        // The only one who could time this comparison has typed both.
        if first == ask("the same once more")? {
            return Ok(first);
        }
        eprintln!("These two differ.");
    }
    Err(Problem::Failed(String::from("the two passphrases differed again and again; nothing was written")))
}

/// Reads a line that may be shown; empty at the end.
pub(super) fn line() -> Result<Secret, Problem> {
    let mut line = Zeroizing::new(" ".repeat(LONGEST));
    line.clear();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    Ok(Secret::new(line.as_bytes().to_vec()))
}

/// Asks a question of yes or no; anything but yes is no.
pub(super) fn confirm(question: &str) -> Result<bool, Problem> {
    eprint!("{question}");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Asks for a passphrase; what is typed is not shown where the terminal can be told so.
fn ask(what: &str) -> Result<Secret, Problem> {
    let hidden = HiddenInput::begin();
    // Only now, for people type as soon as they are asked.
    eprint!("{what}: ");
    io::stderr().flush()?;
    let mut line = Zeroizing::new(" ".repeat(LONGEST));
    keep_from_swap(line.as_bytes());
    line.clear();
    let read = io::stdin().lock().read_line(&mut line);
    if let Some(hidden) = hidden {
        drop(hidden);
        eprintln!();
    }
    read?;
    let passphrase = Zeroizing::new(line.trim_end_matches(['\r', '\n']).as_bytes().to_vec());
    keep_from_swap(&passphrase);
    Ok(passphrase)
}

/// How often something is asked for at most.
const ATTEMPTS: usize = 3;
/// Bytes that a terminal hands over at once; a text that does not grow leaves no copy behind.
const LONGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of these answers, and how many were asked for.
    fn typed(answers: &[&str]) -> (Option<String>, usize) {
        let (mut left, mut asked) = (answers.iter(), 0);
        let outcome = twice("a passphrase", &mut |_| {
            asked += 1;
            Ok(Secret::new(left.next().expect("an answer").as_bytes().to_vec()))
        });
        (outcome.ok().map(|secret| String::from_utf8_lossy(&secret).into_owned()), asked)
    }

    #[test]
    fn a_new_passphrase_counts_once_it_was_typed_twice_alike() {
        assert_eq!(typed(&["horse", "horse"]), (Some("horse".into()), 2));
        assert_eq!(typed(&["horse", "hosre", "battery", "battery"]), (Some("battery".into()), 4));
        assert_eq!(typed(&["a", "b", "a", "b", "a", "b"]), (None, 6));
        assert_eq!(typed(&[""]), (None, 1));
    }
}
