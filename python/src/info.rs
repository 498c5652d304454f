//! Descriptions of streams.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schwann::{ChannelFormat, StreamInfo};

use crate::failure::{Kind, exception};

/// The description of one stream.
#[pyclass(frozen, module = "schwann._schwann")]
pub(crate) struct Info(pub(crate) StreamInfo);

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
        made.map(Self).map_err(|error| argument(error.to_string()))
    }

    /// The same with metadata: each entry's depth below `desc`, its name and its text; inner entries follow outer ones.
    fn described(&self, entries: Vec<(usize, String, String)>) -> Self {
        let mut info = self.0.clone();
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
        Self(info)
    }

    /// The whole description.
    fn xml<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.fullinfo())
    }

    #[getter]
    fn name(&self) -> String {
        self.0.name().to_string()
    }

    #[getter]
    fn stream_type(&self) -> String {
        self.0.stream_type().to_string()
    }

    #[getter]
    fn channel_count(&self) -> u32 {
        self.0.channel_count()
    }

    #[getter]
    fn rate(&self) -> f64 {
        self.0.nominal_rate()
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.0.channel_format().name()
    }

    #[getter]
    fn source_id(&self) -> String {
        self.0.source_id().to_string()
    }

    #[getter]
    fn uid(&self) -> String {
        self.0.uid().to_string()
    }

    #[getter]
    fn hostname(&self) -> String {
        self.0.hostname().to_string()
    }

    #[getter]
    fn session_id(&self) -> String {
        self.0.session_id().to_string()
    }

    #[getter]
    fn created_at(&self) -> f64 {
        self.0.created_at()
    }
}
