//! What differs between systems: sockets, private files, clocks, and what a process may. The rest of the engine
//! does not ask where it runs. Only the choice of the local transport, which Linux alone has, is in `net`.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{clock, files, firewall, keyring, process, sockets};

pub(crate) mod poll;
#[cfg(any(windows, target_vendor = "apple"))]
mod polled_receive;
