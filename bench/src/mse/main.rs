//! Measures MSE: see `bench/src/mse/mod.rs`.

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts, for the scenario `memory`.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    schwann_bench::mse::run_if_worker();
    schwann_bench::mse::run(std::env::args().skip(1))
}
