//! When a recording that has ended is well.

use schwann::local_clock;
use schwann_proto::stream::ChannelFormat;
use schwann_xdf::Failure;

use super::*;
use crate::meter::Meter;
use crate::verdict::Trouble;

/// A recording of one stream that stood so at the end.
fn ended(phase: Phase, verdict: Verdict) -> Ended {
    let now = local_clock();
    let stream = RecordingStream {
        info: StreamInfo::new("EEG", "EEG", 1, 0.0, ChannelFormat::Int16, "amp-1").expect("a stream"),
        phase,
        has_answered: true,
        reading: Meter::new(0.0).reading(now),
        protection: None,
        since: now,
        refusal: None,
        recoveries: 0,
        away_seconds: 0.0,
        unrecorded: 0,
        is_description_cut: false,
        measured: None,
        limits: Limits::USUAL,
    };
    Ended {
        path: PathBuf::from("x.xdf"),
        file_bytes: 0,
        seconds: 0.0,
        streams: vec![stream],
        verdicts: vec![verdict],
        unmatched: Vec::new(),
        left_out: 0,
        lost_files: Vec::new(),
        incomplete: Vec::new(),
        lost_required: false,
    }
}

#[test]
fn a_stream_that_is_away_at_the_end_is_not_well_and_one_that_ended_for_good_is() {
    let [away, gone] = [Trouble::Away, Trouble::Gone].map(Verdict::Trouble);
    for (phase, verdict, is_well) in [
        (Phase::Recording, Verdict::Well, true),
        (Phase::Recovering, away, false),
        (Phase::Lost, gone, true),
        (Phase::Unreadable, gone, false),
        (Phase::Failed, gone, false),
        // It failed after it was judged.
        (Phase::Failed, Verdict::Well, false),
        // Sender and recording ended together.
        (Phase::Recovering, Verdict::Well, true),
    ] {
        assert_eq!(ended(phase, verdict).is_well(), is_well, "{phase:?} {verdict:?}");
    }
}

#[test]
fn a_recording_with_a_file_that_was_not_completed_is_not_well() {
    let mut ended = ended(Phase::Recording, Verdict::Well);
    ended.incomplete.push(Failed { path: PathBuf::from("x-1.xdf"), failure: Failure::Device });
    assert!(!ended.is_well());
}
