//! Samples of data protocol 1.10: counting, decoding and re-encoding agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_proto::{
    stream::ChannelFormat,
    wire::{
        sample::{ByteOrder, Layout, StampTracker, Subnormals},
        test_pattern,
    },
};

fuzz_target!(|input: &[u8]| {
    // The first two bytes choose the layout.
    let [choice, channels, bytes @ ..] = input else { return };
    let order = if choice & 8 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let mut layout =
        Layout::new(ChannelFormat::ALL[usize::from(choice & 7) % 7], usize::from(channels & 15), order);
    layout.subnormals = if choice & 16 == 0 { Subnormals::Keep } else { Subnormals::Suppress };
    layout.string_limit = 1 << 16;

    let _ = test_pattern::verify(&layout, bytes);
    let (mut out, mut stamps) = ([0f64; 16 * 15], [0f64; 16]);
    let limit = stamps.len();
    let counted = layout.count(bytes, limit);
    if layout.channel_count > 0 {
        let out = &mut out[..limit * layout.channel_count];
        let decoded = layout.decode_chunk(bytes, out, &mut stamps, &mut StampTracker::new(100.0));
        assert_eq!(decoded, counted);
    }
    if let Ok(Some((stamp, values, _))) = layout.split_sample(bytes) {
        let mut strings = Vec::new();
        layout.read_strings(values, |text| strings.push(text.to_vec())).expect("the sample is whole");
        let mut again = Vec::new();
        layout
            .encode_strings(stamp, strings.iter().map(Vec::as_slice), &mut again)
            .expect("one string per channel");
        assert_eq!(layout.sample_len(&again), Ok(Some(again.len())));
    }
});
