//! `schwann mse proxy`: MSE for a client that has none.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use schwann_mse::InfoHash;
use schwann_mse::net::{Acceptor, Gate};
use schwann_mse::policy::Policy;
use schwann_mse::proxy::{Carry, Event, Inward, Outward, serve};

use super::torrents::Torrents;
use crate::exit::{Exit, Outcome, Problem};
use crate::stop;

/// Add MSE to a BitTorrent client: a SOCKS5 proxy for outgoing connections, a relay for incoming ones.
#[derive(clap::Args, Debug)]
#[command(
    group = clap::ArgGroup::new("known").multiple(true).args(["torrents", "torrents_file"]),
    after_help = "\
Examples:
  schwann mse proxy --outward 127.0.0.1:1080
  schwann mse proxy --inward 0.0.0.0:6881 --client 127.0.0.1:6882 --torrent INFOHASH
  schwann mse proxy --inward 0.0.0.0:6881 --client 127.0.0.1:6882 --torrents-file torrents.txt
  schwann mse proxy --outward 127.0.0.1:1080 --policy preferred

Point the client's SOCKS5 setting at the outward address, and announce the inward one. Each bound address is printed
on its own line, so you may ask for port 0. The command runs until Ctrl-C.

The default policy, required, reaches only peers that take an obfuscated payload. With preferred it also reaches
peers that want the handshake alone (libtorrent's pe_plaintext, Deluge's \"Handshake\") and peers without MSE, and
carries what is not BitTorrent, such as a tracker's answers.

The inward half takes 64 handshakes at once, and 32 of one address; then the oldest gives way. --attempts limits how
many connections one address may begin in a minute.

Any program that reaches the outward address can reach the world through it: keep it on this machine. MSE is
obfuscation: it hides the protocol but does not protect the content."
)]
pub(crate) struct Arguments {
    /// Where the client finds its SOCKS5 proxy.
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present = "inward")]
    outward: Option<SocketAddr>,
    /// Where peers find the client.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "client", requires = "known")]
    inward: Option<SocketAddr>,
    /// Where the client itself listens.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "inward")]
    client: Option<SocketAddr>,
    /// A torrent that peers may ask for; give one or more.
    #[arg(long = "torrent", id = "torrents", value_name = "INFOHASH", value_parser = super::info_hash)]
    torrents: Vec<InfoHash>,
    /// A file of such torrents, one info hash a line. Changes are followed while the relay runs; open connections stay.
    #[arg(long, value_name = "FILE")]
    torrents_file: Option<PathBuf>,
    /// How many connections one address may begin in a minute.
    #[arg(long, value_name = "NUMBER", default_value_t = Gate::default().attempts_max)]
    attempts: u32,
    /// Which connections to make and to accept: allowed, disabled, preferred or required.
    #[arg(long, default_value = "required", value_parser = policy)]
    policy: Policy,
}

/// Carries connections until Ctrl-C.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut torrents = Torrents::new(&arguments.torrents, arguments.torrents_file.clone())?;
    let stop = stop::on_signals()?;
    let mut servers = Vec::new();
    if let Some(address) = arguments.outward {
        servers.push(start("outward", address, Outward::new(arguments.policy))?);
    }
    if let (Some(address), Some(client)) = (arguments.inward, arguments.client) {
        let mut gate = Gate::default();
        gate.attempts_max = arguments.attempts;
        let acceptor = Acceptor::new(torrents.index(), arguments.policy).with_gate(gate);
        servers.push(start("inward", address, Inward::new(acceptor, client))?);
    }
    while !stop.wait(LOOK_EVERY) {
        match torrents.look_again() {
            Some(Ok(count)) => eprintln!("inward: torrents: {count}"),
            Some(Err(error)) => eprintln!("inward: {error}; the torrents stay as they were"),
            None => {}
        }
        if let Some(ended) = servers.iter().position(JoinHandle::is_finished) {
            // A panic of the thread was reported when it happened.
            let outcome = servers.swap_remove(ended).join().unwrap_or(Ok(()));
            let error = outcome.err().unwrap_or_else(|| io::ErrorKind::Other.into());
            return Err(Problem::with("a listener", error));
        }
    }
    Ok(Exit::Good)
}

fn start(
    name: &'static str,
    address: SocketAddr,
    sidecar: impl Carry,
) -> Result<JoinHandle<io::Result<()>>, Problem> {
    let listener = TcpListener::bind(address).map_err(|error| Problem::with(address, error))?;
    let bound = listener.local_addr().map_err(|error| Problem::with(address, error))?;
    writeln!(io::stdout(), "{name} {bound}")?;
    let log = move |event: Event| eprintln!("{name}: {event}");
    let served = move || serve(&listener, Arc::new(sidecar), log);
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(served)
        .map_err(|error| Problem::with("a thread", error))
}

fn policy(text: &str) -> Result<Policy, &'static str> {
    Policy::parse(text).ok_or("allowed, disabled, preferred or required")
}

const LOOK_EVERY: Duration = Duration::from_millis(200);
