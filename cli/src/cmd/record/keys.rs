//! The keyboard that drives a recording.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::sys::{HiddenInput, read_keys};

/// What a person typed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Wish {
    /// `r`: record.
    Start,
    /// `s`: stop recording.
    Stop,
    /// `n`: go on in the next file.
    NextRun,
    /// `a`, a text, Enter: a note.
    Annotate(String),
    /// `q`: end the program.
    Quit,
}

/// The keys that are typed, if a person sits there.
pub(super) struct Keyboard {
    /// Gives the terminal back as it was.
    _mode: HiddenInput,
    typed: Receiver<u8>,
    note: Option<Vec<u8>>,
}

impl Keyboard {
    /// Takes keys from the terminal; nothing if there is none, or another program has it.
    pub(super) fn open() -> Option<Self> {
        if !io::stdin().is_terminal() {
            return None;
        }
        let mode = HiddenInput::begin_keys()?;
        let (sender, typed) = channel();
        let read = move || {
            let mut keys = Vec::new();
            while read_keys(&mut keys) {
                if keys.drain(..).any(|key| sender.send(key).is_err()) {
                    return;
                }
            }
        };
        thread::Builder::new().name("keyboard".to_owned()).spawn(read).ok()?;
        Some(Self { _mode: mode, typed, note: None })
    }

    /// What was wished for since the last call.
    pub(super) fn wishes(&mut self) -> Vec<Wish> {
        let keys: Vec<u8> = self.typed.try_iter().collect();
        keys.into_iter().filter_map(|key| take(&mut self.note, key)).collect()
    }

    /// The line that says which keys there are, or what has been typed of a note.
    pub(super) fn prompt(&self, is_recording: bool) -> String {
        match (&self.note, is_recording) {
            (Some(note), _) => {
                format!("  note: {}_   (Enter keeps it, Esc does not)", String::from_utf8_lossy(note))
            }
            (None, true) => "  keys: n next run, a annotate, s stop".to_owned(),
            (None, false) => "  keys: r record, q quit".to_owned(),
        }
    }
}

/// Takes in a key. While a note is being typed, keys are its text.
fn take(note: &mut Option<Vec<u8>>, key: u8) -> Option<Wish> {
    if note.is_some() {
        return take_text(note, key);
    }
    match key {
        b'r' => Some(Wish::Start),
        b's' => Some(Wish::Stop),
        b'n' => Some(Wish::NextRun),
        b'q' => Some(Wish::Quit),
        b'a' => {
            *note = Some(Vec::new());
            None
        }
        _ => None,
    }
}

/// Takes in a key of a note.
fn take_text(note: &mut Option<Vec<u8>>, key: u8) -> Option<Wish> {
    let text = note.as_mut()?;
    match key {
        b'\r' | b'\n' => {
            let text = String::from_utf8_lossy(text).trim().to_owned();
            *note = None;
            (!text.is_empty()).then_some(Wish::Annotate(text))
        }
        ESCAPE => {
            *note = None;
            None
        }
        BACKSPACE | DELETE => {
            // The bytes of a character that took several go together.
            while text.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
            None
        }
        0..32 => None,
        _ => {
            if text.len() < NOTE_BYTES_MAX {
                text.push(key);
            }
            None
        }
    }
}

const ESCAPE: u8 = 0x1b;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 0x7f;
const NOTE_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(typed: &str) -> Vec<Wish> {
        let mut note = None;
        typed.bytes().filter_map(|key| take(&mut note, key)).collect()
    }

    #[test]
    fn keys_are_wishes_unless_they_are_the_text_of_a_note() {
        assert_eq!(wishes("rnsx"), [Wish::Start, Wish::NextRun, Wish::Stop]);
        assert_eq!(wishes("asnörß\u{7f}e\rq"), [Wish::Annotate("snöre".into()), Wish::Quit]);
        assert_eq!(wishes("aabc\u{1b}n"), [Wish::NextRun]);
        assert_eq!(wishes("a  \r"), []);
    }
}
