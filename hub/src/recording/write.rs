//! From sealed blocks to an XDF file with its certificate.

use std::collections::BTreeMap;

use schwann_proto::wire::sample::Layout;
use schwann_recorder::certificate::{Certificate, Facts, StreamAccount, content_name, write_beside};
use schwann_relay::{Block, BlockKind, RunId};
use schwann_xdf::{Options, PushError, Readers, StreamWriter, Summary, Writer};

use super::account::Account;
use super::{Recording, RecordingError};
use crate::access::now;
use crate::far::{FarRun, Origin};
use crate::samples::{self, Unwritten};

/// A file that was written.
pub struct Written {
    /// What is in it.
    pub summary: Summary,
    /// Samples that were sealed and are no samples of their stream, which only a faulty edge makes.
    pub malformed_blocks: u64,
}

/// Writes all blocks, run by run and in order, and the certificate beside the file.
pub(super) fn write(recording: &mut Recording) -> Result<Written, RecordingError> {
    let mut options = Options::default();
    options.readers = Readers::Owner;
    let path = &recording.path;
    let writer =
        Writer::create(path, options).map_err(|error| RecordingError::Create(path.clone(), error))?;
    let mut streams: BTreeMap<Origin, OpenStream> = BTreeMap::new();
    let mut closed = Vec::new();
    for run in recording.in_order() {
        let Some(far) = recording.far.runs().get(&run) else { continue };
        let Some((info, layout)) = far.info().and_then(|info| Some((info, samples::layout(info)?))) else {
            continue;
        };
        if streams.get(&far.origin()).is_none_or(|open| open.layout != layout) {
            let xml = String::from_utf8_lossy(far.follower().description().unwrap_or_default()).into_owned();
            let Ok(writer) = writer.add_stream(&xml) else { continue };
            let account = Account::new(info);
            let open = OpenStream { writer, layout, account, malformed_blocks: 0 };
            closed.extend(streams.insert(far.origin(), open));
        }
        if let Some(stream) = streams.get_mut(&far.origin()) {
            stream.write_run(recording, run, far)?;
        }
    }
    closed.extend(streams.into_values());
    let malformed_blocks = closed.iter().map(|stream| stream.malformed_blocks).sum();
    // Their writers must be gone before the file is complete.
    let accounts = closed.into_iter().map(|stream| stream.account.finish()).collect();
    let summary = writer.finish().map_err(|failure| RecordingError::Write(path.clone(), failure))?;
    certify(recording, &summary, accounts);
    Ok(Written { summary, malformed_blocks })
}

/// Writes the certificate, with what is missing among its events.
fn certify(recording: &mut Recording, summary: &Summary, streams: Vec<StreamAccount>) {
    for stream in recording.streams() {
        for range in stream.missing.as_slice() {
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
    // A disk without room for it has a recording with checksums alone, and `verify` says that.
    let _ = write_beside(&recording.path, &Certificate::encode(&facts.statement(member), member));
}

/// A stream of the file, while it is written.
struct OpenStream {
    writer: StreamWriter,
    layout: Layout,
    account: Account,
    malformed_blocks: u64,
}

impl OpenStream {
    fn write_run(&mut self, recording: &Recording, run: RunId, far: &FarRun) -> Result<(), RecordingError> {
        let Some(archive) = recording.archives.get(&run) else { return Ok(()) };
        self.account.begin(far);
        for clock in archive.clocks().map_err(RecordingError::Disk)? {
            // On the sender's clock, like the stamps it is to be applied to. A file that takes no more says so below.
            let _ = self.writer.clock_offset(clock.measured - clock.offset, clock.offset);
            self.account.measured(&clock);
        }
        for number in archive.numbers() {
            let Some(bytes) = archive.block(number).map_err(RecordingError::Disk)? else { continue };
            let content = Block::parse(&bytes).and_then(|block| {
                let content = far.follower().reopen(&block)?;
                Ok((block.place().kind == BlockKind::Samples).then_some(content))
            });
            match content {
                Ok(None) => {}
                Ok(Some(content)) => self.write_block(recording, &content)?,
                Err(_) => self.malformed_blocks += 1,
            }
        }
        Ok(())
    }

    fn write_block(&mut self, recording: &Recording, content: &[u8]) -> Result<(), RecordingError> {
        match samples::record(&self.layout, content, &self.writer) {
            Ok(stamps) => self.account.wrote(&stamps),
            Err(Unwritten::Push(PushError::Failed(failure))) => {
                return Err(RecordingError::Write(recording.path.clone(), failure));
            }
            Err(Unwritten::Push(_) | Unwritten::Malformed) => self.malformed_blocks += 1,
        }
        Ok(())
    }
}
