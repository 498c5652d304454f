use super::*;
use schwann_proto::stream_info::OutletIdentity;

#[test]
fn a_stream_that_a_gateway_brings_in_is_not_unseen() {
    let stream = |source_id, hostname: &str, uid: u8| {
        let format = schwann::ChannelFormat::Float32;
        let info = StreamInfo::new("Old", "EEG", 8, 500.0, format, source_id).expect("valid");
        let hostname = hostname.as_bytes();
        info.for_outlet(&OutletIdentity { session_id: b"", random: [uid; 16], created_at: 0.0, hostname })
    };
    let (sealed, mut state) = (stream("amplifier", "here", 1), Sightings::default());
    assert!(!state.has_found(&stream("amplifier", "here", 2)));
    state.found.insert(sealed.uid().to_string(), sealed);
    assert!(state.has_found(&stream("amplifier", "here", 2)), "it comes in sealed");
    // A stream of another computer that claims the same did not come in.
    assert!(!state.has_found(&stream("amplifier", "elsewhere", 3)));
    assert!(!state.has_found(&stream("", "here", 4)));
}
