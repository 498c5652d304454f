//! `schwann ft tunnel`: a buffer on another computer, through a sealed session.
//!
//! ```text
//!  programs ── plain, this computer alone ── join ══ sealed ══ share ── plain, that computer alone ── buffer
//! ```
//!
//! Before working here, read fieldtrip §19.

mod crowd;
mod hello;
mod inbox;
mod join;
mod keys;
mod plain;
mod relay;
mod sealed;
mod shake;
mod share;
mod warden;

use core::time::Duration;

use crate::exit::Outcome;

/// Use a buffer on another computer through a sealed session; nothing leaves either computer in the clear.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft tunnel share                   at the computer of the buffer
  schwann ft tunnel join meg                at the other: buffer://localhost:1972 is meg's buffer

Both computers need a key of the same lab: see `schwann keys --help`. Any number of programs and computers may join.
A device whose certificate lacks the role \"publish\" can only read.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    end: End,
}

#[derive(clap::Subcommand, Debug)]
enum End {
    Join(join::Arguments),
    Share(share::Arguments),
}

/// Runs one end of a tunnel.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.end {
        End::Join(arguments) => join::run(arguments),
        End::Share(arguments) => share::run(arguments),
    }
}

/// The usual port of sealed buffers.
const PORT: u16 = 11972;
/// How long to leave descriptors time to become free.
const PAUSE: Duration = Duration::from_millis(10);
/// The handshake's state lies on the stack.
const HANDSHAKE_STACK_BYTES: usize = 512 << 10;
