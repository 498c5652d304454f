use core::time::Duration;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{RecordingError, at_file, samples_name};
use crate::wire::{ByteOrder, DataType, Event, EventIter, Header, SamplesDefinition};

/// One acquisition of a recording, open for reading.
#[derive(Debug)]
pub struct RecordedAcquisition {
    folder: PathBuf,
    header: Header,
    order: ByteOrder,
    files: Vec<SampleFile>,
    sample_count: u64,
    events: Vec<Event>,
    timing: Vec<Timing>,
}

/// When a block came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// So many events, so long after the header.
    Events(u32, Duration),
    /// So many samples, so long after the header.
    Samples(u32, Duration),
}

#[derive(Debug)]
struct SampleFile {
    file: File,
    first: u64,
    count: u64,
}

/// The acquisitions in a recording folder, in order; a folder with a header is one by itself.
///
/// - Errors: [`RecordingError::Damaged`] if there is none.
pub fn acquisitions(folder: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    if folder.join("header").is_file() {
        return Ok(vec![folder.into()]);
    }
    let entries = at_file(folder, std::fs::read_dir(folder))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("header").is_file())
        .collect();
    found.sort();
    if found.is_empty() { Err(RecordingError::Damaged(folder.into())) } else { Ok(found) }
}

impl RecordedAcquisition {
    /// Opens the folder of an acquisition, written on any machine, finished or not.
    ///
    /// - Errors: [`RecordingError::Damaged`] if the header and its text are both unreadable. A sample, an event or
    ///   a line that was cut off at the end by a crash is left out.
    pub fn open(folder: &Path) -> Result<Self, RecordingError> {
        let path = folder.join("header");
        let bytes = at_file(&path, std::fs::read(&path))?;
        // The original's recorder writes it at the end: one that was killed leaves the text alone.
        let text = read_if_there(&folder.join("header.txt"))?;
        let found = parse_header(&bytes).or_else(|| parse_text(&String::from_utf8_lossy(&text)));
        let (header, order) = found.ok_or(RecordingError::Damaged(path))?;
        let files = open_samples(folder, header.stride())?;
        let sample_count = files.last().map_or(0, |file| file.first + file.count);
        let events = read_if_there(&folder.join("events"))?;
        let events =
            EventIter::new(order, &events).map_while(Result::ok).map(|event| event.to_event()).collect();
        let timing = read_if_there(&folder.join("timing"))?;
        let timing = String::from_utf8_lossy(&timing).lines().map_while(parse_timing).collect();
        Ok(Self { folder: folder.into(), header, order, files, sample_count, events, timing })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many samples there are, counted.
    pub fn sample_count(&self) -> u64 {
        self.sample_count
    }

    /// Samples that its timing counts, and whose values are not in its files: they were cut off or deleted.
    pub fn missing_sample_count(&self) -> u64 {
        let counted = |timing: &Timing| match timing {
            Timing::Samples(count, _) => u64::from(*count),
            Timing::Events(..) => 0,
        };
        let said = self.timing.iter().map(counted).sum::<u64>();
        said.saturating_sub(self.sample_count)
    }

    /// The events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// When each block came, as far as that was recorded.
    pub fn timing(&self) -> &[Timing] {
        &self.timing
    }

    /// Reads samples, as far as there are so many, into `values`, in the machine's byte order; says what they are.
    pub fn read_samples(
        &mut self,
        first: u64,
        count: u32,
        values: &mut Vec<u8>,
    ) -> Result<SamplesDefinition, RecordingError> {
        let damaged = || RecordingError::Damaged(self.folder.clone());
        let end = (first + u64::from(count)).min(self.sample_count);
        let count = u32::try_from(end.saturating_sub(first)).map_err(|_| damaged())?;
        let definition = SamplesDefinition::new(self.header.channel_count, count, self.header.data_type)
            .ok_or_else(damaged)?;
        let stride = self.header.stride();
        values.clear();
        for file in &mut self.files {
            let from = first.max(file.first);
            let to = end.min(file.first + file.count);
            if from < to {
                let read = file.read(from - file.first, to - from, stride, values);
                at_file(&self.folder, read)?;
            }
        }
        self.order.convert(self.header.data_type.size(), values);
        Ok(definition)
    }
}

impl SampleFile {
    fn read(&mut self, first: u64, count: u64, stride: u64, values: &mut Vec<u8>) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(first * stride))?;
        let length = count * stride;
        let read = Read::by_ref(&mut self.file).take(length).read_to_end(values)?;
        if read as u64 == length { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Reads a header in the byte order in which it makes sense.
fn parse_header(bytes: &[u8]) -> Option<(Header, ByteOrder)> {
    let orders = [
        ByteOrder::NATIVE,
        if ByteOrder::NATIVE == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little },
    ];
    orders.into_iter().find_map(|order| Some((Header::parse(order, bytes).ok()?.0, order)))
}

/// Reads what a header says for people (spec: fieldtrip §18).
fn parse_text(text: &str) -> Option<(Header, ByteOrder)> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let order = match value("endian")? {
        "big" => ByteOrder::Big,
        "little" => ByteOrder::Little,
        _ => return None,
    };
    let data_type = DataType::from_name(value("dataType")?)?;
    let channel_count = value("nChans")?.parse().ok()?;
    let header = Header::new(channel_count, value("fSample")?.parse().ok()?, data_type);
    let named = text.lines().filter_map(|line| line.split_once(':'));
    let names: Vec<_> =
        named.filter(|(number, _)| number.parse::<u32>().is_ok()).map(|(_, name)| name).collect();
    Some((if names.is_empty() { header } else { header.with_channel_names(names) }, order))
}

fn open_samples(folder: &Path, stride: u64) -> Result<Vec<SampleFile>, RecordingError> {
    let mut files = Vec::new();
    let mut first = 0;
    for number in 0.. {
        let path = folder.join(samples_name(number));
        if !path.is_file() {
            break;
        }
        let file = at_file(&path, File::open(&path))?;
        let length = at_file(&path, file.metadata())?.len();
        let count = length.checked_div(stride).unwrap_or(0);
        files.push(SampleFile { file, first, count });
        first += count;
    }
    Ok(files)
}

fn read_if_there(path: &Path) -> Result<Vec<u8>, RecordingError> {
    if path.is_file() { at_file(path, std::fs::read(path)) } else { Ok(Vec::new()) }
}

fn parse_timing(line: &str) -> Option<Timing> {
    let mut words = line.split_ascii_whitespace();
    let (kind, count, seconds) = (words.next()?, words.next()?, words.next()?);
    let (count, seconds) = (count.parse().ok()?, seconds.parse::<f64>().ok()?);
    let at = Duration::try_from_secs_f64(seconds).ok()?;
    match kind {
        "S" => Some(Timing::Samples(count, at)),
        "E" => Some(Timing::Events(count, at)),
        _ => None,
    }
}
