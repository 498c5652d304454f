//! The recording itself, opened or compressed: the same bytes, so that its certificate holds.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use schwann_xdf::Location;

use crate::Progress;
use crate::error::{ExportError, writing};
use crate::output::{BUFFER_BYTES, Outputs};
use crate::plan::Plan;
use crate::report::Report;

/// What is around the copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Packing {
    /// Nothing: `.xdf`.
    None,
    /// Gzip: `.xdfz`.
    Gzip,
}

/// Writes the copy.
///
/// - Errors: [`ExportError::Damaged`]: what does not open cannot be copied.
pub(crate) fn write(
    packing: Packing,
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    if plan.damage_count > 0 {
        return Err(ExportError::Damaged);
    }
    let target = outputs.path("", if packing == Packing::None { "xdf" } else { "xdfz" });
    let mut source = recording.open()?;
    let all = source.seek(io::SeekFrom::End(0)).map_err(writing(recording.path()))?;
    source.rewind().map_err(writing(recording.path()))?;
    let file = outputs.create_plain(&target)?;
    put(packing, source, all, (file, &target), progress)?;
    // Its stamps are those of the recording.
    plan.streams.iter().for_each(|stream| report.holds(&target, stream, 0.0));
    Ok(())
}

/// Copies a source of `all` bytes into a file of this path.
pub(crate) fn put(
    packing: Packing,
    source: impl Read,
    all: u64,
    (file, target): (File, &Path),
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    let mut source = Shown { source, done: 0, all, progress, stopped: false };
    let copied = copy(packing, &mut source, file);
    if source.stopped { Err(ExportError::Stopped) } else { copied.map_err(writing(target)) }
}

fn copy(packing: Packing, source: &mut impl Read, file: File) -> io::Result<()> {
    let mut source = io::BufReader::with_capacity(BUFFER_BYTES, source);
    let file = match packing {
        Packing::None => {
            let mut file = file;
            io::copy(&mut source, &mut file)?;
            file
        }
        Packing::Gzip => {
            let mut packed = GzEncoder::new(io::BufWriter::new(file), Compression::default());
            io::copy(&mut source, &mut packed)?;
            packed.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?
        }
    };
    file.sync_all()
}

/// A source that says how far it was read, and ends where it shall not go on.
struct Shown<'a, 'b, R> {
    source: R,
    done: u64,
    all: u64,
    progress: &'a mut Progress<'b>,
    stopped: bool,
}

impl<R: Read> Read for Shown<'_, '_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(bytes)?;
        self.done += count as u64;
        self.stopped = (self.progress)(self.done, self.all).is_break();
        if self.stopped { Err(io::Error::other("stopped")) } else { Ok(count) }
    }
}
