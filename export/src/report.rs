//! What an export wrote, what it changed, and what it left out.

use std::path::{Path, PathBuf};

use crate::grid::complaint;
use crate::plan::{Event, Plan, Stream};

/// What was exported.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The files, in the order in which they were written.
    pub files: Vec<Written>,
    /// Every file that was made.
    pub made: Vec<PathBuf>,
    /// Streams that were resampled.
    pub resampled: Vec<Resampled>,
    /// What is not in any of them.
    pub left: Vec<Left>,
    /// Events that are in the files.
    pub events: u64,
    /// Damaged places of the recording; what was whole was exported.
    pub damage_count: usize,
}

/// A stream in a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Written {
    /// The file; of several that belong together, the one to open.
    pub path: PathBuf,
    /// The stream's name.
    pub stream: String,
    /// Samples of the recording.
    pub samples: u64,
    /// In hertz; 0 if each sample has its time.
    pub rate: f64,
    /// Samples that were put into gaps, marked as such.
    pub filled: u64,
    /// Samples after the last one, where a format has blocks of one size.
    pub padded: u64,
    /// The most by which a sample's time in the file differs from its stamp on the recorder's clock, in seconds. Streams
    /// without a rate have 0: their samples have their stamps.
    pub time_error: f64,
    /// The most by which a value in the file differs from the recorded one, in the stream's unit; 0 if all are exact.
    pub value_error: f64,
    /// Labels of channels that are cut or changed, because the format does not hold them as they are.
    pub changed_labels: u64,
}

/// A stream that was resampled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resampled {
    /// The stream's name.
    pub stream: String,
    /// The rate that it had, as measured on the recorder's clock, in hertz.
    pub from: f64,
    /// The rate that it has now, in hertz.
    pub to: f64,
    /// Up to this frequency all is there, in hertz.
    pub pass: f64,
    /// From this frequency on nothing is there, in hertz.
    pub stop: f64,
}

/// A stream that the files do not hold, or not whole, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Left {
    /// The stream's name.
    pub stream: String,
    /// Why, as the end of a sentence.
    pub why: String,
}

impl Report {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut report =
            Self { damage_count: plan.damage_count, events: plan.event_count, ..Self::default() };
        for stream in plan.streams.iter().filter(|stream| stream.untimed_events > 0) {
            let why = format!("the stamp of {} of its events is no time, such as NaN", stream.untimed_events);
            report.leave(&stream.header.name, &why);
        }
        report
    }

    /// A stream is in a file, value for value, with a time per sample; so far are these from the stamps at most, in seconds.
    pub(crate) fn holds(&mut self, path: &Path, stream: &Stream, time_error: f64) {
        if let Some(why) = complaint(time_error, stream.header.interval()) {
            self.leave(&stream.header.name, &why);
        }
        self.files.push(Written {
            path: path.to_owned(),
            stream: stream.header.name.clone(),
            samples: stream.samples,
            time_error,
            ..Written::default()
        });
    }

    /// Names each stream with events of which `is_left` holds; `why` has their number. Returns how many there are in all.
    pub(crate) fn leave_events(
        &mut self,
        plan: &Plan,
        is_left: impl Fn(&Event) -> bool,
        why: impl Fn(usize) -> String,
    ) -> usize {
        let mut all = 0;
        for stream in &plan.streams {
            let own = plan.events.iter().filter(|event| event.stream == stream.header.id);
            let count = own.filter(|event| is_left(event)).count();
            if count > 0 {
                self.leave(&stream.header.name, &why(count));
                all += count;
            }
        }
        all
    }

    /// Names each stream with events so far from all samples that its clock must be another.
    pub(crate) fn leave_far_events(&mut self, plan: &Plan) {
        let spans: Vec<_> = plan.signals().filter_map(|stream| stream.timing.span()).collect();
        let is_near = |at: f64| spans.iter().any(|(from, to)| at >= from - A_DAY && at <= to + A_DAY);
        let is_far = |event: &Event| !spans.is_empty() && !is_near(event.at);
        let why = |count| {
            format!("{count} of its events are more than a day from all samples; schwann verify says why")
        };
        self.leave_events(plan, is_far, why);
    }

    /// Names a stream without samples.
    pub(crate) fn leave_empty(&mut self, stream: &Stream) {
        self.leave(&stream.header.name, "it has no samples");
    }

    pub(crate) fn leave(&mut self, stream: &str, why: &str) {
        self.left.push(Left { stream: stream.to_owned(), why: why.to_owned() });
    }
}

/// In seconds. No event of a recording is as far from its samples.
const A_DAY: f64 = 86_400.0;
