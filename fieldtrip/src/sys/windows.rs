//! Windows 10 and newer.

pub(crate) mod files;
pub(crate) mod local;
pub(crate) mod sockets;
pub(crate) mod users;
