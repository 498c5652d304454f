//! Linux, Android, macOS, iOS and the BSDs.

#[cfg(not(target_vendor = "apple"))]
mod blocking_receive;
pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod firewall;
pub(crate) mod process;
pub(crate) mod sockets;
