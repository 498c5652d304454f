//! How streams are named on the command line: by a word, or by a condition as every LSL program has it.

use core::fmt;
use core::str::FromStr;

use schwann::StreamInfo;
use schwann_proto::wire::query::{Query, QueryError};

/// Chooses streams.
#[derive(Clone, Debug)]
pub struct Selector {
    text: String,
    predicate: String,
    query: Query,
}

impl Selector {
    /// Whether it chooses this stream.
    pub fn chooses(&self, info: &StreamInfo) -> bool {
        info.matches(&self.query)
    }
}

/// Why a text chooses no streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SelectorError {
    /// It is empty. As a word it would choose streams without a type or source id, which nobody means.
    Empty,
    /// It is no condition.
    Query(QueryError),
}

impl fmt::Display for SelectorError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("it is empty; leave it out to choose all streams"),
            Self::Query(error) => error.fmt(out),
        }
    }
}

impl core::error::Error for SelectorError {}

impl FromStr for Selector {
    type Err = SelectorError;

    /// Reads a condition such as `type='EEG' and channel_count>8`, or a word, which is the name, the type or the
    /// source id of the streams.
    fn from_str(text: &str) -> Result<Self, SelectorError> {
        if text.trim().is_empty() {
            return Err(SelectorError::Empty);
        }
        let predicate = if text.contains(['=', '<', '>', '(', '[']) {
            text.to_owned()
        } else {
            // XPath has no way to write both quotes in one text.
            let quote = if text.contains('\'') { '"' } else { '\'' };
            let condition = |tag| format!("{tag}={quote}{text}{quote}");
            ["name", "type", "source_id"].map(condition).join(" or ")
        };
        let query = Query::parse(&predicate).map_err(SelectorError::Query)?;
        Ok(Self { text: text.to_owned(), predicate, query })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Returns the condition that any of the selectors is true; none if there are none, which means all streams.
pub fn any_of<'a>(selectors: impl IntoIterator<Item = &'a Selector>) -> Option<String> {
    let conditions: Vec<_> =
        selectors.into_iter().map(|selector| format!("({})", selector.predicate)).collect();
    (!conditions.is_empty()).then(|| conditions.join(" or "))
}

/// Whether one of the selectors chooses this stream; without selectors, all streams are chosen.
pub fn all_or_any(selectors: &[Selector], info: &StreamInfo) -> bool {
    selectors.is_empty() || selectors.iter().any(|selector| selector.chooses(info))
}

#[cfg(test)]
mod tests {
    use schwann::ChannelFormat;

    use super::*;

    fn chooses(text: &str) -> bool {
        let info = StreamInfo::new("O'Hara \"1\"", "EEG", 8, 100.0, ChannelFormat::Float32, "amp")
            .expect("a valid description");
        text.parse::<Selector>().expect("a valid query").chooses(&info)
    }

    #[test]
    fn a_word_is_a_name_a_type_or_a_source() {
        assert_eq!(["EEG", "amp", "Markers", "8"].map(chooses), [true, true, false, false]);
    }

    #[test]
    fn a_condition_is_taken_as_it_is() {
        assert!(chooses("type='EEG' and channel_count>4"));
        assert!(!chooses("starts-with(name,'B')"));
        assert!("type='EEG".parse::<Selector>().is_err());
        assert_eq!([" ", ""].map(|text| text.parse::<Selector>().err()), [Some(SelectorError::Empty); 2]);
    }

    #[test]
    fn selectors_are_joined_by_or() {
        let [one, other] = ["a", "type='b'"].map(|text| text.parse::<Selector>().expect("valid"));
        let all = any_of([&one, &other]).expect("there are some");
        assert_eq!(all, "(name='a' or type='a' or source_id='a') or (type='b')");
        assert_eq!(any_of([]), None);
    }
}
