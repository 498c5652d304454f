use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{RecordingError, at_file, samples_name};
use crate::sys::files;
use crate::wire::{ByteOrder, Header, Totals};

/// A recording folder that is being written.
///
/// Dropping it fills in the totals, as [`Recording::finish`] does, but says nothing of errors.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    longest_file: u64,
    begun: u32,
    acquisition: Option<AcquisitionFolder>,
}

#[derive(Debug)]
struct AcquisitionFolder {
    folder: PathBuf,
    header: Header,
    header_at: Duration,
    samples: File,
    samples_number: u32,
    samples_bytes: u64,
    events: File,
    timing: File,
    sample_count: u64,
    event_count: u64,
}

impl Recording {
    /// Makes the folder, readable for its owner alone.
    ///
    /// - Errors: [`RecordingError::File`], also if there is something of this name already.
    pub fn create(folder: &Path) -> Result<Self, RecordingError> {
        make_folder(folder)?;
        let contents = folder.join("contents.txt");
        at_file(&contents, std::fs::write(&contents, CONTENTS))?;
        Ok(Self { folder: folder.into(), longest_file: LONGEST_FILE, begun: 0, acquisition: None })
    }

    /// Finishes the last acquisition's folder, then begins the folder of the new one.
    ///
    /// - Units: `at` is any clock that does not go back, the same in every call.
    pub fn header(&mut self, header: &Header, at: Duration) -> Result<(), RecordingError> {
        self.finish_acquisition()?;
        self.begun += 1;
        let folder = self.folder.join(format!("{:04}", self.begun));
        make_folder(&folder)?;
        let path = folder.join("header");
        at_file(&path, std::fs::write(&path, binary_header(header, Totals::default())))?;
        let path = folder.join("header.txt");
        at_file(&path, std::fs::write(&path, text_header(header)))?;
        self.acquisition = Some(AcquisitionFolder {
            header: header.clone(),
            header_at: at,
            samples: append_to(&folder.join("samples"))?,
            samples_number: 0,
            samples_bytes: 0,
            events: append_to(&folder.join("events"))?,
            timing: append_to(&folder.join("timing"))?,
            sample_count: 0,
            event_count: 0,
            folder,
        });
        Ok(())
    }

    /// Writes a block of samples, given in pieces, in the machine's byte order.
    pub fn samples<'a>(
        &mut self,
        count: u32,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        at: Duration,
    ) -> Result<(), RecordingError> {
        let longest = self.longest_file;
        let acquisition = self.acquisition.as_mut().ok_or(RecordingError::NoHeader)?;
        for piece in pieces {
            acquisition.write_samples(piece, longest)?;
        }
        acquisition.sample_count += u64::from(count);
        acquisition.write_timing('S', count, at)
    }

    /// Writes events, each as it travels in the machine's byte order.
    pub fn events<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a [u8]>,
        at: Duration,
    ) -> Result<(), RecordingError> {
        let acquisition = self.acquisition.as_mut().ok_or(RecordingError::NoHeader)?;
        let mut count = 0;
        for event in events {
            at_file(&acquisition.folder, acquisition.events.write_all(event))?;
            count += 1;
        }
        acquisition.event_count += u64::from(count);
        acquisition.write_timing('E', count, at)
    }

    /// Fills in the totals.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        self.finish_acquisition()
    }

    #[cfg(test)]
    pub(super) fn with_longest_file(mut self, bytes: u64) -> Self {
        self.longest_file = bytes;
        self
    }

    fn finish_acquisition(&mut self) -> Result<(), RecordingError> {
        match self.acquisition.take() {
            Some(acquisition) => acquisition.finish(),
            None => Ok(()),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // What is missing without the totals, a reader counts itself.
        let _ = self.finish_acquisition();
    }
}

impl AcquisitionFolder {
    fn write_samples(&mut self, mut bytes: &[u8], longest: u64) -> Result<(), RecordingError> {
        let stride = self.header.stride().max(1);
        while !bytes.is_empty() {
            let room = longest.saturating_sub(self.samples_bytes) / stride * stride;
            if room == 0 && self.samples_bytes > 0 {
                self.samples_number += 1;
                self.samples = append_to(&self.folder.join(samples_name(self.samples_number)))?;
                self.samples_bytes = 0;
                continue;
            }
            // One sample may be longer than a file should be; it is not cut.
            let length = usize::try_from(room.max(stride)).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(length);
            at_file(&self.folder, self.samples.write_all(now))?;
            self.samples_bytes += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn write_timing(&mut self, kind: char, count: u32, at: Duration) -> Result<(), RecordingError> {
        let since = at.saturating_sub(self.header_at).as_secs_f64();
        // One write, so that a line is there as a whole or not at all.
        let line = format!("{kind} {count} {since:.6}\n");
        at_file(&self.folder, self.timing.write_all(line.as_bytes()))
    }

    fn finish(self) -> Result<(), RecordingError> {
        let wire = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let totals = Totals { samples: wire(self.sample_count), events: wire(self.event_count) };
        let path = self.folder.join("header");
        let mut file = at_file(&path, OpenOptions::new().write(true).open(&path))?;
        at_file(&path, file.seek(SeekFrom::Start(0)))?;
        at_file(&path, file.write_all(&self.header.encode(ByteOrder::NATIVE, totals)))?;
        let path = self.folder.join("header.txt");
        let counts = format!("nSamples={}\nnEvents={}\n", self.sample_count, self.event_count);
        let mut file = at_file(&path, OpenOptions::new().append(true).open(&path))?;
        at_file(&path, file.write_all(counts.as_bytes()))
    }
}

fn make_folder(folder: &Path) -> Result<(), RecordingError> {
    at_file(folder, files::private_folder().create(folder))
}

fn append_to(path: &Path) -> Result<File, RecordingError> {
    at_file(path, OpenOptions::new().create(true).append(true).open(path))
}

fn binary_header(header: &Header, totals: Totals) -> Vec<u8> {
    let mut bytes = header.encode(ByteOrder::NATIVE, totals).to_vec();
    bytes.extend_from_slice(&header.chunk_bytes);
    bytes
}

fn text_header(header: &Header) -> String {
    let endian = match ByteOrder::NATIVE {
        ByteOrder::Big => "big",
        ByteOrder::Little => "little",
    };
    let mut text = format!(
        "version=1\nendian={endian}\ndataType={}\nfSample={:.6}\nnChans={}\n",
        header.data_type.name(),
        header.rate,
        header.channel_count,
    );
    for (number, name) in (1..).zip(header.channel_names()) {
        text.push_str(&format!("{number}:{name}\n"));
    }
    text
}

/// Files stay below what a signed 32-bit number can say, for the programs that use one.
const LONGEST_FILE: u64 = (1 << 31) - 1;

const CONTENTS: &str = "\
This folder holds what went through a FieldTrip buffer. Each numbered folder is one acquisition, in order:

header      as in the FieldTrip buffer protocol: a definition of 24 bytes, then the chunks
header.txt  the same for people
samples     the values, all channels of the first sample, then of the second; samples1, samples2 ... continue it
events      each as in the protocol: a definition of 32 bytes, then type and value
timing      one line per block: S or E, the number of samples or events, seconds since the header

Numbers are in the byte order that header.txt names.
";
