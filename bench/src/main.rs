//! Scenarios, statistics and records that measure Schwann against its peers.
//!
//! A [`suite`] is a list of cells, each a [`scenario`] with a [`workload`]. A [`campaign`] runs every cell for
//! every subject: a library with liblsl's C ABI, or a raw socket. Sender and receiver are fresh processes
//! ([`transfer`], [`worker`]). It alternates between subjects, and keeps the results of each run as lines
//! ([`record`]). [`analysis`] turns records into ratios with their spread, using [`statistics`] that are tested
//! against scipy. [`report`] writes the tables, [`page`] the published page.
//!
//! The code enforces these rules. One clock serves both ends. Latency counts from the time when a sample was
//! due. A sequence number and a pattern in every sample decide what was delivered. The unit of replication is a
//! process restart. The opponent is also measured against itself, and no smaller effect is called one.
#![deny(unsafe_code)]

use std::process::ExitCode;

mod aead;
mod analysis;
mod campaign;
mod clock;
mod command;
mod ffi;
mod fieldtrip;
mod gateway;
mod heap;
mod libraries;
mod line;
mod mcu;
mod measure;
mod mse;
mod other;
mod page;
mod payload;
mod reading;
mod record;
mod report;
mod scenario;
mod scripts;
mod sealed;
mod sensitivity;
mod statistics;
mod step;
mod suite;
mod transfer;
mod worker;
mod workload;

/// Why something could not be done, in words.
type Reason = Box<dyn core::error::Error + Send + Sync>;

/// Counts where the size of a session or of a connection is measured.
#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

fn main() -> ExitCode {
    worker::run_if_worker();
    command::run(std::env::args_os().skip(1))
}
