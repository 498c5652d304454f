//! `schwann completions`: makes a shell complete our commands.

use std::io::{self, Write as _};

use crate::exit::{Exit, Outcome};

/// Print a script that makes your shell complete schwann's commands.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann completions bash > ~/.local/share/bash-completion/completions/schwann
  schwann completions zsh > \"${fpath[1]}/_schwann\"")]
pub(crate) struct Arguments {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments, mut program: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "schwann", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Exit::Good)
}
