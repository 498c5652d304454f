//! Faults of live streams, from stamps and arrivals to the verdict.

use super::trouble::long_time;
use super::*;
use crate::meter::Meter;

/// How a stream comes. Times are of the local clock, in seconds.
struct Feed {
    nominal: f64,
    rate: f64,
    /// Seconds from one block to the next.
    block: f64,
    /// The stamp of the sample taken at a time; none if it is lost.
    stamp: Box<dyn Fn(f64) -> Option<f64>>,
    seconds: f64,
    clock: ClockSeen,
}

fn feed(nominal: f64) -> Feed {
    Feed {
        nominal,
        rate: nominal,
        block: 0.02,
        stamp: Box::new(Some),
        seconds: 10.0,
        clock: ClockSeen::Ago(1.0),
    }
}

fn stamped(nominal: f64, stamp: impl Fn(f64) -> f64 + 'static) -> Feed {
    Feed { stamp: Box::new(move |at| Some(stamp(at))), ..feed(nominal) }
}

fn kept(nominal: f64, is_kept: impl Fn(f64) -> bool + 'static) -> Feed {
    Feed { stamp: Box::new(move |at| is_kept(at).then_some(at)), ..feed(nominal) }
}

/// A number from -1 to 1 that looks random.
fn noise(at: f64) -> f64 {
    (at * 12.989_8).sin() * 43_758.545_3 % 1.0
}

fn codes(feed: &Feed) -> Vec<&'static str> {
    let (from, mut taken) = (50_000.0, 0_u32);
    let mut meter = Meter::new(feed.nominal);
    let blocks = (feed.seconds / feed.block) as u32;
    for block in 1..=blocks {
        let now = from + f64::from(block) * feed.block;
        let mut stamps = Vec::new();
        while feed.rate > 0.0 && from + f64::from(taken) / feed.rate < now {
            stamps.extend((feed.stamp)(from + f64::from(taken) / feed.rate));
            taken += 1;
        }
        let lag = stamps.last().map(|newest| now - newest);
        meter.arrived(&stamps, lag, now);
    }
    let now = from + feed.seconds + 0.005;
    let evidence = meter.reading(now).evidence(Reach::Connected, from);
    let evidence = Evidence { clock: feed.clock, ..evidence };
    troubles(&evidence, now).into_iter().map(Trouble::code).collect()
}

#[test]
fn each_fault_of_a_live_stream_is_found_and_named() {
    let faults = [
        ("Unix time", stamped(100.0, |at| at + 1.795e9), "time-base"),
        ("Unix milliseconds", stamped(100.0, |at| (at + 1.795e9) * 1e3), "time-base"),
        ("milliseconds", stamped(100.0, |at| at * 1e3), "time-base"),
        ("device milliseconds", stamped(100.0, |at| (at - 49_990.0) * 1e3), "time-base"),
        ("device seconds", stamped(100.0, |at| at - 49_990.0), "time-base"),
        ("events in Unix time", Feed { rate: 1.0, ..stamped(0.0, |at| at + 1.795e9) }, "time-base"),
        ("a minute ahead", stamped(100.0, |at| at + 60.0), "stamps-ahead"),
        ("a minute late", stamped(100.0, |at| at - 60.0), "stamps-behind"),
        ("a step ahead", stamped(100.0, |at| if at < 50_005.0 { at } else { at + 0.9 }), "clock-step"),
        ("a step back", stamped(100.0, |at| if at < 50_005.0 { at } else { at - 3.0 }), "clock-step"),
        ("running fast", stamped(100.0, |at| at + 0.02 * (at - 50_000.0)), "drift"),
        ("running slow", stamped(100.0, |at| at - 0.02 * (at - 50_000.0)), "drift"),
        ("too slow", Feed { rate: 80.0, ..feed(100.0) }, "rate"),
        ("too fast", Feed { rate: 120.0, ..feed(100.0) }, "rate"),
        ("no offset for long", Feed { clock: ClockSeen::Ago(31.0), ..feed(100.0) }, "no-clock-offsets"),
        (
            "a clock that never answers",
            Feed { clock: ClockSeen::Never(4.0), ..feed(100.0) },
            "no-clock-offsets",
        ),
        (
            "events, a clock that never answers",
            Feed { clock: ClockSeen::Never(4.0), rate: 0.3, ..feed(0.0) },
            "no-clock-offsets",
        ),
        ("spread", stamped(100.0, |at| at + 0.3 * noise(at)), "jitter"),
        (
            "blocks out of order",
            stamped(100.0, |at| if at % 2.0 < 1.0 { at + 0.2 } else { at }),
            "backward-stamps",
        ),
        (
            "equal stamps",
            stamped(100.0, |at| at - if at % 1.0 < 0.01 { 0.01 } else { 0.0 }),
            "duplicate-stamps",
        ),
        ("bursts", Feed { block: 4.0, seconds: 60.0, ..feed(100.0) }, "bursts"),
        ("silence", kept(100.0, |at| at < 50_004.0), "stopped"),
        ("nothing", kept(100.0, |_| false), "no-samples"),
        ("a gap", kept(100.0, |at| !(50_004.0..50_004.5).contains(&at)), "gaps"),
        ("microseconds", stamped(100.0, |at| at * 1e6), "time-base"),
        (
            "events in Unix milliseconds",
            Feed { rate: 1.0, ..stamped(0.0, |at| (at + 1.795e9) * 1e3) },
            "time-base",
        ),
        ("seconds of a fast device", stamped(1000.0, |at| at - 49_990.0), "time-base"),
        ("a day late", stamped(100.0, |at| at - 86_400.0), "time-base"),
        ("two seconds ahead", stamped(100.0, |at| at + 2.0), "stamps-ahead"),
        ("events two minutes ahead", Feed { rate: 1.0, ..stamped(0.0, |at| at + 120.0) }, "stamps-ahead"),
        (
            "a clock that is set again and again",
            stamped(100.0, |at| at - 3.0 * (at / 3.0 % 1.0).round()),
            "clock-step",
        ),
        (
            "a bad crystal",
            Feed { seconds: 300.0, ..stamped(100.0, |at| at + 0.001 * (at - 50_000.0)) },
            "drift",
        ),
        ("half of 30 kHz", Feed { rate: 15_000.0, seconds: 3.0, ..feed(30_000.0) }, "rate"),
        ("twice 0.5 Hz", Feed { rate: 1.0, block: 1.0, seconds: 60.0, ..feed(0.5) }, "rate"),
        ("silence at 1 Hz", Feed { block: 1.0, seconds: 60.0, ..kept(1.0, |at| at < 50_020.0) }, "stopped"),
        ("a gap in each second", kept(100.0, |at| at % 1.0 > 0.3), "gaps"),
    ];
    for (what, feed, code) in faults {
        let found = codes(&feed);
        assert!(found.contains(&code), "{what}: {found:?}");
    }
}

#[test]
fn stamps_that_are_no_times_are_counted_and_accuse_of_nothing_else() {
    let is_tenth = |at: f64| (at * 100.0).round() % 10.0 == 0.0;
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        let some = stamped(100.0, move |at| if is_tenth(at) { odd } else { at });
        assert_eq!(codes(&some), ["invalid-stamps"], "one in ten is {odd}");
        assert_eq!(codes(&stamped(100.0, move |_| odd)), ["invalid-stamps"], "all are {odd}");
        assert_eq!(codes(&Feed { rate: 1.0, ..stamped(0.0, move |_| odd) }), ["invalid-stamps"], "events");
    }
    assert_eq!(long_time(f64::INFINITY), "inf s");
    assert_eq!(long_time(1.8e18), "1.8e18 s");
}

#[test]
fn a_sound_live_stream_is_not_accused() {
    let sound = [
        ("usual", feed(500.0)),
        ("fast", Feed { seconds: 3.0, ..feed(30_000.0) }),
        ("0.1 Hz", Feed { block: 10.0, seconds: 100.0, ..feed(0.1) }),
        ("markers", Feed { rate: 0.3, ..feed(0.0) }),
        ("no marker", Feed { rate: 0.0, ..feed(0.0) }),
        ("irregular", Feed { rate: 9.0, ..stamped(0.0, |at| at + 0.04 * noise(at).abs()) }),
        ("blocks of half a second", Feed { block: 0.5, ..feed(250.0) }),
        ("blocks of two seconds", Feed { block: 2.0, seconds: 40.0, ..feed(250.0) }),
        ("stamped by the block", Feed { block: 0.4, ..stamped(500.0, |at| (at / 0.4).floor() * 0.4 + 0.4) }),
        ("stamped on arrival", stamped(100.0, |at| at + 0.004 * noise(at).abs())),
        ("some percent slow", Feed { rate: 97.0, ..feed(100.0) }),
        ("a clock that is asked just now", Feed { clock: ClockSeen::Never(3.0), ..feed(100.0) }),
        ("delayed by filters", stamped(100.0, |at| at - 2.0)),
        ("1 Hz", Feed { block: 1.0, seconds: 30.0, ..feed(1.0) }),
        ("radio", Feed { block: 0.2, ..feed(50.0) }),
        ("audio", Feed { seconds: 3.0, ..feed(44_100.0) }),
        ("an ordinary crystal", Feed { seconds: 60.0, ..stamped(500.0, |at| at + 5e-5 * (at - 50_000.0)) }),
        ("events that are announced", Feed { rate: 1.0, ..stamped(0.0, |at| at + 20.0) }),
        ("events that are found late", Feed { rate: 1.0, ..stamped(0.0, |at| at - 600.0) }),
        ("a little ahead", stamped(250.0, |at| at + 0.1)),
        ("some percent fast", Feed { rate: 102.0, ..feed(100.0) }),
        ("a clock that was last measured a while ago", Feed { clock: ClockSeen::Ago(20.0), ..feed(100.0) }),
    ];
    for (what, feed) in sound {
        assert_eq!(codes(&feed), [""; 0], "{what}");
    }
}

#[test]
fn every_trouble_with_a_number_has_a_limit_and_a_sentence() {
    let limits = Limits::USUAL;
    let found = [
        Trouble::TimeBase { base: TimeBase::Unix, seconds: 1.8e9 },
        Trouble::ClockStep { count: 1, seconds: -3.0, after: 5.0 },
        Trouble::Drift { ppm: 900.0, plus_minus: 10.0 },
        Trouble::NoOffsets { seconds: 40.0 },
        Trouble::ClockSilent { seconds: 4.0 },
        Trouble::Jitter { p50: 0.2, p99: 0.5 },
        Trouble::Backward { count: 2, seconds: 0.3 },
        Trouble::Duplicates { count: 2 },
        Trouble::InvalidStamps { count: 2 },
        Trouble::Bursts { seconds: 5.0 },
    ];
    for trouble in found {
        let mark = trouble.mark(&limits).expect("a number");
        assert!(mark.number.abs() > mark.limit, "{trouble:?}");
        assert!(trouble.explained().is_some_and(|sentence| sentence.contains(": ")), "{trouble:?}");
    }
}

#[test]
fn the_newest_stamp_alone_tells_another_clock() {
    let judged = |stamp: f64, bound, nominal| {
        judge_stamps(stamp, 50_000.0 - stamp, bound, nominal, &Limits::USUAL).map(Trouble::code)
    };
    let cases = [
        ("now", 50_000.0, 250.0, None),
        ("5 s ago", 49_995.0, 250.0, None),
        ("since 1970", 1.8e9, 250.0, Some("time-base")),
        ("events since 1970", 1.8e9, 0.0, Some("time-base")),
        ("a device's seconds", 900.0, 250.0, Some("time-base")),
        ("minutes ago", 49_900.0, 250.0, Some("stamps-behind")),
        ("events of minutes ago", 49_900.0, 0.0, None),
        ("ahead", 50_002.0, 250.0, Some("stamps-ahead")),
        ("no time", f64::NAN, 0.0, Some("invalid-stamps")),
    ];
    for (what, stamp, nominal, code) in cases {
        assert_eq!(judged(stamp, 0.01, nominal), code, "{what}");
    }
    assert_eq!(judged(50_002.0, 2.0, 250.0), None, "the clock is not known that well");
}
