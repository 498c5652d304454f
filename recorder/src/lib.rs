//! Finds live streams, measures them, says whether they are well, and records them to XDF files.
//!
//! What `schwann`, the dashboard and other programs share, without a terminal: nothing here prints, and nothing reads
//! a command line. Every error is a type of its own that says in one sentence what happened.
//!
//! ```text
//!  Search ───────► Recorder ───────► FILE.xdf      streams as they come, one thread each
//!    │ found          │ RecordingStream
//!    ▼                ▼
//!  Probes ─ Probe ─► Evidence ──► judge ──► Verdict     whether a stream is well: decided here alone
//!             │
//!           Meter ─ Course, Arrivals                    rate, lag, gaps
//!
//!  Facts ──► FILE.cert.json ──► Certificate ──► compare     what was recorded, and whether a file is that
//!
//!  Survey of a FILE.xdf ──► findings ──► Finding        what speaks against a recorded stream
//!
//!  Control ─ Naming                                     a recorder that several hands drive; Remote: over TCP
//!
//!  Hidden ──► Unseen, Elsewhere                         streams that a search does not find, and why
//! ```
//!
//! Times are in seconds on the local clock, [`schwann::local_clock`], unless something else is said.
//!
//! ```no_run
//! use core::time::Duration;
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use schwann::Context;
//! use schwann_recorder::{Recorder, Search, Stop};
//!
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! let context = Arc::clone(Context::get());
//! let mut search = Search::start(Arc::clone(&context), &["EEG".parse()?], &[])?;
//! let mut recorder = Recorder::create(Path::new("session.xdf"), context)?;
//! let stop = Stop::default();
//! while !stop.wait(Duration::from_millis(100)) {
//!     let new = search.new_streams(&recorder.streams());
//!     search.forget(&recorder.admit(&new).gave_way);
//! #   break;
//! }
//! let finished = recorder.finish()?;
//! println!("{} streams, {} bytes", finished.streams.len(), finished.summary.file_bytes);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

extern crate alloc;

mod arrivals;
pub mod certificate;
mod chunk;
pub mod control;
mod course;
mod hidden;
mod meter;
mod naming;
mod nearest;
mod observed;
mod probe;
mod probes;
mod profile;
mod query;
mod recorded_info;
mod recorder;
pub mod remote;
pub mod sealing;
mod search;
mod sections;
mod space;
mod status;
mod stop;
mod time_service;
mod timing;
mod turns;
mod verdict;
pub mod words;

pub use arrivals::Arrivals;
pub use chunk::{Chunk, Item, Values};
pub use course::{Course, Gap, MeasuredRate, Step};
pub use hidden::{Elsewhere, Hidden, Unseen};
pub use meter::{Meter, Reading};
pub use naming::{Labels, NameError, Naming};
pub use observed::Observed;
pub use probe::{Probe, StreamState};
pub use probes::Probes;
pub use profile::RecordProfile;
pub use query::{Selector, SelectorError, all_or_any, any_of};
pub use recorded_info::recorded_info;
pub use recorder::{AddError, Admitted, BeginError, Finished, Inspect, Leaving, Recorder, may_be_sealed};
pub use search::{Missing, Search, Unmatched};
pub use sections::Sections;
pub use space::{Forecast, SHORT_BYTES};
pub use status::{Phase, RecordingStream, verdicts};
pub use stop::Stop;
pub use time_service::TimeService;
pub use timing::{Pace, StampCourse, Steps};
pub use verdict::{
    ClockSeen, Evidence, Finding, Limits, Mark, ProfileError, Reach, TimeBase, Trouble, Verdict, findings,
    findings_by, has_changed, judge, judge_stamps, troubles, twins, unjudged,
};
