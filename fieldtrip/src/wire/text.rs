//! Headers and events as a person reads them: one line each.

use core::fmt;

use super::{DataType, Event, Header};
use crate::block::to_f64;

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} channels of {} at {} Hz", self.channel_count, self.data_type.name(), self.rate)?;
        let names: Vec<String> = self.channel_names().iter().map(|name| printable(name)).collect();
        if names.is_empty() { Ok(()) } else { write!(f, ": {}", names.join(", ")) }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = elements(self.kind_type, &self.kind);
        let value = elements(self.value_type, &self.value);
        write!(f, "sample {}: {kind} = {value}", self.sample)?;
        match (self.offset, self.duration) {
            (0, 0) => Ok(()),
            (offset, duration) => write!(f, " (offset {offset}, duration {duration})"),
        }
    }
}

/// Text, or numbers with spaces between them.
fn elements(data_type: DataType, bytes: &[u8]) -> String {
    if data_type == DataType::Char {
        return printable(&String::from_utf8_lossy(bytes));
    }
    let numbers: Vec<String> = to_f64(data_type, bytes).iter().map(f64::to_string).collect();
    numbers.join(" ")
}

/// Text as it is, or in quotes if it holds what a terminal would act on.
fn printable(text: &str) -> String {
    if text.chars().any(char::is_control) { format!("{text:?}") } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_it_all_and_cannot_upset_a_terminal() {
        let header = Header::new(2, 250.5, DataType::Int16).with_channel_names(["Fz", "Cz"]);
        assert_eq!(header.to_string(), "2 channels of int16 at 250.5 Hz: Fz, Cz");
        assert_eq!(Event::number(5, "trigger", -7).to_string(), "sample 5: trigger = -7");
        let event = Event { offset: 1, duration: 2, ..Event::text(-1, "stim", "\x1b[2J") };
        assert_eq!(event.to_string(), "sample -1: stim = \"\\u{1b}[2J\" (offset 1, duration 2)");
    }
}
