//! Samples of protocol 1.00: decoding and re-encoding give the same sample.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::{
    stream::ChannelFormat,
    wire::{archive::Archive, test_pattern},
};

fuzz_target!(|input: &[u8]| {
    let _ = Archive::decode_header(input);
    // The first two bytes choose the archive.
    let [choice, channels, bytes @ ..] = input else { return };
    let mut archive = Archive::new(ChannelFormat::ALL[usize::from(*choice) % 7], usize::from(channels & 15));
    archive.string_limit = 1 << 16;

    let _ = test_pattern::verify_archive(&archive, bytes);
    let mut plain = Vec::new();
    let taken = archive.decode(bytes, &mut plain);
    assert_eq!(taken.ok(), archive.sample_len(bytes).ok());
    let Ok(Some(_)) = taken else { return };
    let layout = archive.plain_layout();
    let (stamp, values, rest) = layout.split_sample(&plain).expect("ours").expect("whole");
    assert!(rest.is_empty());
    let (mut again, mut plain_again) = (Vec::new(), Vec::new());
    archive.encode_plain(&layout, stamp, values, &mut again).expect("same shape");
    assert_eq!(archive.decode(&again, &mut plain_again), Ok(Some(again.len())));
    assert_eq!(plain_again.len(), plain.len());
});
