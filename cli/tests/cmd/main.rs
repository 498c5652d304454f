//! The commands that need a network: on loopback, with ports and a session of their own per test.
//!
//! Left out on Windows: `foreign`, whose files have line breaks in their names; `forged`, `limits` and `mse`, which limit what a
//! process may have; `others`, which runs programs as another user; `special`, which makes devices; `stalled`, which stops a
//! process and lets it go on.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the tests that are left out need more"))]

mod archive;
mod bridge;
mod certificate;
mod config;
mod control;
mod demo;
mod fake;
#[cfg(target_os = "linux")]
mod foreign;
#[cfg(target_os = "linux")]
mod forged;
mod ft;
mod harness;
mod json;
#[cfg(target_os = "linux")]
mod limits;
mod look;
#[cfg(target_os = "linux")]
mod mse;
#[cfg(unix)]
mod others;
mod play;
#[path = "../../../engine/tests/ports/mod.rs"]
mod ports;
mod record;
mod requests;
mod run;
mod senders;
mod served;
#[cfg(target_os = "linux")]
mod special;
#[cfg(unix)]
mod stalled;
mod tunnel;
mod tunnel_lab;
mod verdict;
mod watch;
