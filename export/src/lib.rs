//! Recordings in the formats of other programs: BrainVision, EDF+, BDF+, NWB, MCAP, CSV, NumPy, and BIDS datasets.
//!
//! ```text
//! FILE.xdf ── Plan ──► what is in it: rates, clocks, ranges, events       first pass, no samples kept
//!     └────── pass ──► brainvision, edf, nwb, mcap, csv, npz ──► files    second pass, some pieces in memory
//!                                   └── bids: a dataset around them
//! ```
//!
//! Stamps are placed on the recorder's clock by the measured offsets. In streams with a regular rate they are evened out
//! between gaps. Formats without stamps get a sample for each period; gaps are filled and marked `BAD_gap`. What a format cannot
//! hold exactly is in the [`Report`], with its size.
//!
//! ```no_run
//! use core::ops::ControlFlow;
//! use std::path::Path;
//!
//! use schwann_export::{Format, Options, export};
//!
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! let options = Options::new(Format::BrainVision);
//! let report = export(Path::new("session.xdf"), &options, &mut |_, _| ControlFlow::Continue(()))?;
//! for file in &report.files {
//!     println!("{}: {} samples", file.path.display(), file.samples);
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod bids;
mod brainvision;
mod channel;
mod copy;
mod csv;
mod edf;
mod error;
mod grid;
mod messages;
mod npz;
mod number;
mod nwb;
mod output;
mod pass;
mod plan;
mod report;
mod resample;
mod signals;
mod sys;
mod timing;

use core::ops::ControlFlow;
use std::path::PathBuf;

pub use bids::{Entities, bids};
pub use csv::put_csv_field;
pub use error::ExportError;
pub use report::{Left, Report, Resampled, Written};

use schwann_xdf::Location;

use copy::Packing;
use output::{Outputs, base, folder_of};
use plan::{Plan, Wanted};
use resample::ResampledCopy;

/// A format of files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// BrainVision Core Data Format 1.0: `.vhdr`, `.vmrk`, `.eeg`.
    BrainVision,
    /// European Data Format with annotations (EDF+C), 16 bits a value.
    Edf,
    /// BioSemi's variant of it (BDF+C), 24 bits a value.
    Bdf,
    /// Neurodata Without Borders 2.
    Nwb,
    /// MCAP, a message per sample.
    Mcap,
    /// Comma-separated values, a file per stream.
    Csv,
    /// NumPy arrays in one archive.
    Npz,
    /// The recording itself, neither sealed nor compressed.
    Xdf,
    /// The recording itself, compressed by gzip.
    Xdfz,
}

impl Format {
    /// Whether it has events beside its streams. The others have a stream of events like any other, of any length.
    const fn has_events(self) -> bool {
        matches!(self, Self::BrainVision | Self::Edf | Self::Bdf | Self::Nwb)
    }
}

/// How to export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The format.
    pub format: Format,
    /// The file to write, the beginning of the names of several, or a folder that exists for files with the recording's name.
    /// Nothing is beside the recording.
    pub output: Option<PathBuf>,
    /// Streams whose names or types these are; all if there are none. A copy of the recording has all in any case.
    pub streams: Vec<String>,
    /// The rate that streams with one get, in hertz; nothing keeps theirs.
    pub resample: Option<f64>,
}

impl Options {
    /// All streams, beside the recording.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, output: None, streams: Vec::new(), resample: None }
    }
}

/// Told how far it has come: bytes done, and bytes in all. It says whether to go on.
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// Exports a recording. No file that exists is replaced.
///
/// - Errors: [`ExportError`], also if `progress` says so; no file is left behind then.
pub fn export(
    recording: impl Into<Location>,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Report, ExportError> {
    let recording = &recording.into();
    let is_copy = matches!(options.format, Format::Xdf | Format::Xdfz);
    let wanted = Wanted {
        // A copy has all streams, and says so.
        names: if is_copy { &[] } else { &options.streams },
        ranges: matches!(options.format, Format::Edf | Format::Bdf),
        events: options.format.has_events(),
    };
    let plan = Plan::make(recording, &wanted, progress)?;
    let base = base(options.output.as_deref(), recording.path());
    let mut outputs = Outputs::new(&base, recording.path());
    let mut report = Report::of(&plan);
    let copy = options
        .resample
        .map(|rate| ResampledCopy::make(recording, &plan, rate, &wanted, folder_of(&base), progress));
    let copy = copy.transpose()?;
    let (recording, plan) = copy.as_ref().map_or((recording, &plan), |copy| (&copy.location, &copy.plan));
    if let Some(copy) = &copy {
        copy.tell(&mut report);
    }
    write(options.format, recording, plan, &mut outputs, &mut report, progress)?;
    report.made = outputs.keep().to_vec();
    Ok(report)
}

fn write(
    format: Format,
    recording: &Location,
    plan: &Plan,
    outputs: &mut Outputs,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), ExportError> {
    match format {
        Format::BrainVision => brainvision::write(recording, plan, outputs, report, progress),
        Format::Edf => edf::write(edf::EDF, recording, plan, outputs, report, progress),
        Format::Bdf => edf::write(edf::BDF, recording, plan, outputs, report, progress),
        Format::Nwb => nwb::write(recording, plan, outputs, report, progress),
        Format::Mcap => messages::write(recording, plan, outputs, report, progress),
        Format::Csv => csv::write(recording, plan, outputs, report, progress),
        Format::Npz => npz::write(recording, plan, outputs, report, progress),
        Format::Xdf => copy::write(Packing::None, recording, plan, outputs, report, progress),
        Format::Xdfz => copy::write(Packing::Gzip, recording, plan, outputs, report, progress),
    }
}
