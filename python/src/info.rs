//! Descriptions of streams.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schwann::{ChannelFormat, StreamInfo};

use crate::element::Element;
use crate::failure::{Kind, exception};

/// The description of one stream; its elements share it, and may change it until an outlet is made of it.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Info(Arc<Mutex<StreamInfo>>);

impl Info {
    pub(crate) fn of(info: StreamInfo) -> Self {
        Self(Arc::new(Mutex::new(info)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, StreamInfo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Info {
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        stream_type: &str,
        channel_count: i32,
        rate: f64,
        format: &str,
        source_id: &str,
    ) -> PyResult<Self> {
        let argument = |message: String| exception(py, Kind::Argument, message);
        let format = ChannelFormat::from_name(format)
            .ok_or_else(|| argument(format!("There is no channel format {format:?}.")))?;
        let made = StreamInfo::new(name, stream_type, channel_count, rate, format, source_id);
        let mut info = made.map_err(|error| argument(error.to_string()))?;
        info.set_version(schwann::Context::get().tuning.protocol_version);
        Ok(Self::of(info))
    }

    /// The same with metadata: each entry's depth below `desc`, its name and its text; inner entries follow outer ones.
    fn described(&self, entries: Vec<(usize, String, String)>) -> Self {
        let mut info = self.lock().clone();
        let mut outer: Vec<_> = info.desc().into_iter().collect();
        let document = info.document_mut();
        for (depth, name, text) in entries {
            outer.truncate(depth + 1);
            let Some(entry) = outer.last().and_then(|parent| document.append_child(*parent, &name)) else {
                continue;
            };
            if !text.is_empty() {
                document.append_text(entry, &text);
            }
            outer.push(entry);
        }
        Self::of(info)
    }

    /// The element `desc` below which metadata are.
    fn desc(&self) -> Element {
        let desc = self.lock().desc();
        Element::of(Arc::clone(&self.0), desc)
    }

    /// Another description that says the same.
    fn copy(&self) -> Self {
        Self::of(self.lock().clone())
    }

    /// Gives the description another uid out of random bytes, and returns it.
    fn reset_uid(&self, random: [u8; 16]) -> String {
        text(self.lock().reset_uid(random).as_bytes())
    }

    /// The whole description.
    fn xml<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().fullinfo())
    }

    #[getter]
    fn name(&self) -> String {
        text(self.lock().name().as_bytes())
    }

    #[getter]
    fn stream_type(&self) -> String {
        text(self.lock().stream_type().as_bytes())
    }

    #[getter]
    fn channel_count(&self) -> u32 {
        self.lock().channel_count()
    }

    #[getter]
    fn rate(&self) -> f64 {
        self.lock().nominal_rate()
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.lock().channel_format().name()
    }

    #[getter]
    fn source_id(&self) -> String {
        text(self.lock().source_id().as_bytes())
    }

    #[getter]
    fn uid(&self) -> String {
        text(self.lock().uid().as_bytes())
    }

    #[getter]
    fn hostname(&self) -> String {
        text(self.lock().hostname().as_bytes())
    }

    #[getter]
    fn session_id(&self) -> String {
        text(self.lock().session_id().as_bytes())
    }

    #[getter]
    fn version(&self) -> i32 {
        self.lock().version()
    }

    #[getter]
    fn created_at(&self) -> f64 {
        self.lock().created_at()
    }
}

/// A text of a description. Some programs write the system's code page instead of UTF-8; then each byte is a letter, as
/// pylsl has it.
pub(crate) fn text(bytes: &[u8]) -> String {
    match core::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}
