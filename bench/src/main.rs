//! Measures Schwann against others: see `schwann-bench --help`.

use std::process::ExitCode;

use schwann_bench::heap::Counting;

/// Counts where the size of a session or of a connection is measured.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    schwann_bench::run_if_worker();
    schwann_bench::command::run(std::env::args_os().skip(1))
}
