//! Numbers as the sentences about streams say them, and words as the commands in them have them.

use core::fmt;

/// Returns a whole number with its thousands apart: `1,234,567`.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a number of things in words: `1 stream`, `2 streams`.
pub fn plural(count: usize, thing: &str) -> String {
    format!("{} {thing}{}", thousands(count as u64), if count == 1 { "" } else { "s" })
}

/// A number as people can read it: as usual, with the sign and digits that are asked for, but in powers of ten where
/// it would fill the screen. One odd stamp or rate must not push all others off it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readable(pub f64);

impl fmt::Display for Readable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        // With a number of digits, what is too small for them is 0.
        let is_long = size >= 1e15 || (size != 0.0 && size < 1e-6 && out.precision().is_none());
        match is_long && size.is_finite() {
            true => fmt::LowerExp::fmt(&self.0, out),
            false => fmt::Display::fmt(&self.0, out),
        }
    }
}

/// Returns a word as a person types it in a shell: what a stranger calls a stream or a computer is no command.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Readable, plural, thousands};

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([thousands(0), thousands(999), thousands(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!(
            [plural(0, "gap"), plural(1, "gap"), plural(1200, "gap")],
            ["0 gaps", "1 gap", "1,200 gaps"]
        );
        let shown = [1000.0, 0.001, 5e-324, 1e300].map(|number| Readable(number).to_string());
        assert_eq!(shown, ["1000", "0.001", "5e-324", "1e300"]);
        let shown = [1.0, 1e-300, -1e308, f64::INFINITY].map(|number| format!("{:+.1}", Readable(number)));
        assert_eq!(shown, ["+1.0", "+0.0", "-1.0e308", "+inf"]);
    }
}
