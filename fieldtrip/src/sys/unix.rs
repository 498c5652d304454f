//! Linux, macOS and the BSDs.

pub(crate) mod files;
pub(crate) mod local;
pub(crate) mod sockets;
pub(crate) mod users;
