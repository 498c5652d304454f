//! From sealed blocks to an XDF file.

use core::time::Duration;
use std::collections::BTreeMap;
use std::thread;

use schwann_proto::wire::sample::Layout;
use schwann_relay::{Block, BlockKind, RunId, StreamId};
use schwann_xdf::{Options, PushError, Readers, StreamWriter, Summary, Writer};

use super::{Recording, RecordingError};
use crate::far::FarRun;
use crate::samples::{self, Unwritten};

/// A file that was written.
pub struct Written {
    /// What is in it.
    pub summary: Summary,
    /// Samples that were sealed and are no samples of their stream, which only a faulty edge makes.
    pub malformed_blocks: u64,
}

/// Writes all blocks, run by run and in order.
pub(super) fn write(recording: &Recording) -> Result<Written, RecordingError> {
    let mut options = Options::default();
    options.readers = Readers::Owner;
    let path = &recording.path;
    let writer =
        Writer::create(path, options).map_err(|error| RecordingError::Create(path.clone(), error))?;
    let mut streams: BTreeMap<StreamId, (StreamWriter, Layout)> = BTreeMap::new();
    let mut malformed_blocks = 0;
    for run in recording.in_order() {
        let Some(far) = recording.far.runs().get(&run) else { continue };
        let Some(layout) = far.info().and_then(samples::layout) else { continue };
        if streams.get(&far.stream()).is_none_or(|(_, known)| *known != layout) {
            let xml = String::from_utf8_lossy(far.follower().description().unwrap_or_default()).into_owned();
            let Ok(stream) = writer.add_stream(&xml) else { continue };
            streams.insert(far.stream(), (stream, layout));
        }
        if let Some((stream, layout)) = streams.get(&far.stream()) {
            malformed_blocks += write_run(recording, (run, far), stream, layout)?;
        }
    }
    drop(streams);
    let summary = writer.finish().map_err(|failure| RecordingError::Write(path.clone(), failure))?;
    Ok(Written { summary, malformed_blocks })
}

fn write_run(
    recording: &Recording,
    (run, far): (RunId, &FarRun),
    stream: &StreamWriter,
    layout: &Layout,
) -> Result<u64, RecordingError> {
    let mut malformed = 0;
    let Some(archive) = recording.archives.get(&run) else { return Ok(0) };
    for (measured, offset) in archive.clocks().map_err(RecordingError::Disk)? {
        // On the sender's clock, like the stamps it is to be applied to. A file that takes no more says so below.
        let _ = stream.clock_offset(measured - offset, offset);
    }
    for number in archive.numbers() {
        let Some(bytes) = archive.block(number).map_err(RecordingError::Disk)? else { continue };
        let content = Block::parse(&bytes).and_then(|block| {
            let content = far.follower().reopen(&block)?;
            Ok((block.place().kind == BlockKind::Samples).then_some(content))
        });
        match content {
            Ok(None) => {}
            Ok(Some(content)) => malformed += write_block(recording, layout, &content, stream)?,
            Err(_) => malformed += 1,
        }
    }
    Ok(malformed)
}

/// Writes one block; returns how many were malformed.
fn write_block(
    recording: &Recording,
    layout: &Layout,
    content: &[u8],
    stream: &StreamWriter,
) -> Result<u64, RecordingError> {
    loop {
        match samples::record(layout, content, stream) {
            Ok(()) => return Ok(0),
            Err(Unwritten::Push(PushError::Backlogged)) => thread::sleep(BACKLOG_PAUSE),
            Err(Unwritten::Push(PushError::Failed(failure))) => {
                return Err(RecordingError::Write(recording.path.clone(), failure));
            }
            Err(Unwritten::Push(_) | Unwritten::Malformed) => return Ok(1),
        }
    }
}

const BACKLOG_PAUSE: Duration = Duration::from_millis(20);
