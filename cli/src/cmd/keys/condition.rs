//! The condition that one stream fulfils, as a line of the configuration takes it.

use schwann::StreamInfo;

use crate::exit::Problem;
use crate::terminal::printable;

/// A condition on some fields of a stream; those that are empty are left out.
///
/// - Errors: a field can stand in no condition, or there is none.
pub(super) fn of(info: &StreamInfo, fields: &[Field]) -> Result<String, Problem> {
    let parts = fields.iter().filter_map(|field| {
        let text = field.text(info);
        (!text.is_empty()).then(|| Some(format!("{}={}", field.word(), literal(&text)?)))
    });
    let parts = parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty());
    parts.map(|parts| parts.join(" and ")).ok_or_else(|| {
        Problem::Failed(format!(
            "{} has a name or a source id that no condition can hold; give its stream another one",
            printable(&info.name().to_string())
        ))
    })
}

/// What a condition asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Name,
    SourceId,
    Hostname,
}

impl Field {
    fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::SourceId => "source_id",
            Self::Hostname => "hostname",
        }
    }

    fn text(self, info: &StreamInfo) -> String {
        match self {
            Self::Name => info.name().to_string(),
            Self::SourceId => info.source_id().to_string(),
            Self::Hostname => info.hostname().to_string(),
        }
    }
}

/// A text in quotes. A condition cannot hold both kinds of quotes, and a line of the configuration no line end.
fn literal(text: &str) -> Option<String> {
    let quote = ['\'', '"'].into_iter().find(|quote| !text.contains(*quote))?;
    (!text.contains(char::is_control)).then(|| format!("{quote}{text}{quote}"))
}

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;

    use super::*;

    fn condition(name: &str, source: &str) -> Option<String> {
        let info = StreamInfo::new(name, "EEG", 1, 0.0, ChannelFormat::Int8, source).expect("valid");
        of(&info, &[Field::Name, Field::SourceId]).ok()
    }

    #[test]
    fn what_a_stranger_calls_a_stream_stays_one_text() {
        assert_eq!(condition("Eyes", "et 7").as_deref(), Some("name='Eyes' and source_id='et 7'"));
        assert_eq!(condition("Bob's", "").as_deref(), Some("name=\"Bob's\""));
        assert_eq!(condition("both '\"", "x"), None);
        assert_eq!(condition("x\n[security]\npolicy=off", ""), None);
    }
}
