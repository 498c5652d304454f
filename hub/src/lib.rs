//! Streams beyond one network: through a hub (NATS JetStream) that need not be trusted.
//!
//! ```text
//!  LSL outlet ──► Edge ──► Journal ──► Link ─┄ hub ┄─ Link ──► Far ──► Inbound    LSL outlets again
//!   any program    seals    on disk    NATS            NATS     opens   Recording  XDF file, receipts
//! ```
//!
//! * [`Outbound`] finds streams and runs an [`Edge`] for each.
//! * [`Far`] follows what a hub knows; [`Inbound`] makes outlets of it, [`Recording`] a file.
//! * [`Remote`] looks at what goes through a hub, without receiving it.
//! * [`server`] writes the configuration of a hub and runs `nats-server`.
//!
//! What is sealed, numbered and checked, and how, is `schwann_relay`'s: this crate brings it together with sockets, disks and
//! clocks. The client of NATS and its runtime live in threads of their own, one for each [`Link`].
//!
//! Before working here, read sections 8 to 12 of `docs/spec/relay.md`.
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod address;
mod edge;
mod far;
mod history;
mod inbound;
mod journal;
mod link;
mod outbound;
mod recording;
mod refused;
mod remarks;
mod remembered;
mod remote;
mod samples;
pub mod server;
mod sys;
mod wall;
mod wrapping;

pub use access::{Access, AccessError};
pub use address::{Address, AddressError, Fingerprint};
pub use edge::{BeginError, Edge, EdgeStatus, Settings, is_relayed, read_statuses};
pub use far::{ClockBound, Far, FarRun, News, Wanted};
pub use history::{History, UnknownHistory};
pub use inbound::Inbound;
pub use link::{Link, Problem};
pub use outbound::Outbound;
pub use recording::{Finished, RecordedRun, RecordedStream, Recording, RecordingError, RunEnd, Unwritten};
pub use remembered::{RememberedError, remembered};
pub use remote::{Remote, RemoteState, RemoteStream};
/// What is said of blocks: which there are, and how many still have to be handed over.
pub use schwann_relay::{Backlog, Range, Ranges};
