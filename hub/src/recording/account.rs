//! What the certificate of a recording says of one stream that came through a hub (certificate §3).

use schwann::inlet::Protection;
use schwann::{StreamInfo, local_clock};
use schwann_recorder::certificate::{Gathered, Rule, Sender, StreamAccount};
use schwann_recorder::{Arrivals, Course, Limits, Phase, Reading, RecordingStream, Step};
use schwann_xdf::ClockOffset;

use super::report::{RecordedRun, RunEnd};
use crate::far::{ClockBound, FarRun};

/// One stream of the file, as its samples are written.
pub(super) struct Account {
    info: StreamInfo,
    course: Course,
    gathered: Gathered,
    runs: u64,
    /// How its newest run ended.
    end: RunEnd,
    /// Blocks that are not in the file.
    missing: u64,
    /// When the clock was measured last, in seconds on the local clock.
    measured: Option<f64>,
}

impl Account {
    pub(super) fn new(info: &StreamInfo) -> Self {
        Self {
            info: info.clone(),
            course: Course::new(info.nominal_rate()),
            gathered: Gathered::default(),
            runs: 0,
            end: RunEnd::Open,
            missing: 0,
            measured: None,
        }
    }

    /// Another run of the stream begins, which stands so.
    pub(super) fn begin(&mut self, run: &FarRun, stands: &RecordedRun) {
        if self.runs > 0 {
            self.course.interrupted();
        }
        self.runs += 1;
        self.end = stands.end;
        self.missing += stands.missing.count();
        let said = &run.certificate().statement;
        self.gathered.sender = Some(Sender {
            name: said.name.as_str().to_owned(),
            serial: said.serial,
            key: said.device.fingerprint().to_string(),
        });
    }

    /// A block that was kept is not in the file.
    pub(super) fn miss(&mut self) {
        self.missing += 1;
    }

    /// A measurement of the stream's clock is in the file.
    pub(super) fn measured(&mut self, clock: &ClockBound) {
        let collected = clock.measured - clock.offset;
        self.gathered.offsets.push(ClockOffset { collected, offset: clock.offset });
        self.gathered.uncertainty = Some(self.gathered.uncertainty.unwrap_or_default().max(clock.bound));
        self.measured = Some(clock.measured);
    }

    /// Samples with these stamps are in the file.
    pub(super) fn wrote(&mut self, stamps: &[f64]) {
        for stamp in stamps {
            if let Step::Missing(gap) = self.course.add(*stamp)
                && self.gathered.gaps.len() < Gathered::GAPS_MAX
            {
                self.gathered.gaps.push(gap);
            }
        }
        self.course.look();
    }

    /// What there is to say. When samples arrived says nothing of the stream: holes were filled later.
    pub(super) fn finish(self) -> StreamAccount {
        let reading = Reading::new(&self.course, Arrivals::default(), None);
        let is_regular = reading.nominal_rate > 0.0;
        let unknown = match self.end {
            RunEnd::Complete | RunEnd::Open => None,
            RunEnd::Silent => Some("no sample came in its last seconds, although its sender answered"),
            RunEnd::CutOff => Some("its sender was cut off, so 200 ms before that may be missing"),
            RunEnd::Unknown => Some("its end is not known, because its sender did not answer"),
        };
        let gaps = is_regular.then(|| Rule::gaps(reading.gap_count, reading.missing));
        let rules = [Rule::blocks(self.missing), Rule::end(unknown)].into_iter().chain(gaps).collect();
        let stream = RecordingStream {
            info: self.info,
            phase: if matches!(self.end, RunEnd::Open | RunEnd::Silent) {
                Phase::Recording
            } else {
                Phase::Lost
            },
            has_answered: true,
            reading,
            protection: Some(Protection::Sealed),
            since: local_clock(),
            refusal: None,
            recoveries: self.runs.saturating_sub(1),
            away_seconds: 0.0,
            unrecorded: 0,
            is_description_cut: false,
            measured: self.measured,
            limits: Limits::USUAL,
        };
        StreamAccount { stream, rules, gathered: self.gathered }
    }
}
