use std::vec::Vec;

use super::{ByteOrder, EncodeError, Layout, Malformed, ReadError, Stamp, StampTracker, Value};
use crate::{stream::ChannelFormat, wire::ByteWriter};

#[test]
fn a_chunk_has_one_stamp_on_the_wire() {
    // Source: lsl-wire §13, the example.
    let layout = Layout::new(ChannelFormat::Int16, 2, ByteOrder::Little);
    let mut out = Vec::new();
    layout.encode_chunk(Stamp::Sent(100.0 - 2.0 / 100.0), &[1i16, 2, 3, 4, 5, 6], &mut out).unwrap();
    let expected =
        [0x02, 0x1f, 0x85, 0xeb, 0x51, 0xb8, 0xfe, 0x58, 0x40, 1, 0, 2, 0, 1, 3, 0, 4, 0, 1, 5, 0, 6, 0];
    assert_eq!(out, expected);
    let mut values = [0i16; 6];
    let mut stamps = [0.0; 3];
    let mut tracker = StampTracker::new(100.0);
    let extent = layout.decode_chunk(&out, &mut values, &mut stamps, &mut tracker).unwrap();
    assert_eq!((extent.samples, extent.bytes), (3, out.len()));
    assert_eq!(values, [1, 2, 3, 4, 5, 6]);
    assert_eq!(stamps, [99.98, 99.98 + 0.01, 99.98 + 0.01 + 0.01]);
}

/// Encodes one value into a stream of `format` and reads it back as `U`.
fn through<T: Value, U: Value>(format: ChannelFormat, value: T) -> U {
    let layout = Layout::new(format, 1, ByteOrder::Big);
    let mut out = Vec::new();
    layout.encode(Stamp::Deduced, &[value], &mut out).unwrap();
    let (_, values, _) = layout.split_sample(&out).unwrap().unwrap();
    let mut back = [U::default()];
    layout.read_values(values, &mut back).unwrap();
    back[0]
}

#[test]
fn numbers_convert_as_c_casts() {
    // Source: lsl-wire §21.
    assert_eq!(through::<f64, i8>(ChannelFormat::Int8, 300.7), 44);
    assert_eq!(through::<f64, i16>(ChannelFormat::Int16, -300.7), -300);
    assert_eq!(through::<f64, i32>(ChannelFormat::Int32, 1e20), i32::MIN);
    assert_eq!(through::<f32, i64>(ChannelFormat::Int64, f32::NAN), i64::MIN);
    assert_eq!(through::<i64, i32>(ChannelFormat::Int32, 0x1_0000_0007), 7);
    assert_eq!(through::<i32, i8>(ChannelFormat::Int8, 0x1ff), -1);
    assert_eq!(through::<i8, i64>(ChannelFormat::Int16, -5), -5, "bytes are signed");
    assert_eq!(through::<i64, f32>(ChannelFormat::Float32, 16_777_217), 16_777_216.0);
    assert_eq!(through::<i32, f64>(ChannelFormat::Double64, 16_777_217), 16_777_217.0);
    assert_eq!(through::<f64, f32>(ChannelFormat::Float32, 1e39), f32::INFINITY);
    assert_eq!(through::<f32, f64>(ChannelFormat::Float32, 0.1), f64::from(0.1f32));
}

#[test]
fn numbers_and_strings_convert_as_cpp_streams() {
    let layout = Layout::new(ChannelFormat::String, 6, ByteOrder::NATIVE);
    let strings = |encode: &dyn Fn(&mut Vec<u8>)| {
        let (mut out, mut strings) = (Vec::new(), Vec::new());
        encode(&mut out);
        let (_, values, _) = layout.split_sample(&out).unwrap().unwrap();
        layout
            .read_strings(values, |text| strings.push(std::string::String::from_utf8(text.to_vec()).unwrap()))
            .unwrap();
        strings
    };
    let floats = [0.1f32, 1e10, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -2.5];
    assert_eq!(
        strings(&|out| layout.encode(Stamp::Deduced, &floats, out).unwrap()),
        ["0.10000000", "1.0000000e+10", "nan", "inf", "-inf", "-2.5000000"]
    );
    let bytes = [65i8, -128, 0, 1, 2, 3];
    assert_eq!(
        strings(&|out| layout.encode(Stamp::Deduced, &bytes, out).unwrap()),
        ["65", "-128", "0", "1", "2", "3"],
        "bytes are numbers, not characters"
    );

    let texts = ["3.5xyz", "", "nonsense", "99999999999999999999", "-1e999", "65"];
    let mut out = Vec::new();
    layout.encode_strings(Stamp::Deduced, texts.map(str::as_bytes), &mut out).unwrap();
    let (_, values, _) = layout.split_sample(&out).unwrap().unwrap();
    let (mut doubles, mut shorts, mut bytes) = ([0f64; 6], [0i16; 6], [0i8; 6]);
    layout.read_values(values, &mut doubles).unwrap();
    layout.read_values(values, &mut shorts).unwrap();
    layout.read_values(values, &mut bytes).unwrap();
    assert_eq!(doubles, [3.5, 0.0, 0.0, 1e20, f64::MIN, 65.0]);
    assert_eq!(shorts, [3, 0, 0, i16::MAX, -1, 65]);
    assert_eq!(bytes, [51, 0, 110, 57, 45, 54], "strings give bytes their first character");

    let numeric = Layout::new(ChannelFormat::Int16, 2, ByteOrder::Big);
    out.clear();
    numeric.encode_strings(Stamp::Deduced, ["258", "-70000"].map(str::as_bytes), &mut out).unwrap();
    assert_eq!(out, [1, 1, 2, 0x80, 0]);
}

#[test]
fn a_string_above_the_limit_is_refused_before_it_arrives() {
    let mut layout = Layout::new(ChannelFormat::String, 2, ByteOrder::Little);
    layout.string_limit = 1000;
    let announced = |bytes: &[u8]| layout.sample_len(bytes);
    assert_eq!(announced(&[1, 4, 0, 0, 0, 0x40]), Err(Malformed::TooLong { announced: 1 << 30 }));
    assert_eq!(
        announced(&[1, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        Err(Malformed::TooLong { announced: u64::MAX })
    );
    assert_eq!(announced(&[1, 2, 0xe8, 3]), Ok(None), "1,000 bytes are allowed");
    assert_eq!(announced(&[1, 2, 0xe9, 3]), Err(Malformed::TooLong { announced: 1001 }));
    let mut both = Vec::from([1, 2, 0xf4, 1]);
    both.extend([0; 500]);
    both.extend([2, 0xf5, 1]);
    assert_eq!(announced(&both), Err(Malformed::TooLong { announced: 501 }), "the limit is for both");
    assert_eq!(announced(&[1, 3, 0, 0, 0]), Err(Malformed::LengthField { size: 3 }));
}

#[test]
fn good_samples_before_a_malformed_one_are_delivered() {
    let layout = Layout::new(ChannelFormat::String, 1, ByteOrder::Little);
    let bytes = [1, 1, 1, b'a', 1, 1, 1, b'b', 1, 7];
    let counted = layout.count(&bytes, usize::MAX).unwrap();
    assert_eq!((counted.samples, counted.bytes), (2, 8));
    assert_eq!(layout.count(&bytes[8..], usize::MAX), Err(Malformed::LengthField { size: 7 }));
}

#[test]
fn skipped_samples_move_the_deduced_stamp() {
    let layout = Layout::new(ChannelFormat::Int8, 1, ByteOrder::NATIVE);
    let mut out = Vec::new();
    layout.encode_chunk(Stamp::Sent(10.0), &[1i8, 2, 3, 4], &mut out).unwrap();
    let mut tracker = StampTracker::new(4.0);
    let skipped = layout.skip(&out, 3, &mut tracker).unwrap();
    assert_eq!((skipped.samples, tracker.previous()), (3, 10.5));
    let (mut value, mut stamp) = ([0i8], [0.0]);
    layout.decode_chunk(&out[skipped.bytes..], &mut value, &mut stamp, &mut tracker).unwrap();
    assert_eq!((value, stamp), ([4], [10.75]));
    let mut irregular = StampTracker::new(0.0);
    assert_eq!(
        [Stamp::Deduced, Stamp::Sent(3.0), Stamp::Deduced].map(|stamp| irregular.resolve(stamp)),
        [0.0, 3.0, 3.0]
    );
}

#[test]
fn shapes_that_do_not_fit_are_refused_and_leave_no_trace() {
    let layout = Layout::new(ChannelFormat::Int32, 3, ByteOrder::NATIVE);
    let mut out = Vec::new();
    assert_eq!(layout.encode(Stamp::Deduced, &[1i32, 2], &mut out), Err(EncodeError::Shape));
    assert_eq!(layout.encode_chunk(Stamp::Deduced, &[1i32; 5], &mut out), Err(EncodeError::Shape));
    assert_eq!(layout.encode_stamped_chunk(&[1.0], &[1i32; 6], &mut out), Err(EncodeError::Shape));
    assert_eq!(layout.encode_raw(Stamp::Deduced, &[0; 11], &mut out), Err(EncodeError::Shape));
    assert_eq!(layout.encode_strings(Stamp::Deduced, [&b"1"[..]], &mut out), Err(EncodeError::Shape));
    let undefined = Layout::new(ChannelFormat::Undefined, 1, ByteOrder::NATIVE);
    assert_eq!(undefined.encode(Stamp::Deduced, &[1i32], &mut out), Err(EncodeError::Shape));
    let strings = Layout::new(ChannelFormat::String, 1, ByteOrder::NATIVE);
    assert_eq!(strings.encode_raw(Stamp::Deduced, b"x", &mut out), Err(EncodeError::Shape));
    let mut room = [0; 20];
    let mut narrow = ByteWriter::new(&mut room);
    assert_eq!(layout.encode(Stamp::Sent(1.0), &[1i32, 2, 3], &mut narrow), Err(EncodeError::NoRoom));
    assert_eq!(narrow.written(), b"", "stamp and all");
    assert_eq!(layout.read_values(&[0; 12], &mut [0i32; 2]), Err(ReadError::Shape));
    assert_eq!(layout.read_values(&[0; 11], &mut [0i32; 3]), Err(ReadError::Shape));
    assert_eq!(layout.read_raw(&[0; 12], &mut [0; 11]), Err(ReadError::Shape));
    assert_eq!(layout.encode_chunk::<i32>(Stamp::Deduced, &[], &mut out), Ok(()));
    assert_eq!(out, b"");
}

#[test]
fn a_stream_without_channels_has_stamps_alone() {
    let layout = Layout::new(ChannelFormat::Float32, 0, ByteOrder::NATIVE);
    let mut out = Vec::new();
    layout.encode::<f32>(Stamp::Deduced, &[], &mut out).unwrap();
    assert_eq!(layout.encode_chunk(Stamp::Deduced, &[1f32], &mut out), Err(EncodeError::Shape));
    assert_eq!(layout.count(&out, 9).unwrap().samples, 1);
    layout.decode_chunk::<f32>(&out, &mut [], &mut [], &mut StampTracker::new(1.0)).unwrap();
}

#[test]
fn a_chunk_can_be_decoded_in_any_pieces_and_without_stamps() {
    let layout = Layout::new(ChannelFormat::Float32, 3, ByteOrder::NATIVE.swapped());
    let values: Vec<f64> = (0..300).map(f64::from).collect();
    let mut bytes = Vec::new();
    layout.encode_chunk(Stamp::Sent(1.0), &values, &mut bytes).unwrap();
    for piece in [1, 7, 50, 1000, bytes.len()] {
        let (mut back, mut stamps) = (std::vec![0f64; 300], std::vec![0f64; 100]);
        let (mut from, mut until, mut samples) = (0, 0, 0);
        let mut tracker = StampTracker::new(100.0);
        while samples < 100 {
            until = (until + piece).min(bytes.len());
            let (out, stamps) = (&mut back[3 * samples..], &mut stamps[samples..]);
            let extent = layout.decode_chunk(&bytes[from..until], out, stamps, &mut tracker).unwrap();
            from += extent.bytes;
            samples += extent.samples;
        }
        assert_eq!(back, values);
        assert!(stamps.windows(2).all(|pair| pair[1] > pair[0]));
    }
    let mut back = [0f64; 10];
    let extent = layout.decode_chunk(&bytes, &mut back, &mut [], &mut StampTracker::new(1.0)).unwrap();
    assert_eq!((extent.samples, back[8], back[9]), (3, 8.0, 0.0));
}
