//! What a program tells of itself: what is read can be written and is read again, and no text steers a terminal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::wire::view::View;

fuzz_target!(|bytes: &[u8]| {
    let Some(view) = View::parse(bytes) else { return };
    for text in [view.version, view.policy, view.firewall] {
        assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    }
    let mut again = Vec::new();
    view.encode(&mut again).expect("a vector has room");
    let read = View::parse(&again).expect("it was just written");
    // Numbers are rounded to milliseconds once.
    let mut twice = Vec::new();
    read.encode(&mut twice).expect("a vector has room");
    assert_eq!(View::parse(&twice), Some(read));
});
