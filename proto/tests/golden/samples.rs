//! Samples of protocol 1.10: what we encode equals what the real library sent, and we read what it read.

use schwann_proto::{
    stream::ChannelFormat,
    wire::{
        ByteWriter, Sink,
        sample::{ByteOrder, Layout, Stamp, StampTracker, Subnormals},
        test_pattern,
    },
};

use crate::vectors::{CHANNEL_COUNT, Exchange, FORMATS, ORDERS, Pulled};

/// Encodes a sample from the type that the stream itself has.
pub(crate) fn encode(layout: &Layout, stamp: Stamp, sample: &Pulled, out: &mut Vec<u8>) {
    let narrow = |value: &i64| i32::try_from(*value).unwrap();
    match layout.format {
        ChannelFormat::Undefined => unreachable!("no captured stream is undefined"),
        ChannelFormat::String => {
            let strings = sample.strings();
            layout.encode_strings(stamp, strings.iter().map(Vec::as_slice), out).unwrap();
        }
        ChannelFormat::Float32 => {
            let values: Vec<f32> = sample.doubles().iter().map(|value| *value as f32).collect();
            layout.encode(stamp, &values, out).unwrap();
        }
        ChannelFormat::Double64 => layout.encode(stamp, &sample.doubles(), out).unwrap(),
        ChannelFormat::Int64 => layout.encode(stamp, &sample.integers(), out).unwrap(),
        ChannelFormat::Int32 | ChannelFormat::Int16 | ChannelFormat::Int8 => {
            let values: Vec<i32> = sample.integers().iter().map(narrow).collect();
            layout.encode(stamp, &values, out).unwrap();
        }
    }
}

/// Checks one decoded sample against what the C interface showed.
pub(crate) fn check(layout: &Layout, values: &[u8], sample: &Pulled) {
    match layout.format {
        ChannelFormat::String => {
            let mut strings = Vec::new();
            layout.read_strings(values, |text| strings.push(text.to_vec())).unwrap();
            assert_eq!(strings, sample.strings());
        }
        ChannelFormat::Float32 | ChannelFormat::Double64 => {
            let mut numbers = [0f64; CHANNEL_COUNT];
            layout.read_values(values, &mut numbers).unwrap();
            assert_eq!(numbers.map(f64::to_bits).as_slice(), bits(&sample.doubles()));
        }
        _ => {
            let mut numbers = [0i64; CHANNEL_COUNT];
            layout.read_values(values, &mut numbers).unwrap();
            assert_eq!(numbers.as_slice(), sample.integers());
        }
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn samples_are_encoded_as_the_real_outlet_does() {
    for format in FORMATS {
        for (order, suffix) in ORDERS {
            let outlet = Exchange::load(&format!("outlet_feed110_{format}_{suffix}"));
            let samples = Exchange::load(&format!("inlet_feed110_{format}_{suffix}")).pulled();
            // One-byte values are never turned around, and their stamps with them: lsl-wire §11.3.
            let order = if format == ChannelFormat::Int8 { ByteOrder::Little } else { order };
            let layout = Layout::new(format, CHANNEL_COUNT, order);
            let mut out = Vec::new();
            test_pattern::encode(&layout, &mut out).unwrap();
            assert_eq!(out, outlet.steps[2].bytes, "{}", outlet.name);
            assert_eq!(samples.len(), 3);
            let stamps = [Stamp::Sent(1000.5), Stamp::from(-1.0), Stamp::Sent(0.125)];
            for ((sample, stamp), step) in samples.iter().zip(stamps).zip(&outlet.steps[3..]) {
                out.clear();
                encode(&layout, stamp, sample, &mut out);
                assert_eq!(out, step.bytes, "{} {}", outlet.name, step.note);
                assert_eq!(layout.sample_len(&out), Ok(Some(out.len())));
            }
        }
    }
}

#[test]
fn samples_are_decoded_as_the_real_inlet_does() {
    for format in FORMATS {
        for (order, suffix) in ORDERS {
            let exchange = Exchange::load(&format!("inlet_feed110_{format}_{suffix}"));
            let layout = Layout::new(format, CHANNEL_COUNT, order);
            let pattern = &exchange.steps[2].bytes;
            assert_eq!(test_pattern::verify(&layout, pattern), Ok(Some(pattern.len())), "{}", exchange.name);
            let stream: Vec<u8> = exchange.steps[3..].iter().flat_map(|step| step.bytes.clone()).collect();
            let mut tracker = StampTracker::new(100.0);
            let mut rest = stream.as_slice();
            for sample in exchange.pulled() {
                let (stamp, values, behind) = layout.split_sample(rest).unwrap().unwrap();
                assert_eq!(tracker.resolve(stamp), sample.stamp, "{}", exchange.name);
                check(&layout, values, &sample);
                rest = behind;
            }
            assert_eq!(rest, b"");
            assert_eq!(layout.count(&stream, usize::MAX).unwrap().samples, 3);
        }
    }
}

#[test]
fn every_length_field_of_a_string_is_read() {
    let exchange = Exchange::load("inlet_feed110_string_lengths");
    let layout = Layout::new(ChannelFormat::String, 4, ORDERS[0].0);
    let (stamp, values, rest) = layout.split_sample(&exchange.steps[2].bytes).unwrap().unwrap();
    assert_eq!((stamp, rest), (Stamp::Sent(9.0), &b""[..]));
    let strings: Vec<&[u8]> = layout.strings(values).collect();
    assert_eq!(strings, [&b"one"[..], b"two", b"three", b"four"]);
}

#[test]
fn long_strings_are_encoded_as_the_real_outlet_does() {
    let exchange = Exchange::load("outlet_feed110_string_lengths");
    let lens = [0, 1, 255, 256, 70_000];
    for ((order, _), steps) in ORDERS.into_iter().zip(exchange.steps.chunks(7)) {
        let layout = Layout::new(ChannelFormat::String, 1, order);
        for (len, step) in lens.into_iter().zip(&steps[2..]) {
            let text = vec![b'z'; len];
            let mut out = Vec::new();
            layout.encode_strings(Stamp::Sent(2.0), [text.as_slice()], &mut out).unwrap();
            assert!(step.note.contains(&format!("(of {})", out.len())), "{}", step.note);
            assert_eq!(out[..out.len().min(32)], step.bytes);
        }
    }
}

#[test]
fn subnormals_are_suppressed_on_request() {
    let exchange = Exchange::load("inlet_feed110_suppress_subnormals");
    let mut layout = Layout::new(ChannelFormat::Float32, 3, ORDERS[0].0);
    layout.subnormals = Subnormals::Suppress;
    let (_, values, _) = layout.split_sample(&exchange.steps[3].bytes).unwrap().unwrap();
    check(&layout, values, &exchange.pulled()[0]);
    let mut native = [0; 12];
    layout.read_raw(values, &mut native).unwrap();
    assert_eq!(native[..8], [0, 0, 0, 0, 0, 0, 0, 0x80]);
}

#[test]
fn special_numbers_pass_unchanged() {
    let exchange = Exchange::load("outlet_feed_special_values");
    let layout = Layout::new(ChannelFormat::Double64, 1, ORDERS[0].0);
    let odd_nan = f64::from_bits(0xfff8_0000_0000_0123);
    let mut out = Vec::new();
    layout.encode(Stamp::Sent(5.0), &[odd_nan], &mut out).unwrap();
    assert_eq!(out, exchange.steps[2].bytes);
    out.clear();
    layout.encode(Stamp::from(f64::from_bits(0x7ff8_0000_0000_0000)), &[1.0], &mut out).unwrap();
    assert_eq!(out, exchange.steps[3].bytes);
}

#[test]
fn chunks_and_the_wide_test_pattern_fit_arrays_of_the_caller() {
    let exchange = Exchange::load("outlet_feed110_chunks");
    let layout = Layout::new(ChannelFormat::Int16, 2, ORDERS[0].0);
    let mut room = [0; 64];
    let mut out = ByteWriter::new(&mut room);
    layout.encode_chunk(Stamp::Sent(99.98), &[1i16, 2, 3, 4, 5, 6], &mut out).unwrap();
    assert_eq!(out.written(), exchange.steps[2].bytes);
    out.truncate(0);
    layout.encode_stamped_chunk(&[101.0, 101.0, 102.0], &[7, -7, 8, -8, 9i64, -9], &mut out).unwrap();
    let (captured, written) = (&exchange.steps[4].bytes, out.written());
    assert_eq!(written.len(), captured.len());
    assert_eq!(layout.count(written, 9), layout.count(captured, 9));

    let wrap = Exchange::load("outlet_testpattern_int8_wrap");
    let layout = Layout::new(ChannelFormat::Int8, 130, ORDERS[0].0);
    let response = &wrap.steps[1].bytes;
    let pattern = &response[response.len() - 2 * 139..];
    assert_eq!(test_pattern::verify(&layout, pattern), Ok(Some(pattern.len())));
    let mut again = Vec::new();
    test_pattern::encode(&layout, &mut again).unwrap();
    assert_eq!(again, pattern);
}
