//! What speaks against the content of a recording, beyond damage: gaps, stamps, clocks, rates.

use core::fmt;

use schwann_xdf::{StreamHeader, StreamSurvey, Survey};

use super::{RATE_SECONDS, RATE_TOLERANCE, long_time};
use crate::words::{plural, thousands};

/// Something in a recorded stream that a person should know before using it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// A regular stream has no sample at all.
    NoSamples,
    /// Samples are missing.
    Gaps {
        /// Places.
        count: u64,
        /// Seconds of all together.
        seconds: f64,
    },
    /// Stamps are earlier than those before them, although the clock was not reset.
    Backward {
        /// How often.
        count: u64,
    },
    /// The sender's clock began anew, as after a restart of its computer.
    ClockResets {
        /// How often.
        count: usize,
    },
    /// Nothing says how the sender's clock relates to the others.
    NoOffsets {
        /// How long the stream lasts, in seconds.
        seconds: f64,
    },
    /// Stamps count from 1970, not from the start of the sender's clock.
    UnixTime,
    /// The samples' rate is not what the sender says.
    Rate {
        /// Samples per second outside gaps.
        measured: f64,
        /// What the sender says.
        nominal: f64,
    },
    /// Another stream of the recording claims to be the same one.
    Twin,
}

/// What speaks against each stream of a recording, in the survey's order; nothing for a sound one.
pub fn findings(survey: &Survey) -> Vec<Vec<Finding>> {
    let is_twin = |one: &StreamSurvey| {
        survey
            .streams
            .iter()
            .any(|other| other.header.id != one.header.id && is_same(&one.header, &other.header))
    };
    survey.streams.iter().map(|stream| of_stream(stream, is_twin(stream))).collect()
}

fn of_stream(stream: &StreamSurvey, has_twin: bool) -> Vec<Finding> {
    let nominal = stream.header.nominal_rate;
    if stream.sample_count == 0 {
        // Markers may just not have been sent.
        return Vec::from_iter((nominal > 0.0).then_some(Finding::NoSamples));
    }
    let seconds = stream.duration.as_secs_f64();
    let (clock, measured) = (&stream.clock, stream.effective_rate);
    let is_off = nominal > 0.0 && measured > 0.0 && seconds >= RATE_SECONDS;
    let found = [
        (clock.reset_count > 0).then_some(Finding::ClockResets { count: clock.reset_count }),
        (stream.gap_count > 0)
            .then_some(Finding::Gaps { count: stream.gap_count, seconds: stream.gap_seconds }),
        // A clock that was reset has gone backwards once each time.
        (stream.backward_count > clock.reset_count as u64)
            .then_some(Finding::Backward { count: stream.backward_count }),
        (clock.offset_count == 0 && seconds > OFFSETS_SECONDS).then_some(Finding::NoOffsets { seconds }),
        stream.first_stamp.filter(|stamp| *stamp > UNIX_SECONDS).map(|_| Finding::UnixTime),
        (is_off && (measured / nominal - 1.0).abs() > RATE_TOLERANCE)
            .then_some(Finding::Rate { measured, nominal }),
        has_twin.then_some(Finding::Twin),
    ];
    found.into_iter().flatten().collect()
}

/// As `is_same_source` has it for live streams.
fn is_same(one: &StreamHeader, other: &StreamHeader) -> bool {
    !one.source_id.is_empty()
        && one.source_id == other.source_id
        && one.name == other.name
        && one.content_type == other.content_type
        && one.channel_count == other.channel_count
        && one.format == other.format
}

impl Finding {
    /// The word for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoSamples => "no-samples",
            Self::Gaps { .. } => "gaps",
            Self::Backward { .. } => "backward-stamps",
            Self::ClockResets { .. } => "clock-resets",
            Self::NoOffsets { .. } => "no-clock-offsets",
            Self::UnixTime => "unix-time",
            Self::Rate { .. } => "rate",
            Self::Twin => "twin",
        }
    }
}

/// One sentence, to be put behind a stream's name.
impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSamples => out.write_str("has no samples: look at its device and program before the next recording"),
            Self::Gaps { count, seconds } => write!(
                out,
                "has {} of {} in all: treat each as a break",
                plural(usize::try_from(count).unwrap_or(usize::MAX), "gap"),
                long_time(seconds)
            ),
            Self::Backward { count } => write!(
                out,
                "has stamps that go back, {} times: sort or reject the samples around them",
                thousands(count)
            ),
            Self::ClockResets { count } => write!(
                out,
                "had its clock reset, {}: align the samples before and after it apart from each other",
                if count == 1 { "once".to_owned() } else { format!("{} times", thousands(count as u64)) }
            ),
            Self::NoOffsets { seconds } => write!(
                out,
                "has no clock offsets in {}: it can be aligned with streams of its own computer only",
                long_time(seconds)
            ),
            Self::UnixTime => out.write_str(
                "has stamps that count from 1970: its program does not stamp with lsl_local_clock(), so clock offsets do not fit",
            ),
            Self::Rate { measured, nominal } => write!(
                out,
                "says {nominal} Hz, and its stamps say {measured:.1} Hz: samples were lost, or its program says a wrong rate"
            ),
            Self::Twin => out.write_str("has the name, type and source id of another stream: which device it was cannot be told"),
        }
    }
}

/// A recorder measures offsets every five seconds; one that has none after so many seconds could not.
const OFFSETS_SECONDS: f64 = 30.0;
/// As seconds since 1970, in 2001; as a clock that began with its computer, after 31 years.
const UNIX_SECONDS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use schwann_xdf::{Reader, Survey};

    use super::findings;

    /// A stream: its name, stamps, and when its clock was measured with which offset.
    type Stream<'a> = (&'a str, &'a [f64], &'a [(f64, f64)]);

    /// A recording of streams that say 100 Hz.
    fn recording(streams: &[Stream<'_>]) -> Survey {
        let mut file = b"XDF:".to_vec();
        for (id, (name, stamps, offsets)) in (1_u32..).zip(streams) {
            let xml = format!(
                "<?xml version=\"1.0\"?><info><name>{name}</name><type>EEG</type><channel_count>1</channel_count>\
                 <nominal_srate>100</nominal_srate><channel_format>int8</channel_format><source_id>{name}</source_id></info>"
            );
            chunk(&mut file, 2, id, xml.as_bytes());
            for stamp in *stamps {
                chunk(&mut file, 3, id, &[&[1, 1, 8][..], &stamp.to_le_bytes(), &[7]].concat());
            }
            for (collected, offset) in *offsets {
                chunk(&mut file, 4, id, &[collected.to_le_bytes(), offset.to_le_bytes()].concat());
            }
        }
        Survey::read(Reader::new(Cursor::new(file)).expect("a recording"), |_, _| {}).expect("a survey")
    }

    fn chunk(file: &mut Vec<u8>, tag: u16, id: u32, content: &[u8]) {
        file.push(4);
        file.extend(u32::try_from(content.len() + 6).expect("a short chunk").to_le_bytes());
        file.extend(tag.to_le_bytes());
        file.extend(id.to_le_bytes());
        file.extend(content);
    }

    fn every(hertz: f64, from: f64, count: u32) -> Vec<f64> {
        (0..count).map(|n| from + f64::from(n) / hertz).collect()
    }

    fn words(survey: &Survey) -> Vec<&'static str> {
        findings(survey).into_iter().flatten().map(super::Finding::word).collect()
    }

    const OFFSETS: [(f64, f64); 3] = [(1.0, 0.5), (6.0, 0.5), (11.0, 0.5)];

    #[test]
    fn a_sound_recording_is_not_accused() {
        let stamps = every(100.0, 5.0, 5_000);
        assert_eq!(words(&recording(&[("A", &stamps, &OFFSETS), ("B", &stamps, &OFFSETS)])), [""; 0]);
        assert_eq!(words(&recording(&[("slow", &every(96.0, 5.0, 5_000), &OFFSETS)])), [""; 0], "within 5 %");
        assert_eq!(
            words(&recording(&[("short", &every(100.0, 5.0, 500), &[])])),
            [""; 0],
            "too short for offsets"
        );
    }

    #[test]
    fn each_fault_is_found_and_named() {
        let sound = every(100.0, 5.0, 5_000);
        let gap = [every(100.0, 5.0, 2_000), every(100.0, 40.0, 2_000)].concat();
        let back = [every(100.0, 5.0, 2_000), every(100.0, 24.8, 2_000)].concat();
        let cases: [(&str, Survey); 7] = [
            ("no-samples", recording(&[("A", &[], &OFFSETS)])),
            ("gaps", recording(&[("A", &gap, &OFFSETS)])),
            ("backward-stamps", recording(&[("A", &back, &OFFSETS)])),
            ("no-clock-offsets", recording(&[("A", &sound, &[])])),
            ("unix-time", recording(&[("A", &every(100.0, 1.8e9, 5_000), &OFFSETS)])),
            ("rate", recording(&[("A", &every(80.0, 5.0, 5_000), &OFFSETS)])),
            ("twin", recording(&[("A", &sound, &OFFSETS), ("A", &sound, &OFFSETS)])),
        ];
        for (word, survey) in cases {
            assert!(words(&survey).contains(&word), "{word}: {:?}", words(&survey));
            assert!(words(&survey).iter().all(|found| *found == word), "{word} alone: {:?}", words(&survey));
        }
    }
}
