//! The commands that need a network: on loopback, with ports and a session of their own per test.
#![cfg_attr(
    not(unix),
    allow(dead_code, reason = "tests that need signals or UNIX sockets are left out there")
)]

#[cfg(unix)]
mod archive;
#[cfg(unix)]
mod bridge;
#[cfg(unix)]
mod certificate;
#[cfg(unix)]
mod config;
#[cfg(unix)]
mod control;
mod demo;
#[cfg(unix)]
mod fake;
#[cfg(target_os = "linux")]
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
mod run;
mod senders;
mod served;
#[cfg(unix)]
mod stalled;
mod tunnel;
mod tunnel_lab;
#[cfg(unix)]
mod verdict;
mod watch;
