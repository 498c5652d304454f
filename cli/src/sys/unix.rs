//! Linux, macOS and the BSDs.

#[cfg(target_os = "macos")]
#[path = "unix/commands_macos.rs"]
pub(crate) mod commands;
#[cfg(not(target_os = "macos"))]
pub(crate) mod commands;
pub(crate) mod console;
pub(crate) mod files;
pub(crate) mod firewall;
#[cfg(target_os = "macos")]
#[path = "native_keyring.rs"]
pub(crate) mod keyring;
#[cfg(not(target_os = "macos"))]
pub(crate) mod keyring;
pub(crate) mod library;
pub(crate) mod programs;
pub(crate) mod sockets;
mod terminal;

pub(crate) use terminal::{HiddenInput, read_keys};
