//! Windows 10 (version 2004) and newer.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod firewall;
pub(crate) mod process;
pub(crate) mod sockets;
