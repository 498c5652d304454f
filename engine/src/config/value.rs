//! Typed values of the configuration: numbers, switches, sets, addresses.
//!
//! The original reads numbers with C++ streams and turns an unreadable one into 0. It takes only `1`
//! for true. Here an unreadable value has its default, and a note names its line. A number followed by other
//! text keeps its value, as in the original, but leaves a note. Source: lsl-wire §2.

use core::{fmt, net::IpAddr, ops::RangeInclusive, time::Duration};
use std::collections::BTreeSet;

use super::ini::{Entry, Ini, WHITE};

/// Why a value cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ValueError {
    /// An entry of an address set is not an IP address.
    Address,
    /// The text is none of the words that this key knows.
    Choice {
        /// The words that it knows.
        expected: &'static str,
    },
    /// The text does not start with a number.
    Number,
    /// The number is outside of the range that this key accepts.
    Range {
        /// The smallest accepted number.
        least: i64,
        /// The largest accepted number.
        most: i64,
    },
    /// The text is none of `1`, `true`, `yes`, `on`, `0`, `false`, `no` and `off`.
    Switch,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("contains something that is not an IP address"),
            Self::Choice { expected } => write!(f, "must be one of {expected}"),
            Self::Number => f.write_str("is not a number"),
            Self::Range { least, most } => write!(f, "must be between {least} and {most}"),
            Self::Switch => f.write_str("must be 1, true, yes or on, or 0, false, no or off"),
        }
    }
}

/// A local address with the zone that a link-local IPv6 address needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ZonedAddress {
    /// The address.
    pub ip: IpAddr,
    /// The text behind `%`: an interface's index or name.
    pub zone: Option<String>,
}

/// Something in a valid configuration that its author may not have meant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    /// The line, counted from 1.
    pub line: usize,
    /// The full key.
    pub key: String,
    /// What is odd about it.
    pub kind: NoteKind,
}

impl Note {
    /// Whether its key is in section `[security]`, or in one that its writer meant to be that.
    pub fn is_of_security(&self) -> bool {
        self.key.split('.').next().is_some_and(|section| section.eq_ignore_ascii_case("security"))
    }
}

/// The kinds of [`Note`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NoteKind {
    /// The original has a key of this name; here it changes nothing.
    NoEffect,
    /// Text behind a number was ignored.
    TrailingText,
    /// No key of this name exists; it is ignored. In `[security]` it counts as `policy = require`.
    UnknownKey,
    /// A set needs braces (`{a, b}`); without them it is empty.
    WithoutBraces,
    /// The value cannot be used, so the default counts.
    WrongValue(ValueError),
}

/// Reads typed values by full key and remembers which keys were asked for.
pub(super) struct Reader<'a> {
    ini: &'a Ini,
    known: BTreeSet<&'static str>,
    notes: Vec<Note>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(ini: &'a Ini) -> Self {
        Self { ini, known: BTreeSet::new(), notes: Vec::new() }
    }

    pub(super) fn integer<T>(&mut self, key: &'static str, default: T, range: RangeInclusive<i64>) -> T
    where
        T: TryFrom<i64>,
    {
        self.read(key, default, |text| {
            let (number, rest) = leading_integer(text).ok_or(ValueError::Number)?;
            let error = ValueError::Range { least: *range.start(), most: *range.end() };
            if !range.contains(&number) {
                return Err(error);
            }
            let value = T::try_from(number).map_err(|_| error)?;
            Ok((value, (!rest.is_empty()).then_some(NoteKind::TrailingText)))
        })
    }

    pub(super) fn number(&mut self, key: &'static str, default: f32) -> f32 {
        self.read(key, default, |text| {
            let (number, rest) = leading_number(text).ok_or(ValueError::Number)?;
            Ok((number as f32, (!rest.is_empty()).then_some(NoteKind::TrailingText)))
        })
    }

    pub(super) fn seconds(&mut self, key: &'static str, default: Duration) -> Duration {
        self.read(key, default, |text| {
            let (number, rest) = leading_number(text).ok_or(ValueError::Number)?;
            if !(0.0..=MAX_SECONDS as f64).contains(&number) {
                return Err(ValueError::Range { least: 0, most: MAX_SECONDS });
            }
            let note = (!rest.is_empty()).then_some(NoteKind::TrailingText);
            Ok((Duration::from_secs_f64(number), note))
        })
    }

    pub(super) fn switch(&mut self, key: &'static str, default: bool) -> bool {
        self.read(key, default, |text| Ok((switch_word(text).ok_or(ValueError::Switch)?, None)))
    }

    pub(super) fn text(&mut self, key: &'static str, default: &str) -> String {
        self.take(key).map_or(default, |entry| &entry.value).to_owned()
    }

    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        default: T,
        expected: &'static str,
        choices: &[(&str, T)],
    ) -> T {
        self.read(key, default, |text| {
            let found = choices.iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| (*value, None)).ok_or(ValueError::Choice { expected })
        })
    }

    pub(super) fn set(&mut self, key: &'static str, default: &[&str]) -> Vec<String> {
        self.items(key, default, |item| Some(item.to_owned()))
    }

    pub(super) fn addresses(&mut self, key: &'static str, default: &[&str]) -> Vec<ZonedAddress> {
        self.items(key, default, ZonedAddress::parse)
    }

    fn items<T>(&mut self, key: &'static str, default: &[&str], parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let default = default.iter().filter_map(|item| parse(item)).collect();
        self.read(key, default, |text| {
            let Some(items) = set_items(text) else {
                return Ok((Vec::new(), Some(NoteKind::WithoutBraces)));
            };
            let items = items.map(&parse).collect::<Option<Vec<_>>>();
            items.map(|items| (items, None)).ok_or(ValueError::Address)
        })
    }

    pub(super) fn address(&mut self, key: &'static str) -> Option<ZonedAddress> {
        self.read(key, None, |text| {
            ZonedAddress::parse(text).map(|address| (Some(address), None)).ok_or(ValueError::Address)
        })
    }

    /// The last seven groups of an IPv6 address.
    pub(super) fn ipv6_groups(&mut self, key: &'static str, default: &str) -> String {
        self.read(key, default.to_owned(), |text| {
            let whole = ZonedAddress::parse(&format!("FF02:{text}"));
            whole.map(|_| (text.to_owned(), None)).ok_or(ValueError::Address)
        })
    }

    /// Knows `keys` with any values, and notes each that is set.
    pub(super) fn accept_without_effect(&mut self, keys: &[&'static str]) {
        for key in keys {
            if let Some(entry) = self.take(key) {
                self.note(key, entry.line, NoteKind::NoEffect);
            }
        }
    }

    /// The notes collected, with one for each key that nothing asked for and that is none of `others`, in the order of lines.
    pub(super) fn finish(mut self, others: &[&str]) -> Vec<Note> {
        for (key, entry) in self.ini.entries() {
            if !others.contains(&key) && !self.known.contains(key) {
                let kind = NoteKind::UnknownKey;
                self.notes.push(Note { line: entry.line, key: key.to_owned(), kind });
            }
        }
        self.notes.sort_by_key(|note| note.line);
        self.notes
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl FnOnce(&str) -> Result<(T, Option<NoteKind>), ValueError>,
    ) -> T {
        let Some(entry) = self.take(key) else { return default };
        let (value, note) = match parse(&entry.value) {
            Ok(read) => read,
            Err(error) => (default, Some(NoteKind::WrongValue(error))),
        };
        if let Some(kind) = note {
            self.note(key, entry.line, kind);
        }
        value
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Entry> {
        self.known.insert(key);
        self.ini.entry(key)
    }

    fn note(&mut self, key: &str, line: usize, kind: NoteKind) {
        self.notes.push(Note { line, key: key.to_owned(), kind });
    }
}

impl ZonedAddress {
    /// Parses an IPv4 or IPv6 address with an optional `%zone`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, zone) = match text.split_once('%') {
            Some((address, zone)) if !zone.is_empty() => (address, Some(zone.to_owned())),
            Some(_) => return None,
            None => (text, None),
        };
        let ip: IpAddr = address.parse().ok()?;
        (zone.is_none() || ip.is_ipv6()).then_some(Self { ip, zone })
    }
}

/// The items of `{a, b}`; `None` without the braces.
fn set_items(text: &str) -> Option<impl Iterator<Item = &str>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    Some(inner.split(',').map(|item| item.trim_matches(WHITE)).filter(|item| !item.is_empty()))
}

/// The decimal integer at the start of `text`, and what follows it.
fn leading_integer(text: &str) -> Option<(i64, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (number, rest) = text.split_at(text.len() - unsigned.len() + digits);
    Some((number.parse().ok()?, rest))
}

/// What a word says of a switch.
pub(super) fn switch_word(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The longest decimal number at the start of `text`, and what follows it.
fn leading_number(text: &str) -> Option<(f64, &str)> {
    let allowed = text.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
    let longest = allowed.unwrap_or(text.len());
    let (value, rest) = (1..=longest).rev().find_map(|end| {
        let (number, rest) = text.split_at(end);
        Some((number.parse::<f64>().ok()?, rest))
    })?;
    value.is_finite().then_some((value, rest))
}

/// Longest accepted time, in seconds: what liblsl calls "forever" (`LSL_FOREVER`).
const MAX_SECONDS: i64 = 32_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_leading_part() {
        for (text, expected) in [
            ("17000", Some((17000, ""))),
            ("17000xyz", Some((17000, "xyz"))),
            ("-1", Some((-1, ""))),
            ("+5 ", Some((5, " "))),
            ("0x10", Some((0, "x10"))),
            ("abc", None),
            ("-", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(leading_integer(text), expected, "{text:?}");
        }
        for (text, expected) in [
            ("0.5", Some((0.5, ""))),
            ("1e-3s", Some((1e-3, "s"))),
            ("15e", Some((15.0, "e"))),
            (".5", Some((0.5, ""))),
            ("inf", None),
            ("nan", None),
            ("1e999", None),
            ("e5", None),
        ] {
            assert_eq!(leading_number(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sets_are_braced_lists() {
        let items = |text| set_items(text).map(|items| items.collect::<Vec<_>>());
        assert_eq!(items("{a, b ,,c}"), Some(vec!["a", "b", "c"]));
        assert_eq!(items("{}"), Some(vec![]));
        assert_eq!(items("a, b"), None);
        assert_eq!(items("{a"), None);
        assert_eq!(items("{"), None);
    }

    #[test]
    fn zones_belong_to_ipv6() {
        let zoned = ZonedAddress::parse("fe80::1%eth0").expect("valid");
        assert_eq!((zoned.ip.to_string().as_str(), zoned.zone.as_deref()), ("fe80::1", Some("eth0")));
        for wrong in ["10.0.0.1%2", "fe80::1%", "eth0", "", "1.2.3"] {
            assert_eq!(ZonedAddress::parse(wrong), None, "{wrong:?}");
        }
    }
}
