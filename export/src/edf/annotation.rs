//! The channel of events: each block has its own time, and some of the events.
//!
//! Source: EDF+, "Annotations for text, time-keeping, events and stimuli".

use super::Blocks;
use crate::grid::Grid;
use crate::plan::Plan;

/// The events of a file, laid out over its blocks.
#[derive(Debug)]
pub(super) struct Annotations {
    /// In the order of their blocks.
    texts: Vec<String>,
    per_block: usize,
    bytes: usize,
    seconds: f64,
}

impl Annotations {
    pub(super) fn lay_out(plan: &Plan, grid: &Grid, blocks: &Blocks, value_bytes: usize) -> Self {
        let events = plan.events.iter().map(|event| list(event.at - grid.begin, None, &event.text));
        let gaps = grid.gaps().map(|gap| {
            let length = (gap.end - gap.start) as f64 / grid.rate;
            list(gap.start as f64 / grid.rate, Some(length), "BAD_gap")
        });
        let texts: Vec<_> = events.chain(gaps).collect();
        let per_block = texts.len().div_ceil(usize::try_from(blocks.count.max(1)).unwrap_or(usize::MAX));
        let longest =
            texts.chunks(per_block.max(1)).map(|some| some.iter().map(String::len).sum::<usize>()).max();
        let bytes = (longest.unwrap_or(0) + TIME_BYTES)
            .next_multiple_of(value_bytes)
            .next_multiple_of(2 * value_bytes);
        Self { texts, per_block, bytes, seconds: blocks.seconds }
    }

    /// Bytes that they take in each block.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What stands in a block.
    pub(super) fn block(&self, number: u64) -> Vec<u8> {
        let mut out = format!("+{}\u{14}\u{14}\0", onset(number as f64 * self.seconds)).into_bytes();
        let first = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.per_block);
        for text in self.texts.iter().skip(first).take(self.per_block) {
            out.extend(text.as_bytes());
        }
        out.resize(self.bytes, 0);
        out
    }
}

/// A list of one annotation.
fn list(at: f64, length: Option<f64>, text: &str) -> String {
    let sign = if at < 0.0 { '-' } else { '+' };
    let length = length.map(|length| format!("\u{15}{}", onset(length))).unwrap_or_default();
    // An annotation without a text is the time of a block, so readers would not see the event.
    let text = if is_blank(text) { BLANK } else { text };
    let text: String = text.chars().map(|c| if c < ' ' { ' ' } else { c }).take(TEXT_CHARS_MAX).collect();
    format!("{sign}{}{length}\u{14}{text}\u{14}\0", onset(at.abs()))
}

/// Whether an event's text is longer than an annotation.
pub(super) fn is_cut(text: &str) -> bool {
    text.chars().nth(TEXT_CHARS_MAX).is_some()
}

/// Whether an event's text has nothing that readers show.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c <= ' ' || c.is_whitespace())
}

/// Seconds to the microsecond, without zeros at the end.
fn onset(seconds: f64) -> String {
    let text = format!("{seconds:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The time of a block, with its marks.
const TIME_BYTES: usize = 24;
/// Readers keep fewer; a text that is longer is cut.
pub(super) const TEXT_CHARS_MAX: usize = 512;
/// Stands for a text that is blank.
pub(super) const BLANK: &str = "(empty)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_has_its_time_and_its_length() {
        assert_eq!(list(1.5, None, "go\n"), "+1.5\u{14}go \u{14}\0");
        assert_eq!(list(-0.25, Some(2.0), "x"), "-0.25\u{15}2\u{14}x\u{14}\0");
        assert_eq!(list(1.0, None, ""), "+1\u{14}(empty)\u{14}\0", "else it is the time of a block");
        assert_eq!(list(1.0, None, " \t\n"), "+1\u{14}(empty)\u{14}\0");
        assert_eq!(onset(3.000_000_4), "3");
    }
}
