//! The XPath conditions that resolvers send. lsl-wire §5.

use crate::{
    stream::ChannelFormat,
    wire::{
        NoRoom, Sink,
        sink::{put_text, whole},
    },
};

/// Appends the condition that every stream of a session meets.
pub fn session(session_id: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    equals("session_id", session_id, out)
}

/// Appends the condition that a session's streams with this property meet.
///
/// Unlike the original, values with quotes work.
pub fn property(session_id: &str, name: &str, value: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    whole(out, |out| {
        session(session_id, out)?;
        out.put(b" and ")?;
        equals(name, value, out)
    })
}

/// Appends the condition that a session's streams which meet `predicate` meet.
///
/// A predicate with `or` gets parentheses; without them, as in the original, it would reach into other sessions.
/// Check the predicate on its own first: its own parentheses could close these.
pub fn predicate(session_id: &str, predicate: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    whole(out, |out| {
        session(session_id, out)?;
        let may_disjoin = predicate.split(|c: char| !c.is_alphanumeric()).any(|word| word == "or");
        if may_disjoin {
            put_text(out, format_args!(" and ({predicate})"))
        } else {
            put_text(out, format_args!(" and {predicate}"))
        }
    })
}

/// What identifies a stream across restarts of its source.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// Number of values per sample.
    pub channel_count: usize,
    /// Name; empty if it does not matter.
    pub name: &'a str,
    /// Type of content; empty if it does not matter.
    pub content_type: &'a str,
    /// Source; empty if it does not matter.
    pub source_id: &'a str,
    /// Type of the values.
    pub format: ChannelFormat,
}

impl Identity<'_> {
    /// Appends the condition by which an inlet finds its stream again, in any LSL session.
    pub fn condition(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        whole(out, |out| {
            put_text(out, format_args!("channel_count='{}'", self.channel_count))?;
            for (name, value) in self.names() {
                out.put(b" and ")?;
                equals(name, value, out)?;
            }
            put_text(out, format_args!(" and channel_format='{}'", self.format))
        })
    }

    /// Appends the condition that the stream meets in any shape; nothing if it has no name of any kind.
    pub fn condition_of_any_shape(&self, out: &mut impl Sink) -> Result<(), NoRoom> {
        whole(out, |out| {
            for (at, (name, value)) in self.names().enumerate() {
                out.put(if at == 0 { b"" } else { b" and " })?;
                equals(name, value, out)?;
            }
            Ok(())
        })
    }

    /// The properties that name the stream.
    fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = [("name", self.name), ("type", self.content_type), ("source_id", self.source_id)];
        names.into_iter().filter(|(_, value)| !value.is_empty())
    }
}

/// Appends `<name>='<value>'`, with the quotes that `value` allows.
fn equals(name: &str, value: &str, out: &mut impl Sink) -> Result<(), NoRoom> {
    if !value.contains('\'') {
        return put_text(out, format_args!("{name}='{value}'"));
    }
    if !value.contains('"') {
        return put_text(out, format_args!("{name}=\"{value}\""));
    }
    // XPath 1.0 literals have no escapes, but strings can be joined.
    whole(out, |out| {
        put_text(out, format_args!("{name}=concat("))?;
        for (index, part) in value.split('\'').enumerate() {
            let joint = if index == 0 { "" } else { ",\"'\"," };
            put_text(out, format_args!("{joint}'{part}'"))?;
        }
        out.put(b")")
    })
}

#[cfg(test)]
mod tests {
    use std::{string::String, vec::Vec};

    use super::{Identity, predicate, property, session};
    use crate::{
        stream::ChannelFormat,
        wire::{NoRoom, Sink},
    };

    fn text(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), NoRoom>) -> String {
        let mut out = Vec::new();
        encode(&mut out).unwrap();
        assert!(!out.is_empty() && out.len() == Sink::len(&out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn conditions_look_as_captured() {
        // `inlet_resolve_query_strings.json`, `inlet_recovery_query.json`.
        assert_eq!(text(|out| session("golden", out)), "session_id='golden'");
        assert_eq!(text(|out| property("golden", "type", "EEG", out)), "session_id='golden' and type='EEG'");
        assert_eq!(
            text(|out| predicate("golden", "starts-with(name,'A')", out)),
            "session_id='golden' and starts-with(name,'A')"
        );
        let identity = Identity {
            channel_count: 3,
            name: "Fake",
            content_type: "EEG",
            source_id: "src-fake",
            format: ChannelFormat::Float32,
        };
        assert_eq!(
            text(|out| identity.condition(out)),
            "channel_count='3' and name='Fake' and type='EEG' and source_id='src-fake' and channel_format='float32'"
        );
        let anonymous = Identity { name: "", content_type: "", source_id: "", ..identity };
        assert_eq!(text(|out| anonymous.condition(out)), "channel_count='3' and channel_format='float32'");
    }

    #[test]
    fn a_predicate_with_or_stays_in_its_session() {
        assert_eq!(
            text(|out| predicate("golden", "name='A' or type='B'", out)),
            "session_id='golden' and (name='A' or type='B')"
        );
        assert_eq!(text(|out| predicate("s", "name='Motor'", out)), "session_id='s' and name='Motor'");
    }

    #[test]
    fn values_with_quotes_are_quoted() {
        assert_eq!(text(|out| property("s", "name", "it's", out)), "session_id='s' and name=\"it's\"");
        assert_eq!(
            text(|out| property("s", "name", "a'b\"c", out)),
            "session_id='s' and name=concat('a',\"'\",'b\"c')"
        );
    }
}
