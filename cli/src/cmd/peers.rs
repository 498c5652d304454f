//! `schwann peers`: computers that are asked for streams directly, where no multicast reaches them.

use std::io::{self, Write as _};
use std::net::ToSocketAddrs as _;

use schwann::security::keys::{met, store};

use crate::config_file;
use crate::exit::{Exit, Outcome, Problem};
use crate::terminal::printable;

/// Name computers in other networks, so that their streams are found without multicast.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann peers add eeg-pc
  schwann peers add 10.2.0.7
  schwann peers

Lab members that this computer had a sealed connection with are remembered and asked, too.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Ask computer HOST in every search.
    Add {
        /// Its name or address.
        host: String,
    },
    /// Stop asking computer HOST.
    Remove {
        /// Its name or address, as `schwann peers` lists it.
        host: String,
    },
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        None => list(),
        Some(Action::Add { host }) => add(host),
        Some(Action::Remove { host }) => remove(host),
    }
}

fn list() -> Outcome {
    let path = config_file::path();
    let named = named(&path)?;
    let met = met::read(&store::folder());
    let mut out = io::stdout().lock();
    for host in &named {
        writeln!(out, "named       {}", printable(host))?;
    }
    for ip in &met {
        writeln!(out, "remembered  {ip}")?;
    }
    if named.is_empty() && met.is_empty() {
        writeln!(out, "No computer is named, and none is remembered; `schwann peers add HOST` names one.")?;
    }
    writeln!(out, "file        {}", path.display())?;
    Ok(Exit::Good)
}

fn named(path: &std::path::Path) -> Result<Vec<String>, Problem> {
    Ok(config_file::value(path, "lab", "KnownPeers")?
        .map_or_else(Vec::new, |value| config_file::entries(&value)))
}

fn add(host: &str) -> Outcome {
    check(host)?;
    let path = config_file::path();
    let _turn = config_file::turn(&path);
    let mut peers = named(&path)?;
    let mut out = io::stdout().lock();
    if peers.iter().any(|peer| peer == host) {
        writeln!(out, "{} is named already, in {}.", printable(host), path.display())?;
        return Ok(Exit::Good);
    }
    peers.push(host.to_owned());
    put(&path, &peers)?;
    writeln!(out, "From now on, every search asks {}, by {}.", printable(host), path.display())?;
    if (host, 0).to_socket_addrs().is_err() {
        writeln!(out, "This name has no address now; `schwann doctor {}` says why.", printable(host))?;
        return Ok(Exit::Found);
    }
    Ok(Exit::Good)
}

/// What cannot be an entry of the list is refused.
fn check(host: &str) -> Result<(), Problem> {
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || "{},;=".contains(letter);
    if host.is_empty() || host.contains(is_odd) {
        return Err(Problem::Failed(format!("{host:?} is no name or address of a computer")));
    }
    // An address of IPv6 has more than one colon, and no port without brackets.
    match host.rsplit_once(':') {
        Some((name, port)) if (!name.contains(':') || name.ends_with(']')) && port.parse::<u16>().is_ok() => {
            let name = name.trim_matches(['[', ']']);
            Err(Problem::Failed(format!(
                "every search asks all ports of LSL; leave the port out: schwann peers add {}",
                printable(name)
            )))
        }
        _ => Ok(()),
    }
}

fn remove(host: &str) -> Outcome {
    let path = config_file::path();
    let _turn = config_file::turn(&path);
    let mut peers = named(&path)?;
    let before = peers.len();
    peers.retain(|peer| peer != host);
    let was_named = peers.len() < before;
    if was_named {
        put(&path, &peers)?;
    }
    let was_met = match host.parse() {
        Ok(ip) => met::forget(&store::folder(), ip).map_err(|error| Problem::Failed(error.to_string()))?,
        Err(_) => false,
    };
    if !was_named && !was_met {
        return Err(Problem::Failed(format!(
            "{host:?} is neither named nor remembered; `schwann peers` lists all"
        )));
    }
    writeln!(io::stdout().lock(), "Searches no longer ask {}.", printable(host))?;
    Ok(Exit::Good)
}

fn put(path: &std::path::Path, peers: &[String]) -> Result<(), Problem> {
    let value = format!("{{{}}}", peers.join(", "));
    config_file::set(path, "lab", "KnownPeers", (!peers.is_empty()).then_some(value.as_str()))
}
