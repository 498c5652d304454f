//! Streams that others send in the clear, and that this computer receives although its policy is `require`.
//!
//! | Where | How |
//! | --- | --- |
//! | `[security]` in `lsl_api.cfg` | `plain = name='Eyes' and source_id='et-7' and hostname='tracker-pc'`; more with `or` |
//! | `$SCHWANN_SECURITY_PLAIN` | the same, instead of it |
//!
//! Only what a short description tells can be asked for, because that alone comes with an announcement. A condition
//! admits no stream to be sent in the clear: outlets of this computer have the policies of [`super::streams`].
//!
//! Source: secure-session §6.

use schwann_proto::stream_info::StreamInfo;
use schwann_proto::wire::query::Query;

/// The condition on streams that may come in the clear.
#[derive(Clone, Debug, Default)]
pub struct Admitted(Option<(String, Query)>);

impl Admitted {
    /// Reads a condition, such as `name='Eyes' and hostname='tracker-pc'`; an empty one admits nothing.
    ///
    /// - Errors: what is wrong with it, to be put behind its place; then nothing may be admitted.
    pub fn parse(condition: &str) -> Result<Self, String> {
        let condition = condition.trim();
        if condition.is_empty() {
            return Ok(Self(None));
        }
        let query = Query::parse(condition).map_err(|error| error.describe(condition))?;
        if !query.is_about_fields() {
            return Err(format!(
                "{condition} asks for more than an announcement tells; use name, type, source_id and hostname"
            ));
        }
        Ok(Self(Some((condition.to_owned(), query))))
    }

    /// The condition; nothing if no stream is admitted.
    pub fn condition(&self) -> Option<&str> {
        self.0.as_ref().map(|(condition, _)| condition.as_str())
    }

    /// Whether this stream may come in the clear.
    pub fn admits(&self, info: &StreamInfo) -> bool {
        self.0.as_ref().is_some_and(|(_, query)| info.matches(query))
    }
}

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;

    use super::*;

    #[test]
    fn a_condition_admits_what_fulfils_it_and_nothing_else() {
        let stream = |name, source| StreamInfo::new(name, "EEG", 1, 0.0, ChannelFormat::Int8, source);
        let admitted = Admitted::parse(" name='Eyes' and source_id='et-7' ").expect("valid");
        assert!(admitted.admits(&stream("Eyes", "et-7").expect("valid")));
        assert!(!admitted.admits(&stream("Eyes", "et-8").expect("valid")));
        assert_eq!(admitted.condition(), Some("name='Eyes' and source_id='et-7'"));
        assert!(!Admitted::default().admits(&stream("Eyes", "").expect("valid")));
    }

    #[test]
    fn a_condition_that_cannot_be_asked_is_refused_with_its_reason() {
        for wrong in ["name=", "name='Eyes", "desc/owner='me'", "nonsense("] {
            assert!(Admitted::parse(wrong).is_err(), "{wrong}");
        }
    }
}
