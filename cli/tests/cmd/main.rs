//! The commands that need a network: on loopback, with ports and a session of their own per test.

#[cfg(unix)]
mod bridge;
mod demo;
#[cfg(unix)]
mod fake;
#[cfg(unix)]
mod forged;
#[cfg(unix)]
mod ft;
mod harness;
mod json;
mod look;
#[cfg(target_os = "linux")]
mod mse;
#[cfg(unix)]
mod others;
#[cfg(unix)]
mod play;
#[path = "../../../engine/tests/ports/mod.rs"]
mod ports;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod senders;
#[cfg(unix)]
mod tunnel;
#[cfg(unix)]
mod tunnel_lab;
#[cfg(unix)]
mod verdict;
mod watch;
