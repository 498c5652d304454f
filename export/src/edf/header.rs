//! The header of a file: what it is of, when it began, and how its channels are scaled.

use super::annotation::Annotations;
use super::scale::{Scale, short};
use super::{Blocks, Kind};
use crate::plan::{Plan, Stream};

/// The header: fields of fixed width in ASCII, each field of all channels together.
pub(super) fn header(
    kind: Kind,
    stream: &Stream,
    plan: &Plan,
    blocks: &Blocks,
    scales: &[Scale],
    labels: &[String],
    annotations: &Annotations,
) -> Vec<u8> {
    let count = stream.header.channel_count + 1;
    let mut out = kind.version.to_vec();
    let (date, time, long_date) = dates(&plan.datetime);
    put(&mut out, "X X X X", 80);
    put(&mut out, &format!("Startdate {long_date} X X schwann"), 80);
    put(&mut out, &date, 8);
    put(&mut out, &time, 8);
    put(&mut out, &(256 * (count + 1)).to_string(), 8);
    put(&mut out, kind.continuous, 44);
    put(&mut out, &blocks.count.to_string(), 8);
    put(&mut out, &short(blocks.seconds).unwrap_or_default(), 8);
    put(&mut out, &count.to_string(), 4);
    let mut each = |width: usize, last: &str, field: &dyn Fn(usize) -> String| {
        (0..count - 1).for_each(|at| put(&mut out, &field(at), width));
        put(&mut out, last, width);
    };
    let channel = |at: usize| stream.channels.get(at).cloned().unwrap_or_default();
    let scale = |at: usize| scales.get(at).copied().unwrap_or_default();
    each(LABEL_CHARS_MAX, kind.annotations, &|at| labels.get(at).cloned().unwrap_or_default());
    each(80, "", &|_| String::new());
    each(8, "", &|at| channel(at).unit);
    each(8, "-1", &|at| scale(at).least_text());
    each(8, "1", &|at| scale(at).most_text());
    each(8, &kind.least.to_string(), &|at| scale(at).digital_least.to_string());
    each(8, &kind.most.to_string(), &|at| scale(at).digital_most.to_string());
    each(80, "", &|_| String::new());
    let own = (annotations.bytes() / kind.value_bytes).to_string();
    each(8, &own, &|_| blocks.samples.to_string());
    each(32, "", &|_| String::new());
    out
}

/// Appends a field: printable ASCII, cut or filled to its width.
fn put(out: &mut Vec<u8>, text: &str, width: usize) {
    let end = out.len() + width;
    out.extend(ascii(text).bytes().take(width));
    out.resize(end, b' ');
}

/// Text in printable ASCII.
pub(super) fn ascii(text: &str) -> String {
    let plain = text.chars().map(|c| match c {
        'µ' | 'μ' => 'u',
        ' '..='~' => c,
        _ => '?',
    });
    plain.collect()
}

/// The date as `dd.mm.yy`, the time as `hh.mm.ss`, and the date as `dd-MMM-yyyy`.
fn dates(datetime: &str) -> (String, String, String) {
    let number = |from: usize, to: usize| datetime.get(from..to).and_then(|text| text.parse::<u32>().ok());
    let parts = (number(0, 4), number(5, 7), number(8, 10), number(11, 13), number(14, 16), number(17, 19));
    let (Some(year), Some(month @ 1..=12), Some(day), Some(hour), Some(minute), Some(second)) = parts else {
        return ("01.01.85".into(), "00.00.00".into(), "X".into());
    };
    let name = MONTHS.get(month as usize - 1).copied().unwrap_or("JAN");
    (
        format!("{day:02}.{month:02}.{:02}", year % 100),
        format!("{hour:02}.{minute:02}.{second:02}"),
        format!("{day:02}-{name}-{year:04}"),
    )
}

pub(super) const LABEL_CHARS_MAX: usize = 16;
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_header_or_say_nothing() {
        let (date, time, long) = dates("2025-01-31T00:21:17+0000");
        assert_eq!((date.as_str(), time.as_str(), long.as_str()), ("31.01.25", "00.21.17", "31-JAN-2025"));
        assert_eq!(dates("nonsense").2, "X");
    }
}
