//! `schwann bench`: the measurements, whose own command line this passes on.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::exit::{Exit, Outcome};

/// Measure against the real liblsl, a raw socket and others; `schwann bench --help` tells all.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  schwann bench lsl latency --quick
  schwann bench all --minutes 10
  schwann bench lsl network --quick
  schwann bench agent                                     on another computer; prints what to run here
  schwann bench report bench-results/all-1790000000"
)]
pub(crate) struct Arguments {
    /// A suite and its options; none prints what there is.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SUITE")]
    arguments: Vec<OsString>,
}

/// Measures, or makes a report.
pub(crate) fn run(arguments: Arguments) -> Outcome {
    let ended = schwann_bench::command::run(arguments.arguments);
    Ok(if ended == ExitCode::SUCCESS { Exit::Good } else { Exit::Found })
}
