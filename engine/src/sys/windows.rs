//! Windows 10 (version 2004) and newer.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod firewall;
#[path = "native_keyring.rs"]
pub(crate) mod keyring;
pub(crate) mod process;
pub(crate) mod sockets;
