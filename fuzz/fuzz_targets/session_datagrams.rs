//! Sealed datagrams, queries and replies from strangers: none opens, none is taken for another kind.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{DISCOVERY_KEY, NOW, Seeded, twins};
use libfuzzer_sys::fuzz_target;
use schwann_session::{
    SessionId,
    discovery::{DiscoveryKey, QUERY_OVERHEAD, QueryId, REPLY_OVERHEAD},
};

fuzz_target!(|bytes: &[u8]| {
    let (_, mut outlet) = twins(1);
    let mut datagrams = outlet.session.take_datagrams().expect("the outlet's");
    assert!(datagrams.open(&mut bytes.to_vec()).is_err());

    let key = DiscoveryKey::new(&DISCOVERY_KEY);
    let query = key.open_query(&mut bytes.to_vec(), NOW);
    if let Ok((asker, text)) = &query {
        // Only the corpus has such: whatever it holds can be answered, to that asker.
        assert!(text.end <= bytes.len());
        let mut reply = [0; REPLY_OVERHEAD];
        let _ = key.seal_reply(asker, b"", &mut Seeded(1), &mut reply);
    }
    // A reply to a query of ours: nothing that anybody else words opens.
    let (_, asked) =
        key.seal_query(b"", NOW, &mut Seeded(1), &mut [0; QUERY_OVERHEAD]).expect("room and randomness");
    assert!(key.open_reply(&asked, &mut bytes.to_vec()).is_err());
    let mut addressed = bytes.to_vec();
    if let Some(name) = addressed.get_mut(4..28).filter(|_| QueryId::of_reply(bytes).is_some()) {
        name.copy_from_slice(asked.id().as_bytes());
        assert!(key.open_reply(&asked, &mut addressed).is_err());
    }
    let kinds = [SessionId::of(bytes).is_some(), query.is_ok(), QueryId::of_reply(bytes).is_some()];
    assert!(kinds.iter().filter(|kind| **kind).count() <= 1);
});
