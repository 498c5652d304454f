//! What speaks against the streams of a recording: found by reading all of it, beside what people look at.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use schwann_recorder::{Finding, findings};
use schwann_xdf::{ClockMap, IndexedRecording, Location, Source, StreamSurvey, Survey};
use serde_json::{Value, json};

/// What was found so far.
#[derive(Clone, Debug)]
pub(super) struct Judged(Arc<Mutex<Findings>>);

#[derive(Debug)]
struct Findings {
    began: Instant,
    done: u64,
    all: u64,
    /// By the number of the stream in the recording; none before all was read.
    streams: Option<HashMap<u32, Arc<JudgedStream>>>,
    /// Why it was not read to its end.
    failure: Option<String>,
    /// How often this has changed.
    version: u64,
}

/// What was found of one stream.
#[derive(Debug, Default)]
pub(super) struct JudgedStream {
    /// Samples per second outside gaps.
    pub(super) rate: f64,
    pub(super) gap_count: u64,
    pub(super) missing: u64,
    pub(super) sentences: Vec<String>,
    /// The same as a page gets them, with where to look.
    verdicts: Vec<Value>,
    /// Where samples are missing, on the recorder's clock.
    pub(super) gaps: Vec<Value>,
}

impl Judged {
    /// Begins to read a recording.
    pub(super) fn begin(location: Location, recording: &IndexedRecording<Source>) -> Self {
        let (began, streams, failure) = (Instant::now(), None, None);
        let judged =
            Self(Arc::new(Mutex::new(Findings { began, done: 0, all: 0, streams, failure, version: 1 })));
        let ids = recording.headers().iter().map(|header| header.id);
        let maps: HashMap<u32, ClockMap> = ids.map(|id| (id, recording.clock_map(id))).collect();
        let own = judged.clone();
        let read = move || {
            let survey = Survey::of(location, |done, all| own.progress(done, all));
            let mut state = own.lock();
            state.version += 1;
            match survey {
                Ok(survey) => state.streams = Some(judge(&survey, &maps)),
                Err(error) => state.failure = Some(error.to_string()),
            }
        };
        if let Err(error) = thread::Builder::new().name("dash-judge".to_owned()).spawn(read) {
            judged.lock().failure = Some(error.to_string());
        }
        judged
    }

    /// What was found of a stream; none before all was read.
    pub(super) fn of(&self, id: u32) -> Option<Arc<JudgedStream>> {
        self.lock().streams.as_ref().map(|streams| streams.get(&id).cloned().unwrap_or_default())
    }

    /// How often it has changed.
    pub(super) fn version(&self) -> u64 {
        self.lock().version
    }

    /// As a page gets it; `place` gives the row of a stream.
    pub(super) fn message(&self, place: impl Fn(u32) -> Option<usize>) -> Value {
        let state = self.lock();
        let passed = state.began.elapsed().as_secs_f64();
        let left = passed * state.all.saturating_sub(state.done) as f64 / state.done.max(1) as f64;
        let of = |(id, judged): (&u32, &Arc<JudgedStream>)| {
            let row = place(*id);
            let with_row = move |verdict: &Value| {
                let mut verdict = verdict.clone();
                verdict["stream"] = json!(row);
                verdict
            };
            judged.verdicts.iter().map(with_row).collect::<Vec<_>>()
        };
        let found = state.streams.as_ref().map(|streams| streams.iter().flat_map(of).collect::<Vec<_>>());
        json!({
            "type": "verdicts", "done": state.done, "all": state.all, "verdicts": found,
            "seconds_left": (state.done > 0).then_some(left), "failure": state.failure,
        })
    }

    fn progress(&self, done: u64, all: u64) {
        let mut state = self.lock();
        (state.done, state.all) = (done, all);
        state.version += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Findings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn judge(survey: &Survey, maps: &HashMap<u32, ClockMap>) -> HashMap<u32, Arc<JudgedStream>> {
    let found = survey.streams.iter().zip(findings(survey));
    let of = |(stream, found): (&StreamSurvey, Vec<Finding>)| {
        let id = stream.header.id;
        (id, Arc::new(judged(stream, &found, maps.get(&id).cloned().unwrap_or_default())))
    };
    found.map(of).collect()
}

fn judged(stream: &StreamSurvey, found: &[Finding], map: ClockMap) -> JudgedStream {
    let at = |stamp: f64| map.clone().place(stamp);
    // Gaps come in the order of the file, as the map wants them.
    let mut moving = map.clone();
    let gaps: Vec<_> = stream.gaps.iter().map(|gap| (moving.place(gap.after), gap)).collect();
    let verdict = |finding: &Finding| {
        let time = match *finding {
            Finding::Gaps { .. } => gaps.first().map(|(time, _)| *time),
            Finding::ClockResets { at: stamp, .. } | Finding::ClockStep { at: stamp, .. } => Some(at(stamp)),
            Finding::OffsetsMissing { from, .. } => Some(at(from)),
            Finding::Stopped { .. } => stream.last_stamp.map(at),
            _ => None,
        };
        json!({ "word": finding.word(), "text": finding.to_string(), "time": time })
    };
    JudgedStream {
        rate: stream.effective_rate,
        gap_count: stream.gap_count,
        missing: stream.gaps.iter().map(|gap| gap.missing).sum(),
        sentences: found.iter().map(Finding::to_string).collect(),
        verdicts: found.iter().map(verdict).collect(),
        gaps: gaps
            .iter()
            .map(|(time, gap)| json!({ "from": time, "to": time + gap.seconds, "missing": gap.missing }))
            .collect(),
    }
}
