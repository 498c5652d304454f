//! Inlets.

mod alarms;
mod kept;
mod live;
mod pull;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use alarms::Alarms;
use alarms::alarms;
use kept::Kept;
use live::Live;
use numpy::PyArray1;
use pyo3::prelude::*;
use schwann::inlet::{Protection, Recover, StreamEvent, Watch};
use schwann::security::Explained;
use schwann::{ChannelFormat, Error, InletOptions};

use crate::bell::{Bell, Readable};
use crate::failure::{Kind, closed, exception, of_stream};
use crate::info::Info;
use crate::patience::{Patience, in_thread};
use crate::rows::Rows;

/// The receiving end of a stream; any thread may use it.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Inlet {
    inlet: Mutex<Option<Arc<schwann::Inlet>>>,
    format: ChannelFormat,
    channels: usize,
    kept: Kept,
}

#[pymethods]
impl Inlet {
    /// Makes a receiver that keeps `buffer_seconds` of samples between pulls. `recovers` says whether it looks for
    /// a lost stream. The outlet shall send `chunk_samples` at a time, 0 as it likes.
    #[new]
    #[pyo3(signature = (info, buffer_seconds, recovers, chunk_samples=0))]
    fn new(
        py: Python<'_>,
        info: &Info,
        buffer_seconds: i32,
        recovers: bool,
        chunk_samples: u32,
    ) -> PyResult<Self> {
        let recover = if recovers { Recover::BySourceId } else { Recover::No };
        let options =
            InletOptions { buffer_length: buffer_seconds, recover, chunk_samples, ..InletOptions::default() };
        let info = info.lock().clone();
        let made = py.detach(|| schwann::Inlet::new(&info, &options));
        let inlet = made.map_err(|error| of_stream(py, error))?;
        Ok(Self {
            inlet: Mutex::new(Some(Arc::new(inlet))),
            format: info.channel_format(),
            channels: info.channel_count() as usize,
            kept: Kept::default(),
        })
    }

    /// Connects, and returns once samples arrive from then on.
    fn open(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        let opened = self.wait(py, patience, |turn| unless_timeout(inlet.open_stream(turn)))?;
        match (opened, inlet.refusal()) {
            (Some(()), _) => Ok(()),
            (None, Some(refusal)) => Err(exception(py, Kind::Unsealed, Explained(refusal).to_string())),
            (None, None) => Err(of_stream(py, Error::Timeout)),
        }
    }

    /// The numbers of up to `rows` samples; without a number, what has arrived once there is a sample.
    fn pull<'py>(&self, py: Python<'py>, rows: Option<usize>, timeout: Option<f64>) -> PyResult<Rows<'py>> {
        match self.format {
            ChannelFormat::Float32 => self.pull_as::<f32>(py, rows, timeout),
            ChannelFormat::Double64 => self.pull_as::<f64>(py, rows, timeout),
            ChannelFormat::Int8 => self.pull_as::<i8>(py, rows, timeout),
            ChannelFormat::Int16 => self.pull_as::<i16>(py, rows, timeout),
            ChannelFormat::Int32 => self.pull_as::<i32>(py, rows, timeout),
            ChannelFormat::Int64 => self.pull_as::<i64>(py, rows, timeout),
            ChannelFormat::String | ChannelFormat::Undefined => {
                Err(exception(py, Kind::Argument, "The stream's values are strings."))
            }
        }
    }

    /// As `pull`, into arrays of the caller's: as many samples as they have room for. Returns how many came.
    fn pull_into(
        &self,
        values: &Bound<'_, PyAny>,
        stamps: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        match self.format {
            ChannelFormat::Float32 => self.pull_into_as::<f32>(values, stamps, timeout),
            ChannelFormat::Double64 => self.pull_into_as::<f64>(values, stamps, timeout),
            ChannelFormat::Int8 => self.pull_into_as::<i8>(values, stamps, timeout),
            ChannelFormat::Int16 => self.pull_into_as::<i16>(values, stamps, timeout),
            ChannelFormat::Int32 => self.pull_into_as::<i32>(values, stamps, timeout),
            ChannelFormat::Int64 => self.pull_into_as::<i64>(values, stamps, timeout),
            ChannelFormat::String | ChannelFormat::Undefined => {
                Err(exception(values.py(), Kind::Argument, "The stream's values are strings."))
            }
        }
    }

    /// Says what an event loop waits for before it pulls without waiting. Nothing if that finds something; else the
    /// readable descriptor, besides the bell.
    fn watch(&self, py: Python<'_>, bell: &Bell) -> PyResult<(bool, Option<Readable>)> {
        let watch = self.live(py)?.watch(&bell.0).map_err(|error| of_stream(py, error))?;
        Ok(match watch {
            Watch::Readable(readable) => (false, Some(Readable(readable))),
            Watch::Ready => (true, None),
            _ => (false, None),
        })
    }

    /// Sets the alarm, and returns what it tells from now on.
    fn set_alarm(&self, py: Python<'_>, max_lag: f64) -> PyResult<Alarms> {
        let (teller, alarms) = alarms();
        self.live(py)?.set_alarm(max_lag, move |alarm| teller.tell(alarm));
        Ok(alarms)
    }

    /// Ends the alarm.
    fn clear_alarm(&self, py: Python<'_>) -> PyResult<()> {
        self.live(py)?.clear_alarm();
        Ok(())
    }

    /// As `pull`, of strings: the bytes of each, row by row.
    fn pull_strings<'py>(
        &self,
        py: Python<'py>,
        rows: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Texts<'py>> {
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        let room = self.rows_to_pull(py, &inlet, rows, patience)?;
        let enough = rows.unwrap_or(1).min(room);
        let (mut texts, mut stamps) = self.kept.take::<Vec<u8>>(room, self.channels);
        if stamps.len() == room {
            return Ok((texts, PyArray1::from_vec(py, stamps)));
        }
        let waited = self.wait(py, patience, |turn| {
            let each = |_, text: &[u8]| texts.push(text.to_vec());
            match inlet.pull_string_chunk(room - stamps.len(), turn, each) {
                Ok(more) => stamps.extend(more),
                Err(error) if stamps.is_empty() => return Some(Err(error)),
                Err(_) => return Some(Ok(())),
            }
            (stamps.len() >= enough).then_some(Ok(()))
        });
        if let Err(broken_off) = waited {
            self.kept.keep(texts, stamps);
            return Err(broken_off);
        }
        Ok((texts, PyArray1::from_vec(py, stamps)))
    }

    /// How far the sender's clock is from ours, in seconds, and the round trip of that measurement.
    fn clock_offset(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<(f64, f64)> {
        let patience = Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        let known = self.wait(py, patience, |turn| unless_timeout(inlet.clock_offset(turn)))?;
        let estimate = known.ok_or_else(|| of_stream(py, Error::Timeout))?;
        Ok((estimate.offset, estimate.uncertainty))
    }

    /// The whole description, from the outlet.
    fn full_info(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Info> {
        // Checks the timeout.
        Patience::seconds(py, timeout)?;
        let inlet = self.live(py)?;
        // What is asked for would begin anew with each turn.
        let inlet = inlet.share();
        let answer = in_thread(py, move || inlet.full_info(timeout.unwrap_or(schwann::FOREVER)))?;
        answer.map(Info::of).map_err(|error| if self.is_closed() { closed(py) } else { of_stream(py, error) })
    }

    /// What happened to the connection and was not taken yet.
    fn events(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let inlet = self.live(py)?;
        Ok(core::iter::from_fn(|| inlet.next_event(0.0)).map(event_name).collect())
    }

    /// Chooses how stamps are processed, by the flags of the C interface.
    fn set_post_processing(&self, py: Python<'_>, flags: u32) -> PyResult<()> {
        self.live(py)?.set_post_processing(flags);
        Ok(())
    }

    /// Has pulls pass over samples older than this many seconds.
    fn set_max_lag(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.live(py)?.set_max_lag(seconds);
        Ok(())
    }

    /// Disconnects and drops what was not pulled; a later pull connects anew.
    fn close_stream(&self, py: Python<'_>) -> PyResult<()> {
        let inlet = self.live(py)?;
        py.detach(|| inlet.close_stream());
        self.kept.drop_all();
        Ok(())
    }

    /// Drops what has arrived, and returns how many samples that were.
    fn flush(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.live(py)?.flush() + self.kept.drop_all())
    }

    /// The description that the inlet works with.
    fn info(&self, py: Python<'_>) -> PyResult<Info> {
        Ok(Info::of(self.live(py)?.info()))
    }

    #[getter]
    fn lag(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.live(py)?.lag())
    }

    #[getter]
    fn dropped_samples(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.live(py)?.dropped_samples())
    }

    #[getter]
    fn samples_available(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.live(py)?.samples_available() + self.kept.count())
    }

    #[getter]
    fn was_clock_reset(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.live(py)?.was_clock_reset())
    }

    #[getter]
    fn is_sealed(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        Ok(self.live(py)?.protection().map(|protection| protection == Protection::Sealed))
    }

    /// The name of the device at the other end, as the lab's authority says.
    #[getter]
    fn peer(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.live(py)?.peer().map(|peer| peer.statement.name.as_str().to_owned()))
    }

    #[getter]
    fn refusal(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let inlet = self.live(py)?;
        Ok(inlet.refusal().map(|refusal| Explained(refusal).to_string()))
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.slot().is_none()
    }

    /// Disconnects, and ends the waits of other threads.
    fn close(&self, py: Python<'_>) {
        let inlet = self.slot().take();
        py.detach(move || {
            if let Some(inlet) = inlet {
                inlet.end();
            }
        });
    }
}

impl Inlet {
    fn slot(&self) -> MutexGuard<'_, Option<Arc<schwann::Inlet>>> {
        self.inlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, py: Python<'_>) -> PyResult<Live> {
        self.slot().clone().map(|inlet| Live(Some(inlet))).ok_or_else(|| closed(py))
    }

    /// Waits as `patience` says, until `step` has an outcome or another thread closes the inlet.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        patience: Patience,
        mut step: impl FnMut(f64) -> Option<Result<T, Error>> + Send,
    ) -> PyResult<Option<T>> {
        let outcome =
            patience.wait(py, |turn| if self.is_closed() { Some(Err(Error::Lost)) } else { step(turn) })?;
        let ended = |error| if self.is_closed() { closed(py) } else { of_stream(py, error) };
        outcome.transpose().map_err(ended)
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        drop(Live(self.slot().take()));
    }
}

fn unless_timeout<T>(outcome: Result<T, Error>) -> Option<Result<T, Error>> {
    (!matches!(outcome, Err(Error::Timeout))).then_some(outcome)
}

fn event_name(event: StreamEvent) -> &'static str {
    match event {
        StreamEvent::Behind => "behind",
        StreamEvent::CaughtUp => "caught up",
        StreamEvent::ClockReset => "clock reset",
        StreamEvent::Connected => "connected",
        StreamEvent::Lost => "lost",
        StreamEvent::OtherDevice => "other device",
        StreamEvent::Recovering => "recovering",
        StreamEvent::Refused => "refused",
        StreamEvent::Silent => "silent",
        _ => "other",
    }
}

/// Strings as Python gets them: the bytes of each, row by row, and a stamp for each row.
type Texts<'py> = (Vec<Vec<u8>>, Bound<'py, PyArray1<f64>>);
