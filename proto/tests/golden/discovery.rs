//! Queries, replies and time messages in both roles.

use schwann_proto::{
    resolver::condition::{self, Identity},
    stream::ChannelFormat,
    wire::{
        discover::{Query, encode_reply, parse_reply},
        timedata::{Reply, Request},
    },
};

use crate::vectors::Exchange;

#[test]
fn outlets_reply_to_captured_queries_as_the_real_one() {
    let exchange = Exchange::load("outlet_udp_shortinfo");
    let mut replies = 0;
    for pair in exchange.steps.chunks(2) {
        let query = Query::parse(&pair[0].bytes);
        let captured = &pair[1].bytes;
        if captured.is_empty() {
            // Another message, or a condition that does not hold; those are evaluated elsewhere.
            assert!(query.is_none_or(|query| query.condition != "name='Golden'"), "{}", pair[0].note);
            continue;
        }
        let query = query.expect("the real outlet understood it");
        assert_eq!(query.return_port, 17001);
        let document = parse_reply(captured, query.id).expect("a reply to this query");
        let mut out = Vec::new();
        encode_reply(query.id, core::str::from_utf8(document).unwrap(), &mut out).unwrap();
        assert_eq!(out, *captured, "{}", pair[0].note);
        replies += 1;
    }
    assert_eq!(replies, 4);
}

#[test]
fn resolvers_ask_as_the_real_one() {
    let identity = Identity {
        channel_count: 3,
        name: "Fake",
        content_type: "EEG",
        source_id: "src-fake",
        format: ChannelFormat::Float32,
    };
    let build = |name: &str, step: usize| {
        let mut out = Vec::new();
        match (name, step) {
            ("inlet_recovery_query", _) => identity.condition(&mut out),
            ("inlet_resolve_query", _) => {
                condition::predicate("golden", "name='Fake' and starts-with(type,'E')", &mut out)
            }
            (_, 0 | 3) => condition::session("golden", &mut out),
            (_, 1) => condition::property("golden", "type", "EEG", &mut out),
            (_, 4) => condition::property("golden", "name", "A", &mut out),
            (_, 5) => condition::predicate("golden", "starts-with(name,'A')", &mut out),
            _ => panic!("{name}, step {step}"),
        }
        .unwrap();
        String::from_utf8(out).unwrap()
    };
    for (name, steps) in [
        ("inlet_resolve_query_strings", [0, 1, 3, 4, 5].as_slice()),
        ("inlet_resolve_query", &[0, 1]),
        ("inlet_recovery_query", &[0]),
    ] {
        let exchange = Exchange::load(name);
        for &step in steps {
            let captured = &exchange.steps[step].bytes;
            let parsed = Query::parse(captured).expect("a query");
            let condition = build(name, step);
            assert_eq!(parsed.condition, condition, "{name}");
            let mut out = Vec::new();
            Query { condition: &condition, ..parsed }.encode(&mut out).unwrap();
            assert_eq!(out, *captured, "{name}");
        }
    }
}

#[test]
fn replies_to_other_queries_are_ignored_as_captured() {
    let exchange = Exchange::load("inlet_resolve_query");
    let query = Query::parse(&exchange.steps[1].bytes).unwrap();
    assert_eq!(parse_reply(&exchange.steps[2].bytes, query.id), None);
    assert!(parse_reply(&exchange.steps[3].bytes, query.id).unwrap().starts_with(b"<?xml"));
}

#[test]
fn time_messages_look_as_captured() {
    let inlet = Exchange::load("inlet_timedata");
    for pair in inlet.steps.chunks(2) {
        let request = Request::parse(&pair[0].bytes).unwrap();
        let mut out = Vec::new();
        request.encode(&mut out).unwrap();
        assert_eq!(out, pair[0].bytes);
        let reply = Reply::parse(&pair[1].bytes).unwrap();
        assert_eq!((reply.wave, reply.request_sent), (request.wave, request.sent));
    }
    let outlet = Exchange::load("outlet_udp_timedata");
    for pair in outlet.steps.chunks(2).take(3) {
        let request = Request::parse(&pair[0].bytes).unwrap();
        let captured = Reply::parse(&pair[1].bytes).unwrap();
        let mut out = Vec::new();
        Reply { wave: request.wave, request_sent: request.sent, ..captured }.encode(&mut out).unwrap();
        assert_eq!(out, pair[1].bytes, "{}", pair[0].note);
    }
    assert_eq!(Request::parse(&outlet.steps[6].bytes), None, "the original answers this, we do not");
}
