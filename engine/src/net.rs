//! The only sockets and threads of the engine.

pub(crate) mod advertisement;
pub(crate) mod bell;
pub(crate) mod handshake;
pub(crate) mod hearing;
pub(crate) mod interfaces;
pub(crate) mod interrupt;
pub(crate) mod lab_call;
pub(crate) mod link;
pub(crate) mod listener;
#[cfg(target_os = "linux")]
pub(crate) mod local;
#[cfg(not(target_os = "linux"))]
#[path = "net/no_local.rs"]
pub(crate) mod local;
pub(crate) mod names;
pub(crate) mod probes;
pub(crate) mod request;
pub(crate) mod responder;
pub(crate) mod sealed_queries;
pub(crate) mod sockets;
pub(crate) mod strangers;
#[cfg(test)]
pub(crate) mod testing;
