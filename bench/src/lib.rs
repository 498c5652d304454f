//! Scenarios, statistics and records that measure Schwann against its peers.
//!
//! A [`suite`] is a list of cells, each a [`scenario`] with a [`workload`]. A [`campaign`] runs every cell for
//! every subject (a library with liblsl's C ABI, or a raw socket) in fresh sender and receiver processes
//! ([`transfer`], [`worker`]), alternating between subjects, and keeps what each run gave as lines ([`record`]).
//! [`analysis`] turns records into ratios with their spread, using [`statistics`] that are tested against scipy; [`report`]
//! writes the tables, [`page`] the published page.
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
pub mod libcrypto;
pub mod libraries;
pub mod line;
mod mcu;
mod measure;
pub mod mse;
pub mod page;
pub mod payload;
pub mod reading;
pub mod record;
pub mod report;
pub mod scenario;
pub mod sealed;
mod sensitivity;
pub mod statistics;
pub mod step;
pub mod suite;
pub mod transfer;
pub mod worker;
pub mod workload;

pub use worker::run_if_worker;

/// Why something could not be done, in words.
pub type Reason = Box<dyn core::error::Error + Send + Sync>;
