//! Streams that a page sends, such as a phone's sensors or the markers of an experiment in the browser.

use std::{collections::BTreeMap, sync::Arc};

use schwann::{
    ChannelFormat, Context, StreamInfo, local_clock,
    outlet::{Flush, Outlet, OutletOptions},
};
use serde::Deserialize;

/// What a page wants to send.
#[derive(Debug, Deserialize)]
pub(super) struct Description {
    /// The page's number for it.
    pub(super) outlet: u32,
    name: String,
    content: String,
    channels: u32,
    /// Hz; 0 for an irregular stream.
    rate: f64,
    format: Format,
    #[serde(default)]
    source: String,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    unit: String,
}

/// Samples of such a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Samples {
    pub(super) outlet: u32,
    /// Samples × channels.
    samples: Rows,
    /// One per sample on the lab's clock; none for now.
    #[serde(default)]
    times: Option<Vec<f64>>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Format {
    Float32,
    Double64,
    Int32,
    String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Rows {
    Numbers(Vec<Vec<f64>>),
    Texts(Vec<Vec<String>>),
}

/// The streams of one page; they end with it.
#[derive(Debug, Default)]
pub(super) struct Outlets(BTreeMap<u32, Outlet>);

/// Why a page's wish is not granted, in a sentence.
pub(super) type Reason = String;

impl Outlets {
    /// Opens a stream.
    pub(super) fn open(&mut self, description: &Description, context: &Arc<Context>) -> Result<(), Reason> {
        if self.0.len() >= MAX_OUTLETS {
            return Err(format!("A page sends {MAX_OUTLETS} streams at most."));
        }
        if !(1..=MAX_CHANNELS).contains(&description.channels) {
            return Err(format!("A stream of a page has 1 to {MAX_CHANNELS} channels."));
        }
        let info = description.info()?;
        self.0.insert(description.outlet, open(&info, context)?);
        Ok(())
    }

    /// Sends samples.
    pub(super) fn push(&self, samples: &Samples) -> Result<(), Reason> {
        let outlet = self.0.get(&samples.outlet).ok_or("This stream is not open.")?;
        let count = match &samples.samples {
            Rows::Numbers(rows) => rows.len(),
            Rows::Texts(rows) => rows.len(),
        };
        let times = match &samples.times {
            Some(times) if times.len() != count => {
                return Err(format!("There are {count} samples and {} times.", times.len()));
            }
            Some(times) => times.clone(),
            None => vec![local_clock(); count],
        };
        times.iter().try_for_each(|&time| check_time(time))?;
        let channels = outlet.info().channel_count() as usize;
        let is_whole = match &samples.samples {
            Rows::Numbers(rows) => rows.iter().all(|row| row.len() == channels),
            Rows::Texts(rows) => rows.iter().all(|row| row.len() == channels),
        };
        if !is_whole {
            return Err(format!("Each sample has {channels} values, one for each channel."));
        }
        let pushed = match &samples.samples {
            Rows::Numbers(rows) => outlet.push_chunk_stamped(&rows.concat(), &times, Flush::Now),
            Rows::Texts(rows) => {
                let texts: Vec<&[u8]> = rows.iter().flatten().map(String::as_bytes).collect();
                outlet.push_string_chunk_stamped(&texts, &times, Flush::Now)
            }
        };
        pushed.map_err(|error| error.to_string())
    }

    /// Ends a stream.
    pub(super) fn close(&mut self, outlet: u32) {
        self.0.remove(&outlet);
    }
}

impl Description {
    fn info(&self) -> Result<StreamInfo, Reason> {
        let format = match self.format {
            Format::Float32 => ChannelFormat::Float32,
            Format::Double64 => ChannelFormat::Double64,
            Format::Int32 => ChannelFormat::Int32,
            Format::String => ChannelFormat::String,
        };
        let count = self.channels.cast_signed();
        let info = StreamInfo::new(&*self.name, &*self.content, count, self.rate, format, &*self.source);
        let mut info = info.map_err(|error| error.to_string())?;
        let Some(desc) = info.desc().filter(|_| !self.labels.is_empty()) else { return Ok(info) };
        let document = info.document_mut();
        let Some(parent) = document.append_child(desc, "channels") else { return Ok(info) };
        for label in self.labels.iter().take(self.channels as usize) {
            let Some(channel) = document.append_child(parent, "channel") else { break };
            document.append_child_value(channel, "label", &**label);
            document.append_child_value(channel, "unit", &*self.unit);
        }
        Ok(info)
    }
}

/// Opens a stream.
pub(super) fn open(info: &StreamInfo, context: &Arc<Context>) -> Result<Outlet, Reason> {
    Outlet::in_context(info, &OutletOptions::default(), Arc::clone(context))
        .map_err(|error| error.to_string())
}

/// Whether a page may have meant this time: one of the last minutes, on the lab's clock.
pub(super) fn check_time(time: f64) -> Result<(), Reason> {
    let age = local_clock() - time;
    if (-1.0..=OLDEST_SECONDS).contains(&age) {
        Ok(())
    } else {
        Err(format!("The time {time} is not within the last {OLDEST_SECONDS} s on the lab's clock."))
    }
}

const MAX_CHANNELS: u32 = 1024;
const MAX_OUTLETS: usize = 16;
const OLDEST_SECONDS: f64 = 600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_of_now_and_before_are_taken() {
        let now = local_clock();
        for (time, is_taken) in
            [(now, true), (now - 500.0, true), (now + 5.0, false), (now - 700.0, false), (f64::NAN, false)]
        {
            assert_eq!(check_time(time).is_ok(), is_taken, "{}", time - now);
        }
    }

    #[test]
    fn samples_are_read_as_pages_write_them() {
        let read = |text| serde_json::from_str::<Samples>(text).map(|samples| samples.samples);
        assert!(matches!(read(r#"{"outlet":1,"samples":[[1,2.5]]}"#), Ok(Rows::Numbers(_))));
        assert!(matches!(read(r#"{"outlet":1,"samples":[["a"]],"times":null}"#), Ok(Rows::Texts(_))));
        assert!(read(r#"{"outlet":1,"samples":[[{}]]}"#).is_err());
    }
}
