//! Recordings in progress.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use pyo3::prelude::*;
use schwann::{Context, Maker, StreamInfo, local_clock};
use schwann_recorder::words::quoted;
use schwann_recorder::{Phase, RecordingStream, Search, Selector, Stop};

use crate::failure::{Kind, closed, exception, of_search, of_stream};
use crate::patience::{Patience, in_thread};

/// Name, state, samples, and samples that arrived but are not in the file, of one stream.
type Status = (String, &'static str, u64, u64);

/// A recording in progress; streams that come later join it.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Recorder {
    running: Mutex<Option<Running>>,
    /// A child of a fork inherits the recording without its threads.
    maker: Maker,
}

struct Running {
    recorder: Arc<Mutex<schwann_recorder::Recorder>>,
    stop: Arc<Stop>,
    admitting: JoinHandle<()>,
}

#[pymethods]
impl Recorder {
    /// Waits until every query has found a stream, creates the file, and waits until those streams are recorded.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, queries: Vec<String>, timeout: f64) -> PyResult<Self> {
        let wait = Duration::try_from_secs_f64(timeout)
            .map_err(|_| exception(py, Kind::Argument, "A recording waits for a number of seconds."))?;
        let wanted = queries.iter().map(|query| query.parse()).collect::<Result<Vec<Selector>, _>>();
        let wanted = wanted.map_err(|error| exception(py, Kind::Argument, error.to_string()))?;
        let context = Context::get();
        let mut search =
            Search::start(Arc::clone(context), &wanted, &wanted).map_err(|error| of_search(py, error))?;
        let (search, found) = in_thread(py, move || {
            let found = search.wait_for_required(wait, &Stop::default());
            (search, found)
        })?;
        let found = found.map_err(|error| exception(py, Kind::TimedOut, error.to_string()))?;
        let failed = |error: &dyn core::fmt::Display| exception(py, Kind::Error, error.to_string());
        let recorder = schwann_recorder::Recorder::create(&path, Arc::clone(context));
        let mut recorder = recorder.map_err(|error| failed(&error))?;
        if let Some(refused) = recorder.admit(&found.unwrap_or_default()).refused.first() {
            return Err(failed(refused));
        }
        let running = Running::start(recorder, search).map_err(|error| failed(&error))?;
        let recording = Self { running: Mutex::new(Some(running)), maker: Maker::this() };
        let patience = Patience::seconds(py, Some(timeout.max(CONNECTING_SECONDS)))?;
        if let Err(error) = recording.wait_until_recorded(py, patience, &wanted) {
            // No other can end it. What came is in the file, and the error says more than its end.
            let _ = recording.finish(py);
            return Err(error);
        }
        Ok(recording)
    }

    /// Writes a marker into the file; `stamp` is in seconds on the local clock, 0 stands for now.
    fn annotate(&self, py: Python<'_>, text: &str, stamp: f64) -> PyResult<()> {
        let recorder = self.recorder(py)?;
        let stamp = if stamp == 0.0 { local_clock() } else { stamp };
        let written = py.detach(|| lock(&recorder).annotate(text, stamp));
        written.map_err(|error| exception(py, Kind::Error, error.to_string()))
    }

    /// Where every stream stands.
    fn streams(&self, py: Python<'_>) -> PyResult<Vec<Status>> {
        let recorder = self.recorder(py)?;
        let (streams, health) = py.detach(|| {
            let recorder = lock(&recorder);
            (recorder.streams(), recorder.health())
        });
        let has_failed = health.failure.is_some();
        let states = streams.iter().map(|stream| {
            let (name, state, samples, lost) = status(stream);
            (name, if has_failed { "failed" } else { state }, samples, lost)
        });
        Ok(states.collect())
    }

    /// Takes in what has arrived and completes the file.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Status>> {
        self.check(py)?;
        let running = lock(&self.running).take().ok_or_else(|| closed(py))?;
        let streams = py.detach(|| running.finish()).map_err(|error| exception(py, Kind::Error, error))?;
        Ok(streams.iter().map(status).collect())
    }

    #[getter]
    fn is_finished(&self) -> bool {
        lock(&self.running).is_none()
    }
}

impl Recorder {
    /// Waits until the streams that were found are recorded; those that were asked for must be.
    fn wait_until_recorded(&self, py: Python<'_>, patience: Patience, wanted: &[Selector]) -> PyResult<()> {
        let recorder = self.recorder(py)?;
        let silent = || -> Vec<_> {
            lock(&recorder).streams().into_iter().filter(|one| one.phase == Phase::Connecting).collect()
        };
        let waited = patience.wait(py, |turn| {
            let all = silent().is_empty();
            if !all {
                std::thread::sleep(Duration::from_secs_f64(turn.min(0.005)));
            }
            all.then_some(())
        })?;
        let is_wanted = |one: &RecordingStream| wanted.iter().any(|selector| selector.chooses(&one.info));
        match silent().into_iter().find(is_wanted).filter(|_| waited.is_none()) {
            None => Ok(()),
            Some(one) => {
                let (name, host) = (one.info.name(), one.info.hostname());
                let doctor = format!("schwann doctor {}", quoted(&host.to_string()));
                let what = format!("{name} of {host} was found, but does not answer; why: {doctor}");
                Err(exception(py, Kind::TimedOut, what))
            }
        }
    }

    fn recorder(&self, py: Python<'_>) -> PyResult<Arc<Mutex<schwann_recorder::Recorder>>> {
        self.check(py)?;
        let recorder = lock(&self.running).as_ref().map(|running| Arc::clone(&running.recorder));
        recorder.ok_or_else(|| closed(py))
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.maker.check().map_err(|error| of_stream(py, error))
    }
}

impl Drop for Recorder {
    /// Ends a recording that was not finished: what was written is whole and readable.
    fn drop(&mut self) {
        let running = lock(&self.running).take();
        if self.maker.is_another() {
            core::mem::forget(running);
        } else if let Some(running) = running {
            running.stop.raise();
        }
    }
}

impl Running {
    /// Lets streams join that come later.
    fn start(recorder: schwann_recorder::Recorder, mut search: Search) -> std::io::Result<Self> {
        let (recorder, stop) = (Arc::new(Mutex::new(recorder)), Arc::<Stop>::default());
        let (shared, stopped) = (Arc::clone(&recorder), Arc::clone(&stop));
        let admit = move || {
            while !stopped.wait(LOOK_EVERY) {
                let mut recorder = lock(&shared);
                let new: Vec<StreamInfo> = search.new_streams(&recorder.streams());
                // One that cannot be recorded does not end the others; it is not among them in `streams`.
                search.forget(&recorder.admit(&new).gave_way);
            }
        };
        let admitting = std::thread::Builder::new().name(String::from("schwann-record")).spawn(admit)?;
        Ok(Self { recorder, stop, admitting })
    }

    fn finish(self) -> Result<Vec<RecordingStream>, String> {
        self.stop.raise();
        // A panic of the thread was reported when it happened.
        let _ = self.admitting.join();
        let mut recorder = self.recorder;
        let recorder = loop {
            // Another thread may be asking for the streams.
            match Arc::try_unwrap(recorder) {
                Ok(recorder) => break recorder.into_inner().unwrap_or_else(PoisonError::into_inner),
                Err(shared) => recorder = shared,
            }
            std::thread::yield_now();
        };
        let finished = recorder.finish().map_err(|failure| failure.to_string())?;
        match finished.uncertified {
            None => Ok(finished.streams),
            Some(error) => {
                Err(format!("The file is complete, but its certificate cannot be written: {error}"))
            }
        }
    }
}

fn status(stream: &RecordingStream) -> Status {
    (stream.info.name().to_string(), stream.phase.word(), stream.reading.sample_count, stream.unrecorded)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a stream that was found may take to connect, at least.
const CONNECTING_SECONDS: f64 = 5.0;
