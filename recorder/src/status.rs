//! The streams of a recording in progress, and whether they are well.

use schwann::inlet::Protection;
use schwann::security::Refusal;
use schwann::{StreamInfo, local_clock};

use super::certificate::Rule;
use super::meter::Reading;
use super::verdict::{ClockSeen, Evidence, Limits, Reach, Verdict, judge, twins};

/// Where one stream of a recording stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// Its sender is asked for the stream.
    Connecting,
    /// Samples arrive.
    Recording,
    /// Its sender went away and is looked for.
    Recovering,
    /// It is gone for good.
    Lost,
    /// Its description is of no use to a reader of the file.
    Unreadable,
    /// A fault of this program ended its recording; what came before is in the file.
    Failed,
}

impl Phase {
    /// The word for scripts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Recording => "recording",
            Self::Recovering => "recovering",
            Self::Lost => "lost",
            Self::Unreadable => "unreadable",
            Self::Failed => "failed",
        }
    }
}

/// One stream of a recording in progress.
#[derive(Clone, Debug)]
pub struct RecordingStream {
    /// The description of the stream.
    pub info: StreamInfo,
    /// Where it stands.
    pub phase: Phase,
    /// Whether its sender has ever sent its description: without it, nothing of the stream is in the file.
    pub has_answered: bool,
    /// What was measured.
    pub reading: Reading,
    /// How the samples travel; nothing while there is no connection.
    pub protection: Option<Protection>,
    /// Since when its connection is as it is, in seconds on the local clock.
    pub since: f64,
    /// Why there is no session with the sender.
    pub refusal: Option<Refusal>,
    /// Times that it was lost and came back.
    pub recoveries: u64,
    /// How long it was away in all, in seconds.
    pub away_seconds: f64,
    /// Samples that arrived but are not in the file.
    pub unrecorded: u64,
    /// Whether its description breaks off at what is no XML: the file lacks what follows there.
    pub is_description_cut: bool,
    /// When the sender's clock was last measured, in seconds on the local clock.
    pub measured: Option<f64>,
    /// What it may do.
    pub limits: Limits,
}

impl RecordingStream {
    /// How the stream is at `now`, in seconds on the local clock; `has_twin` says whether another one claims to be
    /// the same.
    pub fn verdict(&self, has_twin: bool, now: f64) -> Verdict {
        judge(&self.evidence(has_twin, now), now)
    }

    fn evidence(&self, has_twin: bool, now: f64) -> Evidence {
        let reach = match self.phase {
            Phase::Connecting if self.refusal.is_some() => Reach::Refused,
            Phase::Connecting => Reach::Connecting,
            Phase::Recording => Reach::Connected,
            Phase::Recovering => Reach::Away,
            Phase::Failed | Phase::Lost | Phase::Unreadable => Reach::Gone,
        };
        let clock = ClockSeen::at(now, self.since, self.measured);
        Evidence { has_twin, clock, limits: self.limits, ..self.reading.evidence(reach, self.since) }
    }
}

/// How every stream of a recording is now.
pub fn verdicts(streams: &[RecordingStream]) -> Vec<Verdict> {
    let now = local_clock();
    with_twins(streams).map(|(stream, has_twin)| stream.verdict(has_twin, now)).collect()
}

/// How every stream of a recording stands to each rule now.
pub(crate) fn all_rules(streams: &[RecordingStream]) -> Vec<Vec<Rule>> {
    let now = local_clock();
    with_twins(streams).map(|(stream, has_twin)| Rule::all(&stream.evidence(has_twin, now), now)).collect()
}

fn with_twins(streams: &[RecordingStream]) -> impl Iterator<Item = (&RecordingStream, bool)> {
    let is_there = |stream: &&RecordingStream| stream.phase == Phase::Recording;
    let mut are_twins = twins(streams.iter().filter(is_there).map(|stream| &stream.info)).into_iter();
    streams.iter().map(move |stream| (stream, is_there(&stream) && are_twins.next().unwrap_or_default()))
}
