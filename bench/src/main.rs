//! Measures liblsl-compatible libraries: see `lsl-bench --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    schwann_bench::run_if_worker();
    schwann_bench::command::run(std::env::args_os().skip(1))
}
