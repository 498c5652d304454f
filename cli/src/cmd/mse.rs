//! `schwann mse`: obfuscation for BitTorrent, and what peers accept of it.

mod check;
mod proxy;
mod torrents;

use crate::exit::Outcome;

/// Obfuscate BitTorrent as other clients do: check a peer, or stand in for a client that cannot.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann mse check 192.0.2.7:6881 0123456789abcdef0123456789abcdef01234567
  schwann mse proxy --outward 127.0.0.1:1080

MSE is obfuscation: it hides the protocol but does not protect the content. `schwann mse COMMAND --help` says more.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Check(check::Arguments),
    Proxy(proxy::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Check(arguments) => check::run(arguments),
        Command::Proxy(arguments) => proxy::run(arguments),
    }
}

/// Reads an info hash, as clap wants it.
fn info_hash(text: &str) -> Result<schwann_mse::InfoHash, &'static str> {
    schwann_mse::InfoHash::parse(text).ok_or("an info hash is 40 or 64 hexadecimal digits")
}
