//! What members say whose revocation lists differ: no call is taken for the other kind, and what is written is read.
#![no_main]

#[allow(dead_code, reason = "the engine uses all of it")]
#[path = "../../engine/src/net/lab_call.rs"]
mod lab_call;

use lab_call::{encode_answer, parse_answer, parse_request, request};
use libfuzzer_sys::fuzz_target;
use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::{IpVersion, StreamInfo};

fuzz_target!(|bytes: &[u8]| {
    let (asked, answered) = (parse_request(bytes), parse_answer(bytes));
    assert!(asked.is_none() || answered.is_none());
    if let Some(port) = asked {
        assert_eq!(parse_request(&request(port)), Some(port));
    }
    if let Some(answer) = answered {
        let mut info = StreamInfo::new("stream", "", 1, 0.0, ChannelFormat::Int8, "").expect("valid");
        for version in [IpVersion::V4, IpVersion::V6] {
            info.set_ports(version, answer.port(version), 0);
        }
        let mut again = Vec::new();
        encode_answer(answer.list, &info, &mut again);
        assert_eq!(parse_answer(&again), Some(answer));
    }
});
