//! What Linux alone tells and takes.

pub(crate) mod sockets;
pub(crate) mod users;
