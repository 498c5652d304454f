//! What the program behind an outlet tells another member of its lab about itself. secure-session §11.
//!
//! ```text
//!   request    LSL:view \r\n
//!   answer     LSL:view/1 \r\n, then lines of a key, a space and a value
//! ```

use core::str;

use crate::wire::{NoRoom, Sink, number, sink::put_text};

/// What a program tells of itself and of what it has heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View<'a> {
    /// Its version, such as `0.1.0`.
    pub version: &'a str,
    /// `require`, `prefer` or `off`.
    pub policy: &'a str,
    /// Streams that it sends.
    pub stream_count: u32,
    /// Its calendar, in seconds since 1970 UTC.
    pub wall_clock: f64,
    /// When its certificate expires, in seconds since 1970 UTC.
    pub certificate_until: u64,
    /// Number of its revocation list.
    pub revocation_number: u64,
    /// Queries that came to the port that all outlets of a computer share: by multicast and broadcast.
    pub multicast: Heard,
    /// Queries that came to its own port.
    pub unicast: Heard,
    /// The firewall that is switched on there, as far as an ordinary user sees that; empty if none is seen.
    pub firewall: &'a str,
}

/// Queries that a program has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard {
    /// How many.
    pub count: u64,
    /// Seconds since the latest; nothing if there was none.
    pub age: Option<f64>,
}

impl<'a> View<'a> {
    /// Appends the answer.
    pub fn encode(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        let Self { version, policy, stream_count, wall_clock, .. } = self;
        let Self { certificate_until, revocation_number, firewall, .. } = self;
        put_text(
            out,
            format_args!(
                "{FIRST_LINE}\r\nversion {version}\r\npolicy {policy}\r\nstreams {stream_count}\r\n\
                 wall-clock {wall_clock:.3}\r\ncertificate-until {certificate_until}\r\n\
                 revocation-list {revocation_number}\r\n"
            ),
        )?;
        for (key, heard) in [("multicast", self.multicast), ("unicast", self.unicast)] {
            match heard.age {
                Some(age) => put_text(out, format_args!("{key} {} {age:.3}\r\n", heard.count))?,
                None => put_text(out, format_args!("{key} {}\r\n", heard.count))?,
            }
        }
        match firewall.is_empty() {
            true => Ok(()),
            false => put_text(out, format_args!("firewall {firewall}\r\n")),
        }
    }

    /// Reads an answer; nothing if it is none, or lacks something.
    pub fn parse(answer: &'a [u8]) -> Option<Self> {
        if answer.len() > VIEW_LIMIT {
            return None;
        }
        let mut lines = str::from_utf8(answer).ok()?.split("\r\n");
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let lines = Lines::default().read(lines)?;
        let wall_clock =
            number::parse_f64(lines.wall_clock?).filter(|seconds| (0.0..=1e12).contains(seconds))?;
        Some(Self {
            version: plain(lines.version?)?,
            policy: plain(lines.policy?)?,
            stream_count: lines.streams?.parse().ok()?,
            wall_clock,
            certificate_until: lines.certificate_until?.parse().ok()?,
            revocation_number: lines.revocation_list?.parse().ok()?,
            multicast: Heard::parse(lines.multicast?)?,
            unicast: Heard::parse(lines.unicast?)?,
            firewall: plain(lines.firewall.unwrap_or_default())?,
        })
    }
}

impl Heard {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let count = words.next()?.parse().ok()?;
        let age = match words.next() {
            None => None,
            Some(age) => Some(number::parse_f64(age).filter(|age| (0.0..=1e12).contains(age))?),
        };
        words.next().is_none().then_some(Self { count, age })
    }
}

/// The values of the keys that are known.
#[derive(Default)]
struct Lines<'a> {
    version: Option<&'a str>,
    policy: Option<&'a str>,
    streams: Option<&'a str>,
    wall_clock: Option<&'a str>,
    certificate_until: Option<&'a str>,
    revocation_list: Option<&'a str>,
    multicast: Option<&'a str>,
    unicast: Option<&'a str>,
    firewall: Option<&'a str>,
}

impl<'a> Lines<'a> {
    /// Takes in the lines; a key that is not known is skipped, and one that comes twice ends it.
    fn read(mut self, lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        for line in lines.filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once(' ')?;
            let place = match key {
                "version" => &mut self.version,
                "policy" => &mut self.policy,
                "streams" => &mut self.streams,
                "wall-clock" => &mut self.wall_clock,
                "certificate-until" => &mut self.certificate_until,
                "revocation-list" => &mut self.revocation_list,
                "multicast" => &mut self.multicast,
                "unicast" => &mut self.unicast,
                "firewall" => &mut self.firewall,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(self)
    }
}

/// A text that a terminal may show.
fn plain(text: &str) -> Option<&str> {
    (text.len() <= TEXT_LIMIT && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))).then_some(text)
}

/// Most bytes of an answer.
pub const VIEW_LIMIT: usize = 2048;

const FIRST_LINE: &str = "LSL:view/1";
/// Most bytes of a text.
const TEXT_LIMIT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: View<'static> = View {
        version: "0.1.0",
        policy: "require",
        stream_count: 3,
        wall_clock: 1_790_000_000.25,
        certificate_until: 1_800_000_000,
        revocation_number: 7,
        multicast: Heard { count: 12, age: Some(1.5) },
        unicast: Heard { count: 0, age: None },
        firewall: "ufw",
    };

    fn text(view: &View<'_>) -> alloc::string::String {
        let mut out = alloc::vec::Vec::new();
        view.encode(&mut out).expect("a vector takes everything");
        alloc::string::String::from_utf8(out).expect("text")
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        for view in [VIEW, View { firewall: "", ..VIEW }] {
            assert_eq!(View::parse(text(&view).as_bytes()), Some(view));
        }
        let later = text(&VIEW) + "mood good\r\n";
        assert_eq!(View::parse(later.as_bytes()), Some(VIEW), "a later version may say more");
    }

    #[test]
    fn what_is_no_answer_is_not_read() {
        let good = text(&VIEW);
        for wrong in [
            alloc::string::String::new(),
            good.replace("view/1", "view/2"),
            good.replace("streams 3", "streams -3"),
            good.replace("1790000000.250", "nan"),
            good.replace("version 0.1.0\r\n", ""),
            good.replace("policy require", "policy \u{1b}[2J"),
            good.replace("multicast 12 1.500", "multicast 12 1.5 2"),
            good.clone() + "version 0.2.0\r\n",
            good.clone() + &"x".repeat(VIEW_LIMIT),
            good.replace("ufw", &"u".repeat(TEXT_LIMIT + 1)),
        ] {
            assert_eq!(View::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
