//! Plain streams over real sockets on loopback: one program, so that what they stand on is linked once.

mod consumers;
mod edges;
mod freshness;
mod golden;
#[cfg(target_os = "linux")]
mod local;
mod lost;
mod outlets;
mod pairs;
#[path = "../ports/mod.rs"]
mod ports;
mod streaming;
