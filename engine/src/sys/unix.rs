//! Linux, Android, macOS, iOS and the BSDs.

#[cfg(not(target_vendor = "apple"))]
mod blocking_receive;
pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod firewall;
#[cfg(target_os = "macos")]
#[path = "native_keyring.rs"]
pub(crate) mod keyring;
#[cfg(not(target_os = "macos"))]
pub(crate) mod keyring;
pub(crate) mod process;
pub(crate) mod sockets;
