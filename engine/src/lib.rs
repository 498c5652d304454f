//! Lab Streaming Layer outlets, inlets, resolver and clock.
//!
//! A program that measures makes an [`Outlet`] and pushes samples. Programs on the same network find it with
//! [`resolve`], make an [`Inlet`] and pull them. Both ends work with every other LSL program.
//!
//! Stamps are in seconds on the clock of the sending computer, [`local_clock`] there. An inlet says how far
//! that clock is from its own.
//!
//! ```no_run
//! use core::time::Duration;
//! use schwann::{ChannelFormat, Flush, Inlet, InletOptions, Outlet, OutletOptions, StreamInfo, resolve};
//!
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! // Two channels at 100 Hz. The source id lets inlets find the stream again after a restart.
//! let info = StreamInfo::new("Sine", "EEG", 2, 100.0, ChannelFormat::Float32, "my-device-1234")?;
//! let outlet = Outlet::new(&info, &OutletOptions::default())?;
//!
//! // Usually in another program, on another computer.
//! let found = resolve("type='EEG'", 1, Duration::from_secs(5))?;
//! let inlet = Inlet::new(&found[0], &InletOptions::default())?;
//! inlet.open_stream(5.0)?;
//!
//! outlet.push_sample(&[0.5_f32, -0.5], 0.0, Flush::Now)?;
//! for sample in inlet.samples::<f32>() {
//!     let sample = sample?;
//!     println!("{:.6} {:?}", sample.stamp, sample.values);
//! #   break;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/rust/` has the same as programs, and more: markers, metadata, sealed streams, a recording.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod clock;
mod codec;
pub mod config;
mod context;
mod door;
mod environment;
mod error;
pub mod inlet;
mod lately;
pub mod log;
mod net;
pub mod outlet;
mod peer_address;
mod process;
pub mod resolver;
pub mod security;
mod sys;
mod time;

pub use crate::{
    config::Config,
    context::{
        AlreadyLoaded, Context, load_report, set_config_content, set_config_filename, start_security_log,
    },
    door::{Door, Transport},
    time::local_clock,
};

pub use crate::{
    error::Error,
    inlet::{Inlet, InletOptions, before_first_wait},
    outlet::{Flush, Outlet, OutletOptions},
    process::{Maker, note_fork, number_processes},
    resolver::ResolveError,
};
pub use schwann_proto::{
    stream::{BufferUnit, ChannelFormat, FOREVER, PROTOCOL_VERSION, TRANSPORT_SYNC_BLOCKING},
    stream_info::StreamInfo,
    wire::{
        sample::Value,
        xml::{Document, NodeId},
    },
};

/// What this computer is called, as the descriptions of its streams say.
pub fn host_name() -> String {
    String::from_utf8_lossy(&sys::sockets::host_name()).into_owned()
}

/// The program that manages this computer's firewall, `ufw` or `firewalld`, if an ordinary user sees it switched on.
pub fn firewall_manager() -> Option<&'static str> {
    sys::firewall::manager()
}

/// Searches streams of the session that fulfil `predicate`, such as `type='EEG' and channel_count > 8`, in the
/// process's context.
///
/// Returns when `minimum` streams are found; 0 uses the whole `timeout`. [`resolver`] has more ways to search.
/// - Shape: by ascending UID; may be more than `minimum`, and fewer when the time is over.
/// - Errors: [`ResolveError`].
/// - Source: equals liblsl `lsl_resolve_bypred`.
pub fn resolve(
    predicate: &str,
    minimum: usize,
    timeout: core::time::Duration,
) -> Result<Vec<StreamInfo>, ResolveError> {
    resolver::resolve_bypred(Context::get(), predicate, minimum, timeout)
}
