//! The INI dialect of `lsl_api.cfg`: lines in, full keys and values out.
//!
//! Source: lsl-wire §2. What a value *means* is decided in [`super::value`].

use core::fmt;
use std::collections::BTreeMap;

/// The entries of one configuration text, by full key (`section.key`).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ini {
    entries: BTreeMap<String, Entry>,
}

/// One value and the line that set it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) value: String,
}

/// A line that is not INI.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SyntaxError {
    /// The file starts with a UTF-8 byte-order mark; it must be saved without one.
    ByteOrderMark,
    /// The same key was set before, on the line given.
    Duplicate {
        /// The line of the first setting.
        first: usize,
    },
    /// There is nothing in front of `=`.
    NoKey,
    /// A line has no `=`, is no section and no `;` comment (`#` starts no comment here).
    NoEquals,
    /// There is nothing behind `=`; leave the line out to get the default.
    NoValue,
    /// A section name has no closing `]`.
    Unclosed,
}

impl Ini {
    /// Parses a whole configuration text.
    ///
    /// - Errors: the number of the first wrong line, counted from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, SyntaxError)> {
        if text.starts_with('\u{feff}') {
            return Err((1, SyntaxError::ByteOrderMark));
        }
        let mut ini = Self::default();
        let mut prefix = String::new();
        for (number, line) in (1..).zip(text.split('\n')) {
            ini.line(number, line, &mut prefix).map_err(|error| (number, error))?;
        }
        Ok(ini)
    }

    /// The value of `key` in `section`, as text; `None` if it is not set.
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        self.entry(&format!("{section}.{key}")).map(|entry| entry.value.as_str())
    }

    pub(super) fn entry(&self, full_key: &str) -> Option<&Entry> {
        self.entries.get(full_key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    fn line(&mut self, number: usize, line: &str, prefix: &mut String) -> Result<(), SyntaxError> {
        if line.starts_with(';') || line.trim_matches(WHITE).is_empty() {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix('[') {
            // The name is not trimmed: `[ lab ]` is a section of its own, as in the original.
            let (name, _) = rest.split_once(']').ok_or(SyntaxError::Unclosed)?;
            *prefix = format!("{name}.");
            return Ok(());
        }
        let (key, value) = line.split_once('=').ok_or(SyntaxError::NoEquals)?;
        let (key, value) = (key.trim_matches(WHITE), value.trim_matches(WHITE));
        if key.is_empty() {
            return Err(SyntaxError::NoKey);
        }
        if value.is_empty() {
            return Err(SyntaxError::NoValue);
        }
        let full_key = format!("{prefix}{key}");
        if let Some(first) = self.entries.get(&full_key) {
            return Err(SyntaxError::Duplicate { first: first.line });
        }
        self.entries.insert(full_key, Entry { line: number, value: value.to_owned() });
        Ok(())
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => f.write_str("starts with a UTF-8 byte-order mark; save it without one"),
            Self::Duplicate { first } => write!(f, "sets a key again that line {first} has set"),
            Self::NoKey => f.write_str("has no key in front of '='"),
            Self::NoEquals => f.write_str("has no '='; a comment starts with ';' (not '#')"),
            Self::NoValue => f.write_str("has no value behind '='; leave the line out to get the default"),
            Self::Unclosed => f.write_str("opens a section without a closing ']'"),
        }
    }
}

/// White space of the dialect; no other character is trimmed.
pub(super) const WHITE: [char; 4] = [' ', '\t', '\r', '\n'];

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let ini = Ini::parse(text).expect("the text is valid");
        ini.entries().map(|(key, entry)| (key.to_owned(), entry.value.clone())).collect()
    }

    #[test]
    fn valid_lines_give_these_keys_and_values() {
        for (text, key, value) in [
            ("[lab]\nSessionID=x", "lab.SessionID", "x"),
            ("[lab]\r\n SessionID \t=  x \r\n", "lab.SessionID", "x"),
            ("lab.SessionID=x", "lab.SessionID", "x"),
            ("[ lab ]\nSessionID=x", " lab .SessionID", "x"),
            ("[lab] trailing text\nSessionID=x", "lab.SessionID", "x"),
            ("a=b ; c", "a", "b ; c"),
            ("a=b=c", "a", "b=c"),
            ("a=\"quoted\"", "a", "\"quoted\""),
            (" ; c=1", "; c", "1"),
            ("; comment\n\n   \na=1", "a", "1"),
            ("[]\na=1", ".a", "1"),
            (" [lab]=1", "[lab]", "1"),
        ] {
            assert_eq!(pairs(text), [(key.to_owned(), value.to_owned())], "{text:?}");
        }
    }

    #[test]
    fn wrong_lines_are_named_with_their_number_and_reason() {
        for (text, line, error) in [
            ("\u{feff}[lab]\na=1", 1, SyntaxError::ByteOrderMark),
            ("[lab]\n# a comment", 2, SyntaxError::NoEquals),
            ("[lab\na=1", 1, SyntaxError::Unclosed),
            ("\n\na", 3, SyntaxError::NoEquals),
            ("a=", 1, SyntaxError::NoValue),
            ("a= \r", 1, SyntaxError::NoValue),
            ("=a", 1, SyntaxError::NoKey),
            ("[s]\na=1\n[t]\na=1\n[s]\na=2", 6, SyntaxError::Duplicate { first: 2 }),
            ("[s]\na=1\n[]\ns.a=2\ns.a=3\n", 5, SyntaxError::Duplicate { first: 4 }),
        ] {
            assert_eq!(Ini::parse(text), Err((line, error)), "{text:?}");
        }
    }

    #[test]
    fn raw_access_reaches_sections_that_no_typed_field_covers() {
        let ini = Ini::parse("[security]\nmode=required\n").expect("valid");
        assert_eq!(ini.get("security", "mode"), Some("required"));
        assert_eq!(ini.get("security", "Mode"), None, "names are case-sensitive");
    }
}
