//! Surveys of recordings, whole and damaged.

use std::io::Cursor;

use super::*;
use crate::wire::{MAGIC, Tag, put_chunk, put_clock_offset};

const HEADER: &[u8] = b"\x01\0\0\0<info><channel_count>1</channel_count><nominal_srate>100</nominal_srate>\
    <channel_format>int8</channel_format></info>";

fn survey(stamps: &[f64], footer_count: usize) -> Survey {
    let offsets: Vec<_> =
        (0..20).map(|n| 100.0 + 5.0 * f64::from(n)).map(|at| (at, 3.0 - 20e-6 * at)).collect();
    survey_with(stamps, &offsets, footer_count)
}

fn survey_with(stamps: &[f64], offsets: &[(f64, f64)], footer_count: usize) -> Survey {
    let mut file = MAGIC.to_vec();
    put_chunk(
        &mut file,
        Tag::FileHeader,
        None,
        b"<info><datetime>2026-11-21T00:00:00+0000</datetime></info>",
    );
    put_chunk(&mut file, Tag::StreamHeader, None, HEADER);
    for stamp in stamps {
        let content = [&[1, 0, 0, 0, 1, 1, 8][..], &stamp.to_le_bytes(), &[7]].concat();
        put_chunk(&mut file, Tag::Samples, None, &content);
    }
    for (at, offset) in offsets {
        put_clock_offset(&mut file, 1, *at, *offset);
    }
    let footer = format!("\x01\0\0\0<info><sample_count>{footer_count}</sample_count></info>");
    put_chunk(&mut file, Tag::StreamFooter, None, footer.as_bytes());
    Survey::read(Reader::new(Cursor::new(file)).unwrap(), |_, _| {}).unwrap()
}

#[test]
fn counts_gaps_rate_and_clock_are_as_recorded() {
    let mut stamps: Vec<_> = (0..100).map(|n| 50.0 + f64::from(n) / 100.0).collect();
    stamps.extend((0..100).map(|n| 52.0 + f64::from(n) / 100.0));
    stamps.push(52.5);
    let survey = survey(&stamps, 201);
    assert!(survey.is_sound());
    assert_eq!(survey.datetime, "2026-11-21T00:00:00+0000");
    let stream = &survey.streams[0];
    assert_eq!((stream.sample_count, stream.gap_count, stream.backward_count), (201, 1, 1));
    assert_eq!(stream.gaps[0].missing, 100);
    assert!((stream.duration.as_secs_f64() - 2.99).abs() < 1e-6);
    assert!((stream.gaps[0].seconds - 1.01).abs() < 1e-9);
    assert!((stream.effective_rate - 100.0).abs() < 1e-6);
    assert_eq!((stream.clock.offset_count, stream.clock.reset_count), (20, 0));
    assert!((stream.clock.drift_ppm - 20.0).abs() < 0.01, "{:?}", stream.clock);
    assert!(stream.clock.residual < 1e-9);
}

#[test]
fn stamps_that_are_no_times_are_counted_and_leave_the_rest_as_it_is() {
    let sound: Vec<_> = (0..3_000).map(|n| 100.0 + f64::from(n) / 100.0).collect();
    let is_odd = |n: usize| n.is_multiple_of(10) || (500..800).contains(&n);
    let odd = |(n, stamp): (usize, &f64)| if is_odd(n) { f64::NAN } else { *stamp };
    let [sound, some, none] =
        [sound.clone(), sound.iter().enumerate().map(odd).collect(), vec![f64::INFINITY; 3_000]]
            .map(|stamps| survey(&stamps, 3_000).streams.remove(0));
    assert_eq!((sound.invalid_stamp_count, some.invalid_stamp_count), (0, 570));
    assert_eq!((some.sample_count, some.gap_count, some.backward_count), (3_000, 0, 0));
    assert!((some.effective_rate - 100.0).abs() < 1e-6 && some.timing.jitter.quantile(0.99) < Some(1e-4));
    assert!((some.duration.as_secs_f64() - 29.98).abs() < 1e-6, "from the second sample on");
    assert_eq!((none.invalid_stamp_count, none.first_stamp, none.footer_agrees()), (3_000, None, Some(true)));
}

#[test]
fn a_clock_that_was_set_ahead_is_no_gap_and_leaves_the_rate_alone() {
    let stretch = |from: f64| (0..3_000).map(move |n| from + f64::from(n) / 100.0);
    let stamps: Vec<_> = stretch(100.0).chain(stretch(50_130.0)).collect();
    let measured = |from: f64, offset: f64| (0..6).map(move |n| (from + 5.0 * f64::from(n), offset));
    let offsets: Vec<_> = measured(100.0, 3.0).chain(measured(50_130.0, -49_997.0)).collect();
    let survey = survey_with(&stamps, &offsets, 6_000);
    let stream = &survey.streams[0];
    assert_eq!((stream.clock.reset_count, stream.gap_count, stream.gap_seconds), (1, 0, 0.0), "{stream:?}");
    assert!((stream.effective_rate - 100.0).abs() < 0.1 && stream.duration.as_secs() < 61, "{stream:?}");
    // The same step without a reset is a gap.
    assert_eq!(survey_with(&stamps, &offsets[..6], 6_000).streams[0].gap_count, 1);
}

#[test]
fn blocks_with_one_stamp_are_no_gaps() {
    let stamps: Vec<_> = (0..400).map(|n| f64::from(n / 50) * 0.5).collect();
    assert_eq!(survey(&stamps, 400).streams[0].gap_count, 0);
}

#[test]
fn a_footer_that_counts_otherwise_is_not_sound() {
    let survey = survey(&[1.0, 1.01], 3);
    assert_eq!(survey.streams[0].footer_agrees(), Some(false));
    assert!(!survey.is_sound());
    assert!(!survey.is_truncated());
}
