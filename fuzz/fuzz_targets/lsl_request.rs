//! Requests to an outlet: pieces do not matter, and what was read can be answered and written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::{
    stream::ChannelFormat,
    wire::feed::{Command, Offer, RequestReader},
};

fuzz_target!(|input: &[u8]| {
    // The first byte chooses where the first piece ends.
    let Some((cut, bytes)) = input.split_first() else { return };
    let whole = RequestReader::new().read(bytes);
    let mut reader = RequestReader::new();
    if reader.read(&bytes[..bytes.len() * usize::from(*cut) / 256]) == Ok(None) {
        assert_eq!(reader.read(bytes), whole);
    }
    let Ok(Some(Command::Feed(request))) = whole else { return };
    let offer = Offer {
        version: 110,
        uid: "u",
        format: ChannelFormat::Float32,
        swap_performance: 1.0,
        synchronous: false,
    };
    let mut out = Vec::new();
    match offer.negotiate(&request) {
        Ok(agreement) => agreement.encode_response(&offer, &mut out).expect("a vector has room"),
        Err(refusal) => refusal.encode(&offer, &mut out).expect("a vector has room"),
    }
    out.clear();
    request.encode(&mut out).expect("a vector has room");
    let again = RequestReader::new().read(&out);
    assert!(matches!(again, Ok(Some(Command::Feed(_)))), "{}", String::from_utf8_lossy(&out));
});
