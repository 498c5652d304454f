//! Measures Schwann against others: see `schwann-bench --help`.

use std::ffi::OsString;
use std::process::ExitCode;

use schwann_bench::heap::Counting;
use schwann_bench::{aead, command, fieldtrip, mse, sealed};

/// Counts where the size of a session or of a connection is measured.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    schwann_bench::run_if_worker();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().take(2).filter_map(|word| word.to_str()).collect();
    let rest = || arguments.iter().skip(2).cloned();
    let text = || rest().map(|word| word.to_string_lossy().into_owned());
    match words.as_slice() {
        ["aead", "table"] => aead::print::run(text()),
        ["fieldtrip", "table"] => match fieldtrip::run(rest()) {
            // A promise that is not met is printed as such; it is no error of the measurement.
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("schwann-bench fieldtrip table: {error}");
                ExitCode::FAILURE
            }
        },
        ["mse", "table"] => mse::run(text()),
        ["sealed", "handshake" | "latency" | "paired" | "state" | "timing"] => {
            sealed::run(arguments.iter().skip(1).cloned())
        }
        _ => command::run(arguments),
    }
}
