//! `schwann ft bench`: the FieldTrip measurements, whose own command line this passes on.

use std::ffi::OsString;

use crate::exit::{Exit, Outcome, Problem};

/// Measure the buffer against raw memory and sockets, and against the original's way of talking.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  schwann ft bench --quick
  schwann ft bench --only 32x16 --only wake
  schwann ft bench --against buffer://localhost:1972     a server that runs already, the original for one

Exit code 0 if every promise that was measured is kept, 1 if not."
)]
pub(crate) struct Arguments {
    /// Options; --help prints them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    arguments: Vec<OsString>,
}

/// Measures.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let measured = schwann_bench::fieldtrip::run(arguments.arguments.iter().cloned());
    let all_met = measured.map_err(|error| {
        Problem::Failed(format!("{error}; `schwann ft bench --help` shows how it is used"))
    })?;
    Ok(if all_met { Exit::Good } else { Exit::Found })
}
