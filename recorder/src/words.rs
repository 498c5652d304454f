//! Numbers as the sentences about streams say them, and words as the commands in them have them.

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
    use super::{plural, thousands};

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([thousands(0), thousands(999), thousands(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!(
            [plural(0, "gap"), plural(1, "gap"), plural(1200, "gap")],
            ["0 gaps", "1 gap", "1,200 gaps"]
        );
    }
}
