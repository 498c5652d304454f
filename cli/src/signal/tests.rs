use std::time::Instant;

use super::*;

/// Power of `signal` around `hertz`, in squared units per hertz: Hann windows of two seconds, averaged.
fn power(signal: &[f32], rate: f64, hertz: f64) -> f64 {
    let window = (2.0 * rate) as usize;
    let hann = |at: usize| 0.5 - 0.5 * (core::f64::consts::TAU * at as f64 / window as f64).cos();
    let weight: f64 = (0..window).map(|at| hann(at).powi(2)).sum();
    let windows: Vec<_> = signal
        .chunks_exact(window)
        .map(|signal| {
            let mean = signal.iter().map(|&value| f64::from(value)).sum::<f64>() / window as f64;
            let (mut re, mut im) = (0.0, 0.0);
            for (at, &value) in signal.iter().enumerate() {
                let angle = core::f64::consts::TAU * hertz * at as f64 / rate;
                let value = (f64::from(value) - mean) * hann(at);
                re += value * angle.cos();
                im += value * angle.sin();
            }
            2.0 * (re * re + im * im) / (weight * rate)
        })
        .collect();
    windows.iter().sum::<f64>() / windows.len() as f64
}

/// A minute of 32 channels at 500 Hz, channel by channel, and what happens in it.
fn minute() -> (Vec<Vec<f32>>, Vec<String>, Vec<Moment>) {
    let spec = parse_spec("eeg:32@500").unwrap();
    let mut source = Source::new(spec, 42);
    let mut rows = vec![0.0; 60 * 500 * 32];
    source.fill(&mut rows);
    let channels = (0..32).map(|channel| rows.iter().skip(channel).step_by(32).copied().collect()).collect();
    (channels, source.labels().to_vec(), source.take_moments())
}

fn channel<'a>(channels: &'a [Vec<f32>], labels: &[String], label: &str) -> &'a [f32] {
    &channels[labels.iter().position(|other| other == label).unwrap()]
}

#[test]
fn specs_are_parsed_and_wrong_ones_refused_by_their_part() {
    let spec =
        |kind, channel_count, rate| Ok(Spec { kind, channel_count, rate, format: ChannelFormat::Float32 });
    let int16 =
        |spec: Result<Spec, SpecError>| spec.map(|spec| Spec { format: ChannelFormat::Int16, ..spec });
    for (text, expected) in [
        ("eeg:64@1000", spec(Kind::Eeg, 64, 1000.0)),
        ("eeg", spec(Kind::Eeg, 64, 1000.0)),
        ("eeg@250.5", spec(Kind::Eeg, 64, 250.5)),
        ("sine:3", spec(Kind::Sine, 3, 1000.0)),
        ("counter:384@30000", spec(Kind::Counter, 384, 30_000.0)),
        ("counter:384@30000/int16", int16(spec(Kind::Counter, 384, 30_000.0))),
        ("eeg/int16", int16(spec(Kind::Eeg, 64, 1000.0))),
        ("sine:3/float32", spec(Kind::Sine, 3, 1000.0)),
        ("sine:3/string", Err(SpecError::Format)),
        ("ecg:1@100", Err(SpecError::Kind)),
        ("", Err(SpecError::Kind)),
        ("eeg:0@100", Err(SpecError::Channels)),
        ("eeg:x@100", Err(SpecError::Channels)),
        ("eeg:99999999999@1", Err(SpecError::Channels)),
        ("eeg:4@0", Err(SpecError::Rate)),
        ("eeg:4@NaN", Err(SpecError::Rate)),
        ("eeg:4@1e300", Err(SpecError::Rate)),
        ("eeg:4@", Err(SpecError::Rate)),
    ] {
        assert_eq!(parse_spec(text), expected, "{text}");
        if let Ok(spec) = expected {
            assert_eq!(parse_spec(&spec.to_string()), Ok(spec));
        }
    }
}

#[test]
fn a_seed_gives_the_same_samples_however_they_are_asked_for() {
    let spec = parse_spec("eeg:40@300").unwrap();
    let (mut whole, mut pieces, mut other) =
        (vec![0.0; 40 * 9000], vec![0.0; 40 * 9000], vec![0.0; 40 * 9000]);
    Source::new(spec, 7).fill(&mut whole);
    let mut source = Source::new(spec, 7);
    for piece in pieces.chunks_mut(40 * 37) {
        source.fill(piece);
    }
    Source::new(spec, 8).fill(&mut other);
    assert_eq!(whole, pieces);
    assert_ne!(whole, other);
    assert!(whole.iter().all(|value| value.is_finite() && value.abs() < 1000.0));
}

#[test]
fn alpha_wakes_at_the_back_when_the_eyes_close() {
    let (channels, labels, moments) = minute();
    let closed: Vec<_> = moments.iter().filter(|moment| moment.what != "blink").collect();
    assert_eq!((closed[0].what, closed[1].what), ("eyes closed", "eyes open"));
    let (from, to) = (closed[0].sample as usize + 500, closed[1].sample as usize);
    let alpha = |label, from, to| power(&channel(&channels, &labels, label)[from..to], 500.0, 10.0);
    let around = |label, from, to| power(&channel(&channels, &labels, label)[from..to], 500.0, 17.0);
    assert!(alpha("O1", from, to) > 10.0 * around("O1", from, to));
    assert!(alpha("O1", from, to) > 10.0 * alpha("O1", 0, from - 500), "against open eyes");
    assert!(alpha("O1", from, to) > 10.0 * alpha("Fp1", from, to), "against the front");
}

#[test]
fn the_background_falls_with_frequency_and_the_hum_stands_out() {
    let (channels, labels, _) = minute();
    let cz = channel(&channels, &labels, "Cz");
    let slope = power(cz, 500.0, 4.0) / power(cz, 500.0, 32.0);
    assert!((4.0..16.0).contains(&slope), "an eighth of the power at eight times the frequency: {slope}");
    assert!(power(cz, 500.0, 50.0) > 5.0 * power(cz, 500.0, 45.0));
    assert!(power(cz, 500.0, 0.5) > 5.0 * power(cz, 500.0, 4.0), "drift");
}

#[test]
fn blinks_are_large_at_the_front_and_absent_at_the_back() {
    let (channels, labels, moments) = minute();
    let blinks: Vec<_> = moments.iter().filter(|moment| moment.what == "blink").collect();
    assert!(blinks.len() > 4, "{moments:?}");
    let rise = |label, at: usize| {
        let signal = &channel(&channels, &labels, label)[at..at + 100];
        signal.iter().copied().fold(f32::MIN, f32::max) - signal[0]
    };
    let mean = |label| {
        blinks.iter().map(|blink| rise(label, blink.sample as usize)).sum::<f32>() / blinks.len() as f32
    };
    assert!(mean("Fp1") > 80.0, "{}", mean("Fp1"));
    assert!(mean("Oz") < 40.0, "{}", mean("Oz"));
}

#[test]
fn electrodes_pop_now_and_then() {
    let spec = parse_spec("eeg:8@100").unwrap();
    let mut source = Source::new(spec, 3);
    let mut rows = vec![0.0; 300 * 100 * 8];
    source.fill(&mut rows);
    let jumps = (8..rows.len()).filter(|&at| (rows[at] - rows[at - 8]).abs() > 70.0).count();
    assert!((3..60).contains(&jumps), "{jumps} jumps in five minutes");
}

#[test]
fn counters_count_and_sines_swing() {
    let mut rows = [0.0; 6];
    Source::new(parse_spec("counter:2@10").unwrap(), 0).fill(&mut rows);
    assert_eq!(rows, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
    Source::new(parse_spec("sine:2@8").unwrap(), 0).fill(&mut rows);
    assert!((rows[4] - 1.0).abs() < 1e-6 && rows[5].abs() < 1e-6, "{rows:?}");
}

#[test]
#[ignore = "a measurement: cargo test --release -- --ignored"]
fn signals_are_made_faster_than_384_channels_at_30_khz_need() {
    let spec = parse_spec("eeg:384@30000").unwrap();
    let mut source = Source::new(spec, 1);
    let mut rows = vec![0.0; 384 * 30_000];
    let began = Instant::now();
    source.fill(&mut rows);
    let took = began.elapsed();
    println!("a second of 384 channels x 30 kHz took {took:?}");
    assert!(took.as_secs_f64() < 0.5);
}

#[test]
fn integers_are_the_same_signal_rounded() {
    let mut values = vec![0; 2 * 70_000];
    Source::new(parse_spec("counter:2/int16").unwrap(), 0).fill_int16(&mut values);
    let steps = values.as_chunks::<2>().0.windows(2).all(|rows| rows[1] == [rows[0][0].wrapping_add(1); 2]);
    assert!(steps && values[0] == 0);
    let (mut exact, mut rounded) = (vec![0.0; 4 * 500], vec![0; 4 * 500]);
    Source::new(parse_spec("eeg:4@250").unwrap(), 3).fill(&mut exact);
    Source::new(parse_spec("eeg:4@250/int16").unwrap(), 3).fill_int16(&mut rounded);
    assert!(exact.iter().zip(&rounded).all(|(exact, &rounded)| exact.round() as i16 == rounded));
    assert!(rounded.iter().any(|&value| value != 0));
}
