//! Scenarios, statistics and records that measure Schwann against its peers.
//!
//! A [`suite`] is a list of cells, each a [`scenario`] with a [`workload`]. A [`campaign`] runs every cell for
//! every subject (a library with liblsl's C ABI, or a raw socket) in fresh sender and receiver processes
//! ([`transfer`], [`worker`]), alternating between subjects, and keeps each run as a line of JSON ([`record`]).
//! [`report`] turns the records into ratios with their spread, using [`statistics`] that are tested against scipy.
//!
//! Rules that the code enforces: one clock for both ends; latency from the time when a sample was due; a
//! sequence number and a pattern in every sample decide what was delivered; the unit of replication is a process
//! restart; the opponent is also measured against itself, and no smaller effect is called one.
#![deny(unsafe_code)]

pub mod aead;
pub mod agent;
pub mod analysis;
pub mod campaign;
pub mod clock;
pub mod command;
pub mod ffi;
pub mod fieldtrip;
pub mod heap;
mod judge;
pub mod libcrypto;
pub mod libraries;
pub mod line;
mod mcu;
mod measure;
pub mod mse;
pub mod page;
pub mod payload;
pub mod record;
pub mod report;
pub mod scenario;
pub mod sealed;
pub mod statistics;
pub mod step;
pub mod suite;
pub mod transfer;
pub mod worker;
pub mod workload;

/// Turns this process into a measuring process if it was started as one, and then does not return.
///
/// Call it first in `main` of every program that runs suites.
pub fn run_if_worker() {
    aead::workers::run_if_worker();
    mse::run_if_worker();
    sealed::run_if_worker();
    worker::run_if_worker();
}
