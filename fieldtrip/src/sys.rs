//! The differences between systems: local sockets, sends that do not wait, private files, and the user of the
//! peer program. No other file of this crate asks which system it runs on.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{files, local, sockets, users};
