//! Sealed datagrams, queries and replies from strangers: none opens, none is taken for another kind.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{DISCOVERY_KEY, NOW, twins};
use libfuzzer_sys::fuzz_target;
use schwann_session::{
    SessionId,
    discovery::{DiscoveryKey, QueryId},
};

fuzz_target!(|bytes: &[u8]| {
    let (_, mut outlet) = twins(1);
    let mut datagrams = outlet.session.take_datagrams().expect("the outlet's");
    assert!(datagrams.open(&mut bytes.to_vec()).is_err());

    let key = DiscoveryKey::new(&DISCOVERY_KEY);
    let query = key.open_query(&mut bytes.to_vec(), NOW).is_ok();
    let reply =
        QueryId::of_reply(bytes).is_some_and(|query| key.open_reply(&query, &mut bytes.to_vec()).is_ok());
    let kinds = [SessionId::of(bytes).is_some(), query, reply];
    assert!(kinds.iter().filter(|kind| **kind).count() <= 1);
});
