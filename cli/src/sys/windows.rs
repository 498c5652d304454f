//! Windows 10 (version 2004) and newer.

pub(crate) mod commands;
pub(crate) mod console;
pub(crate) mod files;
pub(crate) mod firewall;
#[path = "native_keyring.rs"]
pub(crate) mod keyring;
pub(crate) mod library;
pub(crate) mod programs;
pub(crate) mod sockets;
mod terminal;

pub(crate) use terminal::{HiddenInput, read_keys};
