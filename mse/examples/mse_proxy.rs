//! Gives MSE to a BitTorrent client that has none.
//!
//! ```text
//! mse_proxy [--policy required] [--outward 127.0.0.1:1080] [--inward 0.0.0.0:6881 --client 127.0.0.1:6882 --torrent HASH...]
//! ```
//!
//! Point the client's SOCKS5 setting at the outward address; announce the inward one. Each address that is
//! bound is printed on a line of its own, so that port 0 may be asked for.

use core::net::SocketAddr;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use schwann_mse::net::Acceptor;
use schwann_mse::policy::Policy;
use schwann_mse::proxy::{Carry, Event, Inward, Outward, serve};
use schwann_mse::{InfoHash, SkeyIndex};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let settings = Settings::parse(std::env::args().skip(1))?;
    let mut servers = Vec::new();
    if let Some(address) = settings.outward {
        servers.push(start("outward", address, Outward::new(settings.policy))?);
    }
    if let (Some(address), Some(client)) = (settings.inward, settings.client) {
        let torrents: SkeyIndex = settings.torrents.into_iter().collect();
        let inward = Inward::new(Acceptor::new(torrents, settings.policy), client);
        servers.push(start("inward", address, inward)?);
    }
    eprintln!("MSE is obfuscation: it hides the protocol, it does not protect the content.");
    for server in servers {
        server.join().map_err(|_| "a listener's thread died")??;
    }
    Ok(())
}

fn start(
    name: &'static str,
    address: SocketAddr,
    sidecar: impl Carry,
) -> std::io::Result<thread::JoinHandle<std::io::Result<()>>> {
    let listener = TcpListener::bind(address)?;
    println!("{name} {}", listener.local_addr()?);
    let log = move |event: Event| eprintln!("{name}: {event}");
    Ok(thread::spawn(move || serve(&listener, Arc::new(sidecar), log)))
}

#[derive(Default)]
struct Settings {
    policy: Policy,
    outward: Option<SocketAddr>,
    inward: Option<SocketAddr>,
    client: Option<SocketAddr>,
    torrents: Vec<InfoHash>,
}

impl Settings {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self { policy: Policy::Required, ..Self::default() };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let address = || value.parse().map_err(|_| format!("{value} is not ADDRESS:PORT"));
            match name.as_str() {
                "--policy" => {
                    settings.policy = Policy::parse(&value).ok_or("no such policy")?;
                }
                "--outward" => settings.outward = Some(address()?),
                "--inward" => settings.inward = Some(address()?),
                "--client" => settings.client = Some(address()?),
                "--torrent" => {
                    let hash = InfoHash::parse(&value).ok_or("an info hash is 40 or 64 digits")?;
                    settings.torrents.push(hash);
                }
                _ => return Err(format!("no such option: {name}")),
            }
        }
        if settings.outward.is_none() && (settings.inward.is_none() || settings.client.is_none()) {
            return Err("give --outward, or --inward and --client".into());
        }
        Ok(settings)
    }
}
