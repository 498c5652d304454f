//! What an inlet tells its outlet while it is fed: that its program is too slow. lsl-wire §15.4a.

use core::str;

use crate::wire::{NoRoom, Sink, number, sink::put_text};

/// Whether the program behind an inlet keeps up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// It gets samples that are old, or skips some.
    Behind,
    /// It gets samples of the present again.
    CaughtUp,
}

/// One line from an inlet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// What is the matter.
    pub pace: Pace,
    /// Age of the oldest sample that waits for the program, in seconds.
    pub lag: f64,
    /// Samples that arrived there and that the program will not get.
    pub skipped: u64,
}

impl Report {
    /// Appends the line.
    pub fn encode(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        let word = match self.pace {
            Pace::Behind => "behind",
            Pace::CaughtUp => "caught-up",
        };
        put_text(out, format_args!("{word} {:.3} {}\r\n", self.lag.clamp(0.0, 1e9), self.skipped))
    }

    /// Takes the first line off the front of what an inlet has sent; nothing while it is incomplete. Returns its length, too.
    ///
    /// - Errors: [`Malformed`]: an inlet says nothing else, so close the connection.
    pub fn take(said: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some(end) = said.iter().take(REPORT_LIMIT).position(|byte| *byte == b'\n') else {
            return if said.len() < REPORT_LIMIT { Ok(None) } else { Err(Malformed) };
        };
        let line = said.get(..end).and_then(|line| str::from_utf8(line).ok()).ok_or(Malformed)?;
        Self::parse(line.trim_ascii()).map(|report| Some((report, end + 1))).ok_or(Malformed)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let pace = match words.next()? {
            "behind" => Pace::Behind,
            "caught-up" => Pace::CaughtUp,
            _ => return None,
        };
        let lag = number::parse_f64(words.next()?).filter(|lag| (0.0..=1e9).contains(lag))?;
        let skipped = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self { pace, lag, skipped })
    }
}

/// Not a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed;

/// Most bytes of a line, its end included.
pub const REPORT_LIMIT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        for report in [
            Report { pace: Pace::Behind, lag: 12.25, skipped: 0 },
            Report { pace: Pace::CaughtUp, lag: 0.0, skipped: u64::MAX },
            Report { pace: Pace::Behind, lag: 1e9, skipped: 7 },
        ] {
            let mut line = alloc::vec::Vec::new();
            report.encode(&mut line).expect("a vector takes everything");
            assert!(line.len() <= REPORT_LIMIT, "{line:?}");
            line.extend_from_slice(b"beh");
            assert_eq!(Report::take(&line), Ok(Some((report, line.len() - 3))));
        }
    }

    #[test]
    fn an_incomplete_line_is_waited_for_and_what_is_none_is_refused() {
        for said in [&b""[..], b"behind 1.0", b"behind 1.0 5\r"] {
            assert_eq!(Report::take(said), Ok(None));
        }
        let long = [b'1'; REPORT_LIMIT];
        for said in [
            &b"\n"[..],
            b"behind\n",
            b"behind 1\n",
            b"behind 1 -1\n",
            b"behind nan 1\n",
            b"behind -1 1\n",
            b"behind inf 1\n",
            b"behind 1 1 1\n",
            b"ahead 1 1\n",
            b"behind 1 99999999999999999999\n",
            b"\xff 1 1\n",
            &long,
        ] {
            assert_eq!(Report::take(said), Err(Malformed), "{said:?}");
        }
    }
}
