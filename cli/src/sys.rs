//! What differs between systems: consoles, the library's names, folders, commands that a person is told to run, and the firewall.
//! No other file of this crate asks which system it runs on.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{
    HiddenInput, commands, console, files, firewall, keyring, library, programs, read_keys, sockets,
};
