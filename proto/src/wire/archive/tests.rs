use std::vec::Vec;

use super::{
    Archive, Malformed,
    encode::{put_f32, put_signed, put_string},
};
use crate::{
    stream::ChannelFormat,
    wire::sample::{ByteOrder, Layout, Stamp, StampTracker},
};

#[test]
fn numbers_take_as_few_bytes_as_specified() {
    let encoded = |value: i64| {
        let mut out = Vec::new();
        put_signed(value, &mut out).unwrap();
        out
    };
    let cases: [(i64, &[u8]); 11] = [
        (0, &[0]),
        (1, &[1, 1]),
        (-1, &[0xff, 0xff]),
        (200, &[1, 0xc8]),
        (-200, &[0xff, 0x38]),
        (-256, &[0xff, 0]),
        (-257, &[0xfe, 0xff, 0xfe]),
        (65_536, &[3, 0, 0, 1]),
        (i64::MAX, &[8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        (1 << 62, &[8, 0, 0, 0, 0, 0, 0, 0, 0x40]),
        (i64::MIN, &[0xf8, 0, 0, 0, 0, 0, 0, 0, 0x80]),
    ];
    for (value, bytes) in cases {
        assert_eq!(encoded(value), bytes, "{value}");
    }
}

#[test]
fn floats_are_their_bits() {
    let cases: [(f32, &[u8]); 5] = [
        (0.0, &[0]),
        (-0.0, &[4, 0, 0, 0, 0x80]),
        (1.5, &[4, 0, 0, 0xc0, 0x3f]),
        (1e-40, &[3, 0xc2, 0x16, 1]),
        (f32::NAN, &[4, 0xff, 0xff, 0xff, 0x7f]),
    ];
    for (value, bytes) in cases {
        let mut out = Vec::new();
        put_f32(value, &mut out).unwrap();
        assert_eq!(out, bytes, "{value}");
    }
}

#[test]
fn malformed_archives_are_refused() {
    let integers = Archive::new(ChannelFormat::Int16, 1);
    assert_eq!(integers.sample_len(&[1, 1, 3, 0, 0, 0]), Err(Malformed::Number), "three bytes for 16 bits");
    assert_eq!(integers.sample_len(&[0xff, 1]), Err(Malformed::Number), "a negative tag");
    assert_eq!(integers.sample_len(&[1, 1, 0x80]), Err(Malformed::Number), "minus 128 bytes");
    let mut strings = Archive::new(ChannelFormat::String, 2);
    strings.string_limit = 10;
    let mut sample = Vec::from([1, 1]);
    put_string(b"123456", &mut sample).unwrap();
    sample.extend([1, 5]);
    assert_eq!(strings.sample_len(&sample), Err(Malformed::TooLong { announced: 5 }));
    assert_eq!(Archive::decode_header(&[0x7e]), Err(Malformed::Header));
    assert_eq!(Archive::decode_header(&[0x7f, 1, 18]), Err(Malformed::Header));
    assert_eq!(Archive::decode_header(&[0x7f, 1, 17]), Ok(None));
    assert_eq!(Archive::decode_header(&[0x7f, 1, 9, 0, 0, 1]), Err(Malformed::Header));
}

#[test]
fn whole_streams_are_translated_counted_and_stamped_anew() {
    let layout = Layout::new(ChannelFormat::Int16, 2, ByteOrder::Big);
    let archive = Archive::new(ChannelFormat::Int16, 2);
    let (mut plain, mut out) = (Vec::new(), Vec::new());
    layout.encode_chunk(Stamp::Sent(10.0), &[1, -2, 300, -400, 0, 32_767i16], &mut plain).unwrap();
    let translated = archive.translate(&layout, &[plain.as_slice(), &[1]].concat(), &mut out).unwrap();
    assert_eq!((translated.samples, translated.bytes), (3, plain.len()));
    let all = archive.skip(&out, 9, &mut StampTracker::new(4.0)).unwrap();
    assert_eq!((all.samples, all.bytes), (3, out.len()));

    let mut tracker = StampTracker::new(4.0);
    let skipped = archive.skip(&out, 2, &mut tracker).unwrap();
    assert_eq!((skipped.samples, tracker.previous()), (2, 10.25));
    let (stamp, values, rest) = archive.split_sample(&out[skipped.bytes..]).unwrap().unwrap();
    assert_eq!((stamp, rest), (Stamp::Deduced, &b""[..]));
    let (mut stamped, mut back) = (Vec::new(), Vec::new());
    archive.put_stamp(Stamp::Sent(tracker.resolve(stamp)), &mut stamped).unwrap();
    stamped.extend_from_slice(values);
    assert_eq!(archive.decode(&stamped, &mut back), Ok(Some(stamped.len())));
    let (stamp, values, _) = archive.plain_layout().split_sample(&back).unwrap().unwrap();
    let mut numbers = [0i16; 2];
    archive.plain_layout().read_values(values, &mut numbers).unwrap();
    assert_eq!((stamp, numbers), (Stamp::Sent(10.5), [0, 32_767]));
}
