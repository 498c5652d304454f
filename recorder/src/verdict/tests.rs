use super::*;

/// A stream of 500 Hz at `now` = 110 that has been connected for 10 s and is as it should be.
fn sound() -> Evidence {
    let mut arrivals = Arrivals::default();
    (0..500).for_each(|n| arrivals.add(105.0 + f64::from(n) / 100.0));
    Evidence {
        nominal_rate: 500.0,
        reach: Reach::Connected,
        since: 100.0,
        rate: Some(MeasuredRate { hz: 500.0, seconds: 5.0, uncertainty: 0.01 }),
        arrivals,
        lag: Some(0.002),
        gap_count: 0,
        missing: 0,
        has_twin: false,
        newest: None,
        jitter: None,
        duplicates: 0,
        backward: None,
        invalid_stamps: 0,
        steps: None,
        drift: None,
        clock: ClockSeen::NotAsked,
        limits: Limits::USUAL,
    }
}

fn said(evidence: &Evidence) -> String {
    judge(evidence, NOW).to_string()
}

const NOW: f64 = 110.0;

#[test]
fn a_sound_stream_is_well_and_every_fault_is_told() {
    let rate = |hz, seconds| Some(MeasuredRate { hz, seconds, uncertainty: 0.01 });
    let cases = [
        (sound(), "well"),
        (Evidence { rate: rate(97.0, 1.0), ..sound() }, "RATE -80.6 %"),
        (Evidence { rate: rate(450.0, 1.5), ..sound() }, "RATE -10.0 %"),
        (Evidence { rate: rate(600.0, 5.0), ..sound() }, "RATE +20.0 %"),
        (Evidence { lag: Some(-1_795_459_561.0), ..sound() }, "STAMPS AHEAD"),
        (Evidence { lag: Some(40_000.0), ..sound() }, "STAMPS BEHIND"),
        (Evidence { has_twin: true, ..sound() }, "TWINS"),
        (Evidence { invalid_stamps: 3, ..sound() }, "INVALID STAMPS"),
        (Evidence { gap_count: 2, missing: 90, ..sound() }, "GAPS"),
        (Evidence { arrivals: Arrivals::default(), rate: None, ..sound() }, "NO SAMPLES"),
        (Evidence { reach: Reach::Away, ..sound() }, "CONNECTION LOST"),
        (Evidence { reach: Reach::Refused, ..sound() }, "REFUSED"),
    ];
    for (evidence, expected) in cases {
        assert_eq!(said(&evidence), expected, "{evidence:?}");
    }
    assert_eq!(judge(&sound(), NOW + 5.0).to_string(), "STOPPED");
}

#[test]
fn nothing_is_called_well_before_it_was_looked_at() {
    assert_eq!(judge(&Evidence { rate: None, ..sound() }, NOW), Verdict::Early);
    let short = Some(MeasuredRate { hz: 97.0, seconds: 0.4, uncertainty: 0.02 });
    assert_eq!(judge(&Evidence { rate: short, ..sound() }, NOW), Verdict::Early, "nor accused");
    for (nominal_rate, rate) in [(0.0, None), (0.1, None), (500.0, sound().rate)] {
        let asked = Evidence { nominal_rate, rate, clock: ClockSeen::Never(1.0), ..sound() };
        assert_eq!(judge(&asked, NOW), Verdict::Early, "its clock has not answered yet");
    }
}

#[test]
fn irregular_streams_are_accused_of_no_rate_and_no_silence() {
    let silent = Evidence {
        nominal_rate: 0.0,
        rate: Some(MeasuredRate { hz: 0.4, seconds: 5.0, uncertainty: 0.5 }),
        arrivals: Arrivals::default(),
        lag: None,
        ..sound()
    };
    assert_eq!(judge(&silent, 1e6), Verdict::Well);
    // An event that was announced, and one that was found late.
    for lag in [-20.0, 600.0] {
        assert_eq!(judge(&Evidence { lag: Some(lag), ..silent }, NOW), Verdict::Well);
    }
    assert_eq!(said(&Evidence { lag: Some(-1.8e9), ..silent }), "STAMPS AHEAD");
}

#[test]
fn a_stream_in_blocks_is_accused_of_neither_its_pauses_nor_its_unsteady_rate() {
    let mut arrivals = Arrivals::default();
    (0..12).for_each(|n| arrivals.add(100.0 + 2.0 * f64::from(n)));
    let blocks = Evidence {
        arrivals,
        rate: Some(MeasuredRate { hz: 400.0, seconds: 5.0, uncertainty: 0.4 }),
        lag: Some(-1.9),
        ..sound()
    };
    assert_eq!(judge(&blocks, 122.0 + 2.1), Verdict::Well);
    assert_eq!(judge(&blocks, 122.0 + 9.0).to_string(), "STOPPED");
}

#[test]
fn a_slow_stream_is_waited_for() {
    let slow =
        Evidence { nominal_rate: 0.1, arrivals: Arrivals::default(), rate: None, lag: None, ..sound() };
    assert_eq!(judge(&slow, 101.0), Verdict::Waiting);
    assert_eq!(judge(&slow, 125.0), Verdict::Waiting);
    assert_eq!(judge(&slow, 140.0).to_string(), "NO SAMPLES");
    let mut arrivals = Arrivals::default();
    [100.0, 110.0].into_iter().for_each(|time| arrivals.add(time));
    let rate = Some(MeasuredRate { hz: 0.1, seconds: 10.0, uncertainty: 1.0 });
    assert_eq!(judge(&Evidence { arrivals, rate, lag: Some(9.0), ..slow }, 119.0), Verdict::Well);
}

#[test]
fn a_connection_that_came_back_is_not_silent_at_once() {
    let back = Evidence { since: 109.5, arrivals: Arrivals::default(), rate: None, ..sound() };
    assert_eq!(judge(&back, NOW), Verdict::Early);
}

#[test]
fn twins_are_the_same_source_and_not_the_same_stream() {
    use schwann::ChannelFormat::Float32;
    let stream = |name, source, uid: u8| {
        let mut info = StreamInfo::new(name, "EEG", 8, 500.0, Float32, source).expect("valid");
        info.reset_uid([uid; 16]);
        info
    };
    let lab = [
        stream("a", "amp", 1),
        stream("a", "amp", 2),
        stream("b", "amp", 3),
        stream("c", "", 4),
        stream("c", "", 5),
    ];
    assert_eq!(twins(lab.iter()), [true, true, false, false, false]);
    assert_eq!(twins([&lab[0], &lab[0]].into_iter()), [false, false], "looked at twice");
}
