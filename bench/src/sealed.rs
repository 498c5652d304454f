//! What sealing costs: streams side by side, the handshake, the state of a connection, and constant time.

pub(crate) mod handshake;
pub(crate) mod lab;
mod link;
pub(crate) mod paired;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod suite;
pub(crate) mod timing;
