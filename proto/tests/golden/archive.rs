//! Protocol 1.00 in both roles.

use schwann_proto::{
    stream::ChannelFormat,
    wire::{
        archive::Archive,
        sample::{ByteOrder, Layout, Stamp, StampTracker},
        test_pattern,
    },
};

use crate::{
    samples::{check, encode},
    vectors::{CHANNEL_COUNT, Exchange, FORMATS},
};

#[test]
fn archives_are_encoded_as_the_real_outlet_does() {
    for format in FORMATS {
        let outlet = Exchange::load(&format!("outlet_feed100_{format}"));
        let samples = Exchange::load(&format!("inlet_feed100_{format}")).pulled();
        let archive = Archive::new(format, CHANNEL_COUNT);

        let captured = [outlet.steps[1].bytes.as_slice(), &outlet.steps[2].bytes].concat();
        let header = Archive::decode_header(&captured).unwrap().unwrap();
        let mut out = Vec::new();
        Archive::encode_header(core::str::from_utf8(header.shortinfo).unwrap(), &mut out).unwrap();
        test_pattern::encode_archive(&archive, &mut out).unwrap();
        assert_eq!(out, captured, "{}", outlet.name);

        let stamps = [Stamp::Sent(1000.5), Stamp::Deduced, Stamp::Sent(0.125)];
        for ((sample, stamp), step) in samples.iter().zip(stamps).zip(&outlet.steps[3..]) {
            let layout = archive.plain_layout();
            let mut plain = Vec::new();
            encode(&layout, stamp, sample, &mut plain);
            let (stamp, values, _) = layout.split_sample(&plain).unwrap().unwrap();
            out.clear();
            archive.encode_plain(&layout, stamp, values, &mut out).unwrap();
            assert_eq!(out, step.bytes, "{} {}", outlet.name, step.note);
        }
    }
}

#[test]
fn archives_are_decoded_as_the_real_inlet_does() {
    for format in FORMATS {
        let exchange = Exchange::load(&format!("inlet_feed100_{format}"));
        let archive = Archive::new(format, CHANNEL_COUNT);
        let stream: Vec<u8> = exchange.steps[1..].iter().flat_map(|step| step.bytes.clone()).collect();
        let header = Archive::decode_header(&stream).unwrap().unwrap();
        assert!(header.shortinfo.starts_with(b"<?xml"));
        let mut rest = &stream[header.len..];
        let pattern_len = test_pattern::verify_archive(&archive, rest).unwrap().unwrap();
        rest = &rest[pattern_len..];

        let mut tracker = StampTracker::new(100.0);
        for sample in exchange.pulled() {
            let mut plain = Vec::new();
            for incomplete in 0..archive.sample_len(rest).unwrap().unwrap() {
                assert_eq!(archive.decode(&rest[..incomplete], &mut plain), Ok(None));
                assert!(plain.is_empty());
            }
            let len = archive.decode(rest, &mut plain).unwrap().unwrap();
            assert_eq!(archive.sample_len(rest), Ok(Some(len)));
            let layout = archive.plain_layout();
            let (stamp, values, _) = layout.split_sample(&plain).unwrap().unwrap();
            assert_eq!(tracker.resolve(stamp), sample.stamp);
            check(&layout, values, &sample);
            rest = &rest[len..];
        }
        assert_eq!(rest, b"", "{}", exchange.name);
    }
}

#[test]
fn the_wide_test_pattern_wraps_as_captured() {
    let exchange = Exchange::load("outlet_testpattern_int8_wrap");
    let archive = Archive::new(ChannelFormat::Int8, 130);
    let response = &exchange.steps[3].bytes;
    let header = Archive::decode_header(response).unwrap().unwrap();
    let pattern = &response[header.len..];
    assert_eq!(test_pattern::verify_archive(&archive, pattern), Ok(Some(pattern.len())));
}

#[test]
fn every_nan_becomes_the_same() {
    let exchange = Exchange::load("outlet_feed_special_values");
    let archive = Archive::new(ChannelFormat::Double64, 1);
    let layout = Layout::new(ChannelFormat::Double64, 1, ByteOrder::NATIVE);
    let mut out = Vec::new();
    let nan = f64::from_bits(0xfff8_0000_0000_0123);
    archive.encode_plain(&layout, Stamp::Sent(5.0), &nan.to_ne_bytes(), &mut out).unwrap();
    assert_eq!(out, exchange.steps[7].bytes);
    out.clear();
    archive.encode_plain(&layout, Stamp::Sent(f64::NAN), &1.0_f64.to_ne_bytes(), &mut out).unwrap();
    assert_eq!(out, exchange.steps[8].bytes);
}
