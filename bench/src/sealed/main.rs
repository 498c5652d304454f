//! Measures what sealing costs: see `bench/src/sealed/mod.rs`.

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts, for the size of a session.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    schwann_bench::run_if_worker();
    schwann_bench::sealed::run(std::env::args_os().skip(1))
}
