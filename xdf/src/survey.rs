//! What is in a recording and whether it can be trusted, in one pass and bounded memory.

mod steps;
mod timing;

use core::time::Duration;
use std::collections::BTreeSet;
use std::io::{Read, Seek};

use crate::checksum::Checksum;
use crate::clock::{ClockOffset, Correction, median, segments};
use crate::header::{StreamFooter, StreamHeader, root_child_text};
use crate::reader::{Damage, DamageKind, Event, ReadError, Reader};
use crate::source::Location;
use steps::Skips;
pub use steps::{Grid, LONGEST_BLOCK, uncrowd};
use timing::TimingTally;
pub use timing::{ClockSegment, ClockStep, Drift, StampTiming, SteppedClock};

/// What is in a recording.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Survey {
    /// Bytes in the file; of one that is compressed or sealed, of what is in it.
    pub file_bytes: u64,
    /// `<datetime>` of the file header: when the recording began; empty if not said.
    pub datetime: String,
    /// The streams, in the order of their headers.
    pub streams: Vec<StreamSurvey>,
    /// Boundary chunks.
    pub boundary_count: u64,
    /// Places where the file is damaged.
    pub damage_count: u64,
    /// Bytes that could not be read.
    pub damaged_bytes: u64,
    /// The first [`Survey::LISTED_MAX`] of those places.
    pub damage: Vec<Damage>,
    /// The checksums that its recorder wrote.
    pub checksums: Vec<Checksum>,
    /// Where the first checksum is that belongs elsewhere: bytes are missing before it, or were added.
    pub displaced_checksum: Option<u64>,
}

/// What is in one stream of a recording.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamSurvey {
    /// What the stream is.
    pub header: StreamHeader,
    /// What its footer says; none if the recording did not end in an orderly way.
    pub footer: Option<StreamFooter>,
    /// Samples that can be read.
    pub sample_count: u64,
    /// Stamp of the first, in seconds on the stream's clock.
    pub first_stamp: Option<f64>,
    /// Stamp of the last, in seconds on the stream's clock.
    pub last_stamp: Option<f64>,
    /// Time from the first sample to the last, gaps included; what a reset clock jumps back is left out.
    pub duration: Duration,
    /// Samples per second outside gaps; 0 if unknown or irregular.
    pub effective_rate: f64,
    /// Stretches of a regular stream without samples.
    pub gap_count: u64,
    /// Seconds of all gaps together.
    pub gap_seconds: f64,
    /// The first [`Survey::LISTED_MAX`] gaps.
    pub gaps: Vec<Gap>,
    /// Samples with an earlier stamp than the sample before them.
    pub backward_count: u64,
    /// Samples whose stamp is no time: see [`is_time`]. What is said of stamps leaves them out.
    pub invalid_stamp_count: u64,
    /// Samples whose stamps are guesses: see [`Reader::guessed_stamp_count`].
    pub guessed_stamp_count: u64,
    /// How well the stream's clock is known.
    pub clock: ClockQuality,
    /// What its stamps say of its clocks.
    pub timing: StampTiming,
    /// The measurements of its clock, in the order of the file.
    pub offsets: Vec<ClockOffset>,
}

/// A stretch of a regular stream without samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Stamp of the last sample before, in seconds on the stream's clock.
    pub after: f64,
    /// Seconds from it to the next sample.
    pub seconds: f64,
    /// Samples that the nominal rate puts in between.
    pub missing: u64,
}

/// How well a stream's clock is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ClockQuality {
    /// Measurements.
    pub offset_count: usize,
    /// The last offset, in seconds.
    pub last_offset: f64,
    /// Times that the stream's clock was reset.
    pub reset_count: usize,
    /// Seconds that the clock gains per million; 0 with fewer than two measurements.
    pub drift_ppm: f64,
    /// Median distance of the measurements from the fitted line, in seconds.
    pub residual: f64,
}

impl Survey {
    /// Damaged places and gaps listed at most, so that a hopeless file does not fill memory.
    pub const LISTED_MAX: usize = 1_000;

    /// Surveys a recording. `progress` is told bytes read and bytes in all, now and then.
    ///
    /// - Errors: [`ReadError`]. Damage is not an error: see [`Survey::damage`].
    pub fn of(recording: impl Into<Location>, progress: impl FnMut(u64, u64)) -> Result<Self, ReadError> {
        Self::read(Reader::open(recording)?, progress)
    }

    /// Surveys what `reader` reads.
    ///
    /// - Errors: as [`Survey::of`].
    pub fn read<R: Read + Seek>(
        mut reader: Reader<R>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self, ReadError> {
        let mut survey = Self { file_bytes: reader.progress().1, ..Self::default() };
        let mut streams: Vec<Tally> = Vec::new();
        let mut told = 0;
        loop {
            let (done, all) = reader.progress();
            if done - told >= PROGRESS_BYTES {
                progress(done, all);
                told = done;
            }
            let Some(event) = reader.next_event()? else { break };
            match event {
                Event::Boundary => survey.boundary_count += 1,
                Event::Damage(damage) => survey.count_damage(damage),
                Event::FileHeader { xml } => {
                    survey.datetime = root_child_text(xml, "datetime").unwrap_or_default()
                }
                Event::StreamHeader(header) => streams.push(Tally::new(header.clone())),
                Event::ClockOffset { stream, .. }
                | Event::Samples { stream, .. }
                | Event::StreamFooter { stream, .. } => {
                    if let Some(tally) = streams.iter_mut().find(|tally| tally.survey.header.id == stream) {
                        tally.take_in(event);
                    }
                }
            }
        }
        survey.checksums = reader.checksums().to_vec();
        survey.displaced_checksum = reader.displaced_checksum();
        survey.streams = streams.into_iter().map(|tally| tally.finish(&reader)).collect();
        Ok(survey)
    }

    /// Says whether the file was cut off: it ends within a chunk, or what is around it has no end.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        let is_torn = |kind| matches!(kind, DamageKind::Torn | DamageKind::PackedTorn | DamageKind::SealTorn);
        self.damage.iter().any(|damage| is_torn(damage.kind))
    }

    /// Says whether the file is as its recorder meant it. Such a file has no damage, each footer counts as many samples as its
    /// stream has, no stamp is a guess, and each checksum is at its place.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage_count == 0
            && self.displaced_checksum.is_none()
            && self
                .streams
                .iter()
                .all(|stream| stream.footer_agrees() == Some(true) && stream.guessed_stamp_count == 0)
    }

    fn count_damage(&mut self, damage: Damage) {
        self.damage_count += 1;
        self.damaged_bytes += damage.bytes;
        if self.damage.len() < Self::LISTED_MAX {
            self.damage.push(damage);
        }
    }
}

impl StreamSurvey {
    /// Says whether the footer counts as many samples as there are; none if there is no footer, or no count.
    #[must_use]
    pub fn footer_agrees(&self) -> Option<bool> {
        Some(self.footer.as_ref()?.sample_count? == self.sample_count)
    }
}

/// A stream's survey in the making.
struct Tally {
    survey: StreamSurvey,
    offsets: Vec<ClockOffset>,
    timing: TimingTally,
    /// Intervals between samples that are no gaps, and their seconds.
    intervals: u64,
    seconds: f64,
    skips: Skips,
    /// Seconds that samples of one block are stamped too close together.
    crowded: f64,
    /// Samples since the last one whose stamp is a time.
    unplaced: u64,
}

impl Tally {
    fn new(header: StreamHeader) -> Self {
        let timing = TimingTally::new(header.interval());
        let survey = StreamSurvey {
            header,
            footer: None,
            sample_count: 0,
            first_stamp: None,
            last_stamp: None,
            duration: Duration::ZERO,
            effective_rate: 0.0,
            gap_count: 0,
            gap_seconds: 0.0,
            gaps: Vec::new(),
            backward_count: 0,
            invalid_stamp_count: 0,
            guessed_stamp_count: 0,
            clock: ClockQuality::default(),
            timing: StampTiming::default(),
            offsets: Vec::new(),
        };
        Self {
            survey,
            offsets: Vec::new(),
            timing,
            intervals: 0,
            seconds: 0.0,
            skips: Skips::default(),
            crowded: 0.0,
            unplaced: 0,
        }
    }

    fn take_in(&mut self, event: Event<'_>) {
        match event {
            Event::ClockOffset { collected, offset, .. } => {
                self.timing.measured(collected);
                self.offsets.push(ClockOffset { collected, offset });
            }
            Event::StreamFooter { footer, .. } => self.survey.footer = Some(footer.clone()),
            Event::Samples { stamps, .. } => self.take_in_stamps(stamps),
            _ => {}
        }
    }

    fn take_in_stamps(&mut self, stamps: &[f64]) {
        self.survey.sample_count += stamps.len() as u64;
        for &stamp in stamps {
            if !is_time(stamp) {
                self.survey.invalid_stamp_count += 1;
                self.unplaced += 1;
                continue;
            }
            self.survey.first_stamp.get_or_insert(stamp);
            let unplaced = core::mem::take(&mut self.unplaced);
            match self.survey.last_stamp.replace(stamp) {
                None => self.timing.add(stamp, self.offsets.len()),
                Some(before) => self.take_in_step(before, stamp, unplaced),
            }
        }
    }

    /// Takes in what lies between two stamps; so many samples there have none.
    fn take_in_step(&mut self, before: f64, stamp: f64, unplaced: u64) {
        let (rate, period) = (self.survey.header.nominal_rate, self.survey.header.interval());
        let seconds = stamp - before;
        let step = seconds - unplaced as f64 * period;
        let block = self.crowded;
        let crowded = uncrowd(&mut self.crowded, step, period);
        if crowded > 0.0 {
            self.timing.block(block);
        }
        let missed = step - crowded;
        let is_gap = rate > 0.0 && missed > GAP_SECONDS.max(GAP_PERIODS * period);
        match is_gap || seconds < 0.0 || unplaced > 0 {
            true => self.timing.jump(stamp, self.offsets.len()),
            false => self.timing.add(stamp, self.offsets.len()),
        }
        if is_gap {
            let missing = ((missed * rate).round() as u64).saturating_sub(1);
            return self.add_gap(Gap { after: before, seconds, missing });
        }
        self.skips.add(before, step, period);
        if seconds < 0.0 {
            self.survey.backward_count += 1;
        } else {
            self.intervals += 1 + unplaced;
            self.seconds += seconds;
        }
    }

    /// A clock that was set ahead leaves a step in the stamps like a gap, but nothing is missing there.
    fn forget_resets(&mut self) {
        let resets: Vec<_> = segments(&self.offsets).iter().skip(1).map(|segment| segment.start).collect();
        for reset in resets {
            let [before, after] = [self.offsets[reset - 1], self.offsets[reset]];
            let is_reset = |gap: &Gap| {
                let is_here = gap.after >= before.collected - RESET_SECONDS
                    && gap.after + gap.seconds <= after.collected + RESET_SECONDS;
                // The offset falls by as much as the stamps jump ahead.
                is_here && (gap.seconds + after.offset - before.offset).abs() < RESET_SECONDS
            };
            if let Some(at) = self.survey.gaps.iter().position(is_reset) {
                self.survey.gap_seconds -= self.survey.gaps.remove(at).seconds;
                self.survey.gap_count -= 1;
            }
        }
    }

    fn add_gap(&mut self, gap: Gap) {
        self.survey.gap_count += 1;
        self.survey.gap_seconds += gap.seconds;
        if self.survey.gaps.len() < Survey::LISTED_MAX {
            self.survey.gaps.push(gap);
        }
    }

    fn finish<R: Read + Seek>(mut self, reader: &Reader<R>) -> StreamSurvey {
        self.survey.guessed_stamp_count = reader.guessed_stamp_count(self.survey.header.id);
        self.forget_resets();
        let (count, seconds) = self.skips.count_in(&mut self.survey);
        (self.intervals, self.seconds) = (self.intervals - count, self.seconds - seconds);
        if self.survey.header.nominal_rate > 0.0 && self.seconds > 0.0 {
            self.survey.effective_rate = self.intervals as f64 / self.seconds;
        }
        self.survey.duration =
            Duration::try_from_secs_f64(self.seconds + self.survey.gap_seconds).unwrap_or_default();
        self.survey.clock = ClockQuality::of(&self.offsets);
        self.survey.timing = self.timing.finish(&self.offsets);
        self.survey.offsets = self.offsets;
        self.survey
    }
}

impl ClockQuality {
    /// What all measurements of a clock say, in the order of the file.
    pub(crate) fn of(offsets: &[ClockOffset]) -> Self {
        offsets.last().map_or_else(Self::default, |last| quality(offsets, last))
    }
}

fn quality(offsets: &[ClockOffset], last: &ClockOffset) -> ClockQuality {
    let segments = segments(offsets);
    // A stretch with a single measurement has no drift, and no distance from itself.
    let distinct = |range: &&core::ops::Range<usize>| {
        range.len() > 1
            && offsets[(*range).clone()].iter().map(|o| o.collected.to_bits()).collect::<BTreeSet<_>>().len()
                > 1
    };
    let mut residuals = Vec::new();
    let (mut drift, mut weight) = (0.0, 0.0);
    for range in segments.iter().filter(distinct) {
        let correction = Correction::fit(&offsets[range.clone()]);
        residuals
            .extend(offsets[range.clone()].iter().map(|o| (o.offset - correction.at(o.collected)).abs()));
        // An offset that grows means that the stream's clock falls behind.
        drift -= correction.slope * range.len() as f64;
        weight += range.len() as f64;
    }
    ClockQuality {
        offset_count: offsets.len(),
        last_offset: last.offset,
        reset_count: segments.len() - 1,
        drift_ppm: if weight > 0.0 { drift / weight * 1e6 } else { 0.0 },
        residual: median(&residuals),
    }
}

/// Says whether a stamp, in seconds, is a time on any clock: a number, and not beyond what clocks count.
#[must_use]
pub fn is_time(stamp: f64) -> bool {
    stamp.abs() <= LATEST_TIME
}

/// A regular stream has a gap where stamps are further apart than this and than [`GAP_PERIODS`] periods.
/// Smaller steps are the jitter of senders that stamp on arrival or send in blocks, unless [`Grid`] says otherwise.
pub const GAP_SECONDS: f64 = 0.1;
/// See [`GAP_SECONDS`]; in periods of the nominal rate.
pub const GAP_PERIODS: f64 = 2.5;
/// Stamps that go back by more than this, in seconds, belong to another clock.
pub const ANOTHER_CLOCK: f64 = 1.0;
/// Picoseconds since 1970 are fewer.
const LATEST_TIME: f64 = 1e22;
/// A clock is measured within so many seconds before and after it is reset.
const RESET_SECONDS: f64 = 15.0;
/// Bytes between two words on progress.
const PROGRESS_BYTES: u64 = 8 << 20;

#[cfg(test)]
mod tests;
