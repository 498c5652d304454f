//! From sealed blocks to an XDF file with its certificate.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use schwann_proto::wire::sample::Layout;
use schwann_recorder::certificate::{Certificate, Facts, StreamAccount, content_name, write_beside};
use schwann_relay::{Block, BlockKind, RunId};
use schwann_xdf::{Options, PushError, Readers, StreamWriter, Summary, Writer};

use super::account::Account;
use super::archive::Archive;
use super::{RecordedRun, Recording, RecordingError};
use crate::access::now;
use crate::far::{FarRun, Origin};
use crate::samples::{self, Unwritable};

/// What became of the blocks that are kept.
pub(super) struct Written {
    /// What is in the file; nothing if there is none.
    pub(super) summary: Option<Summary>,
    pub(super) unwritten: Unwritten,
    /// Why it has no certificate.
    pub(super) uncertified: Option<String>,
}

/// How many kept blocks are not in the file, and why.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwritten {
    /// Their keys are not here.
    pub unopened: u64,
    /// The file takes no stream with their description.
    pub refused: u64,
    /// They hold no samples of their stream, which only a faulty edge makes.
    pub malformed: u64,
    /// The disk gives them back damaged.
    pub damaged: u64,
}

impl Unwritten {
    /// All of them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.unopened + self.refused + self.malformed + self.damaged
    }
}

/// Writes all blocks, run by run and in order, and the certificate beside the file.
pub(super) fn write(recording: &mut Recording) -> Result<Written, RecordingError> {
    let mut options = Options::default();
    options.readers = Readers::Owner;
    let path = recording.path.clone();
    let writer =
        Writer::create(&path, options).map_err(|error| RecordingError::Create(path.clone(), error))?;
    let mut pages = Pages { unwritten: recording.unopened(), ..Pages::default() };
    for run in recording.in_order() {
        if let Some((far, archive)) = recording.far.runs().get(&run).zip(recording.archives.get(&run)) {
            pages.write_run(&writer, recording, far, archive)?;
        }
    }
    let Pages { streams, mut closed, unwritten, damaged } = pages;
    closed.extend(streams.into_values());
    // Their writers must be gone before the file is complete.
    let accounts = closed.into_iter().map(|stream| stream.account.finish()).collect();
    let summary = writer.finish().map_err(|failure| RecordingError::Write(path, failure))?;
    for (run, number) in damaged {
        recording.archives.get_mut(&run).into_iter().for_each(|archive| archive.lose(number));
    }
    let uncertified = certify(recording, &summary, accounts).err().map(|error| error.to_string());
    Ok(Written { summary: Some(summary), unwritten, uncertified })
}

/// The streams of a file, while they are written.
#[derive(Default)]
struct Pages {
    streams: BTreeMap<Origin, OpenStream>,
    /// Those that were followed by one of another layout.
    closed: Vec<OpenStream>,
    unwritten: Unwritten,
    /// Blocks that the disk gives back damaged.
    damaged: Vec<(RunId, u64)>,
}

impl Pages {
    fn write_run(
        &mut self,
        writer: &Writer,
        recording: &Recording,
        far: &FarRun,
        archive: &Archive,
    ) -> Result<(), RecordingError> {
        let Some(description) = far.follower().description() else {
            // It counts as unopened already.
            return Ok(());
        };
        if !self.add_stream(writer, far, description) {
            self.unwritten.refused += archive.blocks();
            return Ok(());
        }
        let Some(stream) = self.streams.get_mut(&far.origin()) else { return Ok(()) };
        stream.begin_run(archive, far, &recording.recorded(far))?;
        for number in archive.numbers() {
            match archive.block(number).map_err(RecordingError::Disk)? {
                Some(bytes) => write_block(stream, recording, opened(far, &bytes), &mut self.unwritten)?,
                None => {
                    self.damaged.push((far.id(), number));
                    self.unwritten.damaged += 1;
                    stream.account.miss();
                }
            }
        }
        Ok(())
    }

    /// Whether the file has, or takes, a stream for this run.
    fn add_stream(&mut self, writer: &Writer, far: &FarRun, description: &[u8]) -> bool {
        let Some((info, layout)) = far.info().and_then(|info| Some((info, samples::layout(info)?))) else {
            return false;
        };
        if self.streams.get(&far.origin()).is_none_or(|open| open.layout != layout) {
            let Ok(writer) = writer.add_stream(&String::from_utf8_lossy(description)) else { return false };
            let open = OpenStream { writer, layout, account: Account::new(info) };
            self.closed.extend(self.streams.insert(far.origin(), open));
        }
        true
    }
}

/// Writes the certificate, with what is missing among its events.
fn certify(recording: &mut Recording, summary: &Summary, streams: Vec<StreamAccount>) -> io::Result<PathBuf> {
    for stream in recording.streams() {
        for range in stream.runs.iter().flat_map(|run| run.missing.as_slice()) {
            let (first, last) = (range.first, range.last);
            recording.happened.note(&format!("missing: blocks {first} to {last} of {}", stream.name));
        }
    }
    recording.happened.note("stop");
    let facts = Facts {
        name: content_name(&recording.path),
        sealed_to: None,
        proof: summary.proof.clone(),
        wall_clock: [recording.began, now().0],
        streams,
        events: recording.happened.list(),
        replaces: None,
    };
    let member = Some(&**recording.far.access().member());
    write_beside(&recording.path, &Certificate::encode(&facts.statement(member), member))
}

/// A stream of the file, while it is written.
struct OpenStream {
    writer: StreamWriter,
    layout: Layout,
    account: Account,
}

impl OpenStream {
    fn begin_run(
        &mut self,
        archive: &Archive,
        far: &FarRun,
        stands: &RecordedRun,
    ) -> Result<(), RecordingError> {
        self.account.begin(far, stands);
        for clock in archive.clocks().map_err(RecordingError::Disk)? {
            // On the sender's clock, like the stamps it is to be applied to. A file that takes no more says so below.
            let _ = self.writer.clock_offset(clock.measured - clock.offset, clock.offset);
            self.account.measured(&clock);
        }
        Ok(())
    }

    /// Writes the samples of a block; says whether they are samples of this stream.
    fn write_block(&mut self, recording: &Recording, content: &[u8]) -> Result<bool, RecordingError> {
        match samples::record(&self.layout, content, &self.writer) {
            Ok(stamps) => self.account.wrote(&stamps),
            Err(Unwritable::Push(PushError::Failed(failure))) => {
                return Err(RecordingError::Write(recording.path.clone(), failure));
            }
            Err(Unwritable::Push(_) | Unwritable::Malformed) => return Ok(false),
        }
        Ok(true)
    }
}

/// What is in a block of the disk.
enum Opened {
    Samples(Vec<u8>),
    End,
    NoKey,
    Malformed,
}

/// Writes a block of a stream, or counts it among those that are not written.
fn write_block(
    stream: &mut OpenStream,
    recording: &Recording,
    block: Opened,
    unwritten: &mut Unwritten,
) -> Result<(), RecordingError> {
    let is_written = match block {
        Opened::Samples(content) => {
            let is_written = stream.write_block(recording, &content)?;
            unwritten.malformed += u64::from(!is_written);
            is_written
        }
        Opened::End => true,
        Opened::NoKey => {
            unwritten.unopened += 1;
            false
        }
        Opened::Malformed => {
            unwritten.malformed += 1;
            false
        }
    };
    if !is_written {
        stream.account.miss();
    }
    Ok(())
}

fn opened(far: &FarRun, bytes: &[u8]) -> Opened {
    let content = Block::parse(bytes).and_then(|block| Ok((block, far.follower().look_at(&block)?)));
    match content {
        Ok((_, None)) => Opened::NoKey,
        Ok((block, Some(content))) if block.place().kind == BlockKind::Samples => Opened::Samples(content),
        Ok(_) => Opened::End,
        Err(_) => Opened::Malformed,
    }
}
