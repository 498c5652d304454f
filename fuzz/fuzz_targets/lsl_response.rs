//! Responses to an inlet: pieces do not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::{
    stream::ChannelFormat,
    wire::feed::{Expected, ResponseReader},
};

fuzz_target!(|input: &[u8]| {
    // The first byte chooses where the first piece ends.
    let Some((cut, bytes)) = input.split_first() else { return };
    let uid = "11111111-2222-4333-8444-555555555555";
    let expected = Expected { version: 110, uid, format: ChannelFormat::Float32 };
    let whole = ResponseReader::new(expected).read(bytes);
    let mut reader = ResponseReader::new(expected);
    if reader.read(&bytes[..bytes.len() * usize::from(*cut) / 256]) == Ok(None) {
        assert_eq!(reader.read(bytes), whole);
    }
    if let Ok(Some(response)) = whole {
        assert!(response.len <= bytes.len());
    }
    let _ = reader.finish(bytes);
});
