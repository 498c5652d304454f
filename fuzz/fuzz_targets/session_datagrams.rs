//! Sealed datagrams, queries and replies from strangers: none opens, none is taken for another kind.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use core::cell::RefCell;

use common::{DISCOVERY_KEY, NOW, Seeded, twins};
use libfuzzer_sys::fuzz_target;
use schwann_session::{
    Datagrams, SessionId,
    discovery::{Asked, DiscoveryKey, QUERY_OVERHEAD, QueryId, REPLY_OVERHEAD},
};

/// What is made once: nothing of it changes with bytes that are refused.
struct Member {
    datagrams: Datagrams,
    key: DiscoveryKey,
    asked: Asked,
}

thread_local! {
    static MEMBER: RefCell<Member> = RefCell::new(member());
}

fn member() -> Member {
    let (_, mut outlet) = twins(1);
    let key = DiscoveryKey::new(&DISCOVERY_KEY);
    let (_, asked) =
        key.seal_query(b"", NOW, &mut Seeded(1), &mut [0; QUERY_OVERHEAD]).expect("room and randomness");
    Member { datagrams: outlet.session.take_datagrams().expect("the outlet's"), key, asked }
}

fuzz_target!(|bytes: &[u8]| MEMBER.with_borrow_mut(|member| refuse(member, bytes)));

fn refuse(Member { datagrams, key, asked }: &mut Member, bytes: &[u8]) {
    assert!(datagrams.open(&mut bytes.to_vec()).is_err());
    let query = key.open_query(&mut bytes.to_vec(), NOW);
    if let Ok((asker, text)) = &query {
        // Only the corpus has such: whatever it holds can be answered, to that asker.
        assert!(text.end <= bytes.len());
        let mut reply = [0; REPLY_OVERHEAD];
        let _ = key.seal_reply(asker, b"", &mut Seeded(1), &mut reply);
    }
    // A reply to a query of ours: nothing that anybody else words opens.
    assert!(key.open_reply(asked, &mut bytes.to_vec()).is_err());
    let mut addressed = bytes.to_vec();
    if let Some(name) = addressed.get_mut(4..28).filter(|_| QueryId::of_reply(bytes).is_some()) {
        name.copy_from_slice(asked.id().as_bytes());
        assert!(key.open_reply(asked, &mut addressed).is_err());
    }
    let kinds = [SessionId::of(bytes).is_some(), query.is_ok(), QueryId::of_reply(bytes).is_some()];
    assert!(kinds.iter().filter(|kind| **kind).count() <= 1);
}
