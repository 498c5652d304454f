//! Tells which queries ask only for fields that the short description has, too.
//!
//! The grammar decides, on the safe side: paths to a field by its name, comparisons, and functions of them.

use super::function::Function;
use super::syntax::{Axis, Expression, NodeTest, Path, Start, Step};
use crate::stream::FIELDS;

/// Whether the value of `expression`, at the `<info>` element, does not depend on metadata.
pub(super) fn decide(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(_) | Expression::Number(_) => true,
        Expression::Negate(inner) => decide(inner),
        Expression::Chain(first, rest) => decide(first) && rest.iter().all(|(_, operand)| decide(operand)),
        Expression::Union(paths) => paths.iter().all(decide),
        Expression::Path(path) => is_field(path),
        Expression::Call(Function::Id | Function::Lang, _) => false,
        // Without an argument they take the text of the whole element, metadata included.
        Expression::Call(function, arguments) if arguments.is_empty() => {
            matches!(function, Function::False | Function::Last | Function::Position | Function::True)
        }
        Expression::Call(_, arguments) => arguments.iter().all(decide),
    }
}

/// Whether a path leads to a field of the description, or to the text in it.
fn is_field(path: &Path) -> bool {
    let Path { start: Start::Context, steps } = path else { return false };
    let is_plain = |step: &Step| step.axis == Axis::Child && step.predicates.is_empty();
    match steps.as_slice() {
        [field] => is_plain(field) && is_name_of_field(&field.test),
        [field, text] => {
            is_plain(field)
                && is_name_of_field(&field.test)
                && is_plain(text)
                && matches!(text.test, NodeTest::Text)
        }
        _ => false,
    }
}

fn is_name_of_field(test: &NodeTest) -> bool {
    matches!(test, NodeTest::Name(name) if FIELDS.iter().any(|field| field.as_bytes() == &**name))
}

#[cfg(test)]
mod tests {
    use crate::stream::ChannelFormat;
    use crate::stream_info::StreamInfo;
    use crate::wire::query::Query;

    const ABOUT_FIELDS: [&str; 11] = [
        "",
        "name='A'",
        "session_id='default' and type='EEG'",
        "(session_id='') and ((name='A' or name=\"B\") and channel_count > 2)",
        "starts-with(name,'A')",
        "contains(hostname, 'x') and not(type='b')",
        "count(name) = 1 and true()",
        "name/text() = 'A'",
        "-channel_count < 0",
        "substring(source_id, 1, 2) = concat('a', 'b')",
        "name | type",
    ];

    const NOT_ABOUT_FIELDS: [&str; 17] = [
        "desc/subject='x'",
        "desc",
        "//subject",
        "*",
        "node()",
        "count(*) = 18",
        ".",
        "contains(., 'x')",
        "string() = 'x'",
        "normalize-space()",
        "string-length() > 4000",
        "/info/name",
        "../info/desc",
        "name/following-sibling::desc/subject",
        "name[../desc/subject]",
        "(name)[1]",
        "subject = 'x'",
    ];

    #[test]
    fn what_may_look_at_metadata_is_not_about_fields() {
        for (queries, expected) in [(&ABOUT_FIELDS[..], true), (&NOT_ABOUT_FIELDS[..], false)] {
            for query in queries {
                let parsed = Query::parse(query).expect("a query");
                assert_eq!(parsed.is_about_fields(), expected, "{query}");
            }
        }
    }

    #[test]
    fn the_short_description_decides_what_is_about_fields() {
        let info = StreamInfo::new("A", "EEG", 3, 100.0, ChannelFormat::Float32, "ab-1");
        let mut info = info.expect("a description");
        info.reset_uid([7; 16]);
        let document = info.document_mut();
        let element = document.child(document.root(), "info").expect("an element");
        let desc = document.child(element, "desc").expect("metadata");
        document.append_child_value(desc, "name", b"B");
        let short = StreamInfo::parse(&info.shortinfo()).expect("a description");
        for query in ABOUT_FIELDS {
            let query = Query::parse(query).expect("a query");
            assert_eq!(info.matches(&query), short.matches(&query), "{query:?}");
        }
    }
}
