//! Queries as programs write them, and what a hostile peer may try.

use alloc::string::{String, ToString};

use super::*;

fn description() -> Document {
    let text = "<info><name>Golden</name><type>EEG</type><channel_count>8</channel_count>\
        <nominal_srate>500.0000000000000</nominal_srate><session_id>default</session_id><desc><channels>\
        <channel><label>C3</label><type>EEG</type></channel><channel><label>C4</label><type>EEG</type></channel>\
        <channel><label>EOG</label><type>EOG</type></channel><channel><label>Cz</label><type>EEG</type></channel>\
        <channel><label>Fz</label><type>EEG</type></channel></channels></desc></info>";
    Document::parse(text.as_bytes()).document
}

#[test]
fn queries_seen_in_practice_are_answered() {
    let description = description();
    for (query, expected) in [
        ("", true),
        ("  ", true),
        ("name='Golden'", true),
        ("name='golden'", false),
        ("type='EEG' and channel_count > 2", true),
        ("channel_count > 8", false),
        ("starts-with(name,'G')", true),
        ("contains(name,'x')", false),
        ("not(type='EEG')", false),
        ("name='x' or type='EEG'", true),
        ("count(desc/channels/channel[type='EEG'])>3", true),
        ("count(desc/channels/channel[type='EEG'])>4", false),
        ("string-length(name)=6", true),
        ("nominal_srate >= 499", true),
        ("nominal_srate=500", true),
        ("nominal_srate='500'", false),
        ("/info/name='Golden'", true),
        ("../info/name='Golden'", true),
        ("info/name='Golden'", false),
        ("session_id='default' and name='x' or type='EEG'", true),
        ("desc/channels/channel[2]/label='C4'", true),
        ("//channel[last()]/label='Fz'", true),
        ("name", true),
        ("missing", false),
        ("0", false),
        ("'a'", true),
    ] {
        let compiled = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(compiled.evaluate(&description), Ok(expected), "{query}");
    }
}

#[test]
fn malformed_queries_are_refused_with_their_position() {
    for (query, position, reason) in [
        ("name=", 5, QueryFault::Unexpected),
        ("name='a", 5, QueryFault::Character),
        ("$name='a'", 0, QueryFault::Variable),
        ("name == 'a'", 6, QueryFault::Unexpected),
        ("foo(name)", 0, QueryFault::UnknownFunction),
        ("name and", 8, QueryFault::Unexpected),
        ("count('a')", 9, QueryFault::NodeSet),
        ("contains(name)", 0, QueryFault::ArgumentCount),
        ("sideways::name", 0, QueryFault::UnknownAxis),
        ("name='a' name", 9, QueryFault::Unexpected),
        ("(name", 5, QueryFault::Unexpected),
        ("name]", 4, QueryFault::Unexpected),
        ("a;b", 1, QueryFault::Character),
    ] {
        assert_eq!(Query::parse(query).unwrap_err(), QueryError { position, reason }, "{query}");
    }
    assert_eq!(
        Query::parse("name=").unwrap_err().describe("name="),
        "Invalid query 'name=': unexpected token or end at character 6"
    );
}

#[test]
fn nesting_is_bounded_and_chains_are_not() {
    let nested = |depth: usize| ["(".repeat(depth), "1".to_string(), ")".repeat(depth)].concat();
    assert!(Query::parse(nested(MAX_QUERY_DEPTH)).is_ok());
    assert_eq!(Query::parse(nested(MAX_QUERY_DEPTH + 1)).unwrap_err().reason, QueryFault::TooDeep);
    assert_eq!(Query::parse(nested(30_000)).unwrap_err().reason, QueryFault::TooDeep);
    assert_eq!(Query::parse(" ".repeat(70_000)).unwrap_err().reason, QueryFault::TooLong);
    for (part, count) in
        [("name='x' or ", 5_000), ("-", 60_000), ("1+", 30_000), ("a|", 30_000), ("a/", 30_000)]
    {
        let query = Query::parse([&part.repeat(count), "type"].concat()).unwrap();
        let _ = query.evaluate(&description());
    }
    for part in ["a[", "not(", "concat(1,"] {
        assert_eq!(Query::parse(part.repeat(5_000)).unwrap_err().reason, QueryFault::TooDeep);
    }
}

#[test]
fn costly_queries_are_given_up() {
    let mut text = String::from("<info>");
    for _ in 0..500 {
        text.push_str("<a>some text</a>");
    }
    text.push_str("</info>");
    let description = Document::parse(text.as_bytes()).document;
    for query in [
        "//*[count(//*[count(//*) > 1]) > 1]",
        "//a[//a/following::a = 'other']",
        "count(//*[//*/preceding::*]/following::*) > 0",
        &["concat(", &"string(/),".repeat(6_000), "'')"].concat(),
        &["translate(/,'", &"x".repeat(60_000), "','')"].concat(),
    ] {
        assert_eq!(Query::parse(query).unwrap().evaluate(&description), Err(TooCostly), "{query:.60}");
    }
}
