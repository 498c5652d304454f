//! `schwann ft`: the FieldTrip buffer.

mod door;
mod dump;
mod events;
mod generate;
mod get;
mod mirror;
mod place;
mod playback;
mod publish;
mod put;
mod record;
mod serve;
mod tunnel;
mod wait;

use crate::exit::Outcome;

/// Serve, fill, read and record a FieldTrip buffer, and join it to live streams.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft serve                                   a buffer at buffer://localhost:1972
  schwann ft mirror BioSemi                          a live stream as that buffer
  schwann ft publish buffer://localhost:1972         a buffer as a live stream
  schwann ft tunnel join meg                         the buffer that another computer shares, sealed

An ADDRESS is buffer://HOST:PORT, HOST, HOST:PORT, or the path of a UNIX socket with a slash in it. The protocol has
no passwords and no encryption. Serve only this computer; use a tunnel for others.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Dump(dump::Arguments),
    Events(events::Arguments),
    Generate(generate::Arguments),
    Get(get::Arguments),
    Mirror(mirror::Arguments),
    Playback(playback::Arguments),
    Publish(publish::Arguments),
    Put(put::Arguments),
    Record(record::Arguments),
    Serve(serve::Arguments),
    Tunnel(tunnel::Arguments),
    Wait(wait::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Dump(arguments) => dump::run(arguments),
        Command::Events(arguments) => events::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Get(arguments) => get::run(arguments),
        Command::Mirror(arguments) => mirror::run(arguments),
        Command::Playback(arguments) => playback::run(arguments),
        Command::Publish(arguments) => publish::run(arguments),
        Command::Put(arguments) => put::run(arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Tunnel(arguments) => tunnel::run(arguments),
        Command::Wait(arguments) => wait::run(arguments),
    }
}
