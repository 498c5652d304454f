//! The program `schwann`: see, record, replay and check live streams.
//!
//! A command is one file in `cmd/`. It has `Arguments` that clap parses, with help and examples, and a `run`. That
//! returns an [`Exit`](exit::Exit) or a [`Problem`](exit::Problem). To add one, add the file, its line in `cmd.rs`,
//! a variant of [`Command`] and an arm of [`run`].
#![forbid(unsafe_code)]

extern crate alloc;

/// As the standard library's, but what comes from elsewhere does not steer the terminal.
macro_rules! eprintln {
    () => { $crate::terminal::complain(format_args!("")) };
    ($($message:tt)*) => { $crate::terminal::complain(format_args!($($message)*)) };
}

mod beside;
mod cmd;
mod config_file;
mod doctor;
mod exit;
mod help;
#[cfg_attr(not(feature = "hub"), path = "hubs/none.rs")]
mod hubs;
mod lab;
mod signal;
mod stop;
mod synced;
mod sys;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use exit::Outcome;

fn main() -> ExitCode {
    let matches = help::rewrapped(Program::command()).get_matches();
    let program = Program::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Some(word) = sys::programs::old_system() {
        eprintln!("schwann: {word}");
    }
    sys::programs::outlive_large_files();
    // A program that `schwann run` becomes has the limits of its user.
    if !matches!(program.command, Some(Command::Run(_))) {
        sys::programs::raise_open_files();
    }
    exit::conclude(run(program))
}

fn run(program: Program) -> Outcome {
    let Some(command) = program.command else {
        return cmd::look::run(&program.look);
    };
    match command {
        Command::Completions(arguments) => cmd::completions::run(&arguments, Program::command()),
        Command::Config(arguments) => cmd::config::run(&arguments),
        Command::Dash(arguments) => cmd::dash::run(&arguments),
        Command::Doctor(arguments) => cmd::doctor::run(&arguments),
        Command::Demo(arguments) => cmd::demo::run(&arguments),
        Command::Export(arguments) => cmd::export::run(&arguments),
        Command::Fake(arguments) => cmd::fake::run(&arguments),
        Command::Ft(arguments) => cmd::ft::run(&arguments),
        Command::Gateway(arguments) => cmd::gateway::run(&arguments),
        #[cfg(feature = "hub")]
        Command::Hub(arguments) => cmd::hub::run(&arguments),
        Command::Info(arguments) => cmd::info::run(&arguments),
        Command::Keys(arguments) => cmd::keys::run(&arguments),
        Command::Man(arguments) => cmd::man::run(&arguments, help::rewrapped(Program::command())),
        Command::Mse(arguments) => cmd::mse::run(&arguments),
        Command::Peers(arguments) => cmd::peers::run(&arguments),
        Command::Play(arguments) => cmd::play::run(&arguments),
        Command::Record(arguments) => cmd::record::run(&arguments),
        #[cfg(feature = "hub")]
        Command::Relay(arguments) => cmd::relay::run(&arguments),
        Command::Repair(arguments) => cmd::repair::run(&arguments),
        Command::Run(arguments) => cmd::run::run(&arguments),
        Command::Sign(arguments) => cmd::sign::run(&arguments),
        Command::Swap(arguments) => cmd::swap::run(&arguments),
        Command::Verify(arguments) => cmd::verify::run(&arguments),
        Command::Watch(arguments) => cmd::watch::run(&arguments),
    }
}

/// See, record, replay and check live streams of the Lab Streaming Layer.
///
/// Without a command: every stream there is, and whether it is well right now.
#[derive(Debug, Parser)]
#[command(name = "schwann", version, disable_help_subcommand = true, after_help = exit::HELP)]
#[command(args_conflicts_with_subcommands = true)]
struct Program {
    #[command(flatten)]
    look: cmd::look::Arguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Completions(cmd::completions::Arguments),
    Config(cmd::config::Arguments),
    Dash(cmd::dash::Arguments),
    Doctor(cmd::doctor::Arguments),
    Demo(cmd::demo::Arguments),
    Export(cmd::export::Arguments),
    Fake(cmd::fake::Arguments),
    Ft(cmd::ft::Arguments),
    Gateway(cmd::gateway::Arguments),
    #[cfg(feature = "hub")]
    Hub(cmd::hub::Arguments),
    Info(cmd::info::Arguments),
    Keys(cmd::keys::Arguments),
    Man(cmd::man::Arguments),
    Mse(cmd::mse::Arguments),
    Peers(cmd::peers::Arguments),
    Play(cmd::play::Arguments),
    Record(Box<cmd::record::Arguments>),
    #[cfg(feature = "hub")]
    Relay(cmd::relay::Arguments),
    Repair(cmd::repair::Arguments),
    Run(cmd::run::Arguments),
    Sign(cmd::sign::Arguments),
    Swap(cmd::swap::Arguments),
    Verify(cmd::verify::Arguments),
    Watch(cmd::watch::Arguments),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Program;

    #[test]
    fn the_commands_are_well_described() {
        Program::command().debug_assert();
    }
}
