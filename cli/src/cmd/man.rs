//! `schwann man`: the manual, from the same words as `--help`.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::exit::{Exit, Outcome, Problem};

/// Print the manual page, or write one per command into a folder.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann man | man -l -
  schwann man --into /usr/local/share/man/man1")]
pub(crate) struct Arguments {
    /// Write schwann.1 and a page per command here.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// Prints or writes the manual.
pub(crate) fn run(arguments: &Arguments, program: clap::Command) -> Outcome {
    match &arguments.into {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(program).render(&mut page)?;
            io::stdout().write_all(&page)?;
        }
        Some(folder) => {
            fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(program, folder))
                .map_err(|error| Problem::with(folder.display(), error))?;
        }
    }
    Ok(Exit::Good)
}
