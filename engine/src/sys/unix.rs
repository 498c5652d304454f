//! Linux, Android, macOS, iOS and the BSDs.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod process;
pub(crate) mod sockets;
