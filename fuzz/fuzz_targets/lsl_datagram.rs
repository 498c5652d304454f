//! Datagrams of discovery and of the time service: what was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::wire::{
    discover::{Query, parse_reply},
    timedata::{Reply, Request},
};

fuzz_target!(|bytes: &[u8]| {
    let mut out = Vec::new();
    if let Some(query) = Query::parse(bytes) {
        query.encode(&mut out).expect("a vector has room");
        assert_eq!(Query::parse(&out), Some(query));
    }
    if let Some(request) = Request::parse(bytes) {
        out.clear();
        request.encode(&mut out).expect("a vector has room");
        let again = Request::parse(&out).expect("ours");
        assert_eq!(again.wave, request.wave);
    }
    if let Some(reply) = Reply::parse(bytes) {
        out.clear();
        reply.encode(&mut out).expect("a vector has room");
        assert_eq!(Reply::parse(&out).map(|again| again.wave), Some(reply.wave));
    }
    let _ = parse_reply(bytes, "987654321");
});
