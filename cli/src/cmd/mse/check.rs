//! `schwann mse check`: what a peer accepts.

use core::time::Duration;
use std::io::{self, Write as _};
use std::net::ToSocketAddrs as _;

use schwann_mse::InfoHash;
use schwann_mse::check::{Checker, Finding, Report};
use schwann_mse::net::DialError;
use serde_json::{Value, json};

use crate::exit::{Exit, Outcome, Problem};

/// Ask a BitTorrent peer what it accepts: methods, paddings, and how long each step takes.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann mse check 192.0.2.7:6881 0123456789abcdef0123456789abcdef01234567
  schwann mse check seedbox:51413 $(cat hash.txt) --json

Each question is a connection of its own. Exit code 0 if the peer speaks MSE, 1 if it does not, 3 if no
connection could be made.")]
pub(crate) struct Arguments {
    /// The peer.
    #[arg(value_name = "HOST:PORT")]
    peer: String,
    /// A torrent that the peer has.
    #[arg(value_name = "INFOHASH", value_parser = super::info_hash)]
    info_hash: InfoHash,
    /// Seconds that the peer may take to connect, and again for all later steps.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: u16,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Asks, and prints the answers.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let wrong =
        |error: io::Error| Problem::with(&arguments.peer, format_args!("{error}; check how it is written"));
    let mut addresses = arguments.peer.to_socket_addrs().map_err(wrong)?;
    let peer = addresses.next().ok_or_else(|| wrong(io::ErrorKind::NotFound.into()))?;
    let mut checker = Checker::default();
    checker.timeout = Duration::from_secs(arguments.timeout.into());
    let report = checker.check(peer, arguments.info_hash);
    if let Some(error) = unreachable(&report) {
        return Err(Problem::with(peer, format_args!("{error}; {ADVICE}")));
    }
    let mut out = io::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", in_json(&report))?,
        false => writeln!(out, "{report}")?,
    }
    Ok(if report.speaks_mse() { Exit::Good } else { Exit::Found })
}

/// Why no probe got a connection; none if any did.
fn unreachable(report: &Report) -> Option<&io::Error> {
    let errors = report.findings.iter().map(|finding| match &finding.outcome {
        Err(DialError::Connect(error)) => Some(error),
        _ => None,
    });
    errors.collect::<Option<Vec<_>>>()?.into_iter().next()
}

fn in_json(report: &Report) -> Value {
    json!({
        "peer": report.peer.to_string(),
        "info_hash": report.info_hash.to_string(),
        "speaks_mse": report.speaks_mse(),
        "probes": report.findings.iter().map(probe_in_json).collect::<Vec<_>>(),
    })
}

fn probe_in_json(finding: &Finding) -> Value {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    match &finding.outcome {
        Err(error) => json!({ "probe": finding.probe.name(), "refused": error.to_string() }),
        Ok(accepted) => json!({
            "probe": finding.probe.name(),
            "method": accepted.method.name(),
            "connected_ms": ms(accepted.connected),
            "key_ms": accepted.key.map(ms),
            "handshake_ms": accepted.shaken.map(|shaken| ms(shaken.after)),
            "pad_b_bytes": accepted.shaken.map(|shaken| shaken.key_pad),
            "pad_d_bytes": accepted.shaken.map(|shaken| shaken.crypto_pad),
            "answered_ms": ms(accepted.answered),
        }),
    }
}

const ADVICE: &str = "does a client run there, and is this the port for incoming connections in its settings? If it is far: \
                      --timeout 60";
