//! XDF recordings: crash-safe writer, reader, repair.
//!
//! XDF is the file format of LabRecorder: chunks, each with its length, in the order in which they were
//! recorded. This crate writes it so that a crash costs less than a second. It reads it so that no damaged
//! byte costs more than its chunk. It says what is wrong with a file.
//!
//! ```text
//! Writer ── StreamWriter::push ──► memory ──► one thread writes whole chunks ──► one thread syncs
//! Reader ── next ──► Event::{FileHeader, StreamHeader, Samples, ClockOffset, Boundary, StreamFooter, Damage}
//!    ├─ load    everything in memory, clocks synchronised, jitter removed (as pyxdf does)
//!    ├─ survey  what is in it: counts, rates, gaps, clock quality, damage
//!    ├─ repair  a new file with every whole sample of a damaged one
//!    └─ IndexedRecording  any part of a recording at once, and its peaks for a picture
//! ```
//!
//! The format is described in docs/spec/xdf.md. A recording may be compressed (`.xdfz`) or sealed (`.xdf.age`): [`Location`]
//! opens either. This crate does not record from the network.
#![forbid(unsafe_code)]

mod checksum;
mod clock;
mod header;
mod histogram;
mod index;
mod jitter;
mod load;
mod reader;
mod repair;
mod sealing;
mod source;
mod survey;
mod sys;
mod values;
mod wire;
mod writer;

pub use checksum::{
    Checksum, Comparison, Hash, Ledger, Piece, Proof, compare, moved_pieces, piece_hash, tree_head,
};
pub use clock::{ClockMap, ClockOffset};
pub use header::{HeaderError, StreamFooter, StreamHeader, root_child_text};
pub use histogram::Histogram;
pub use index::{Block, Entry, Index, IndexedRecording, Overview, Passage, Peaks, StreamIndex};
pub use load::{Clocks, Jitter, RecordedStream, Recording};
pub use reader::{Damage, DamageKind, Event, ReadError, Reader};
pub use repair::{Repair, RepairError, repair, repair_into};
pub use sealing::{Identities, KeyError, Recipients, Sealed};
pub use source::{Location, Source, Wrapping};
pub use survey::{
    ANOTHER_CLOCK, ClockQuality, ClockSegment, ClockStep, Drift, GAP_PERIODS, GAP_SECONDS, Gap, Grid,
    LONGEST_BLOCK, StampTiming, SteppedClock, StreamSurvey, Survey, is_time, uncrowd,
};
pub use sys::private_as;
pub use values::{Number, Values};
pub use wire::{BOUNDARY, Format, MAGIC, Tag};
pub use writer::{
    AddStreamError, CreateError, Failure, Health, Options, PushError, Readers, StreamProgress, StreamWriter,
    Summary, Writer, datetime, patiently,
};
