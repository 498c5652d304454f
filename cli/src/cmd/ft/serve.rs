//! `schwann ft serve`: FieldTrip buffers for programs of others.

use core::time::Duration;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schwann_fieldtrip::recording::{Recording, record_buffer};
use schwann_fieldtrip::{Access, Address, Buffer, Capacity, Limits, Policy, Server, Tap};
use schwann_recorder::Stop;

use crate::exit::{Exit, Outcome, Problem};
use crate::stop;

/// Serve FieldTrip buffers, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft serve                                  buffer://localhost:1972
  schwann ft serve localhost:1972 localhost:1973    two buffers in one program
  schwann ft serve /tmp/ft                          a UNIX socket
  schwann ft serve --record session1                all that clients put goes to disk, too

Each address is printed on a line of its own once it is served; port 0 takes a free port. The protocol has no
passwords and no encryption. On an address that others reach, any program can write unless you give --read-only.")]
pub(crate) struct Arguments {
    /// Where to listen; each address has its own buffer.
    #[arg(value_name = "ADDRESS", default_values_t = [Address::default()])]
    addresses: Vec<Address>,
    /// Refuse to change the buffer: clients may only read.
    #[arg(long)]
    read_only: bool,
    /// Samples kept, up to 256 channels.
    #[arg(long, value_name = "N", default_value_t = Capacity::default().samples, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Events kept.
    #[arg(long, value_name = "N", default_value_t = Capacity::default().events)]
    events: usize,
    /// Clients at a time; more are refused.
    #[arg(long, value_name = "N", default_value_t = Limits::default().peers)]
    clients: u32,
    /// Record everything to this folder; needs a single address.
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
}

/// Serves.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.record.is_some() && arguments.addresses.len() != 1 {
        eprintln!("schwann: --record needs a single address");
        return Ok(Exit::Usage);
    }
    let stop = stop::on_signals()?;
    let capacity = Capacity { samples: arguments.samples, events: arguments.events, ..Capacity::default() };
    let access = if arguments.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let limits = Limits { peers: arguments.clients, ..Limits::default() };
    let policy = Policy { access, limits, ..Policy::default() };
    let mut tap = None;
    let mut servers = Vec::new();
    for address in &arguments.addresses {
        let buffer = Buffer::new(capacity);
        // Before the first client can connect, so that nothing is missed.
        tap = arguments.record.as_ref().map(|folder| (buffer.tap(RECORDER_BYTES), folder));
        let server = Server::start(address, buffer, policy.clone());
        servers.push(server.map_err(|error| Problem::with(address, error))?);
    }
    for server in &servers {
        writeln!(io::stdout(), "{}", server.address())?;
    }
    match tap {
        None => while !stop.wait(Duration::from_secs(3600)) {},
        Some((tap, folder)) => record(&tap, folder, &stop)?,
    }
    Ok(Exit::Good)
}

/// Records what clients put, until Ctrl-C.
fn record(tap: &Tap, folder: &Path, stop: &Stop) -> Result<(), Problem> {
    let wrong = |error| Problem::Failed(format!("{error}"));
    let mut recording = Recording::create(folder).map_err(wrong)?;
    record_buffer(tap, &mut recording, stop.flag()).map_err(wrong)?;
    recording.finish().map_err(wrong)
}

/// What a slow disk may leave waiting.
const RECORDER_BYTES: usize = 1 << 30;
