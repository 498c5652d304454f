//! A description that was accepted describes the same stream after it has been sent on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::stream_info::StreamInfo;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(info) = StreamInfo::parse(bytes) {
        let shortinfo = info.shortinfo();
        let again = StreamInfo::parse(&shortinfo).expect("what we send is valid");
        assert_eq!(again.shortinfo(), shortinfo);
    }
});
