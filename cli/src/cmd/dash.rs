//! `schwann dash`: the streams of the lab in the browser.

use core::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};
use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use schwann_dash::{Opened, Options, serve};

use crate::{
    exit::{Exit, Outcome},
    stop,
};

/// Show the streams of the lab in the browser: rates, lag, gaps, traces, events; and record them.
///
/// This program serves the dashboard, to this user on this computer alone, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann dash
  schwann dash --no-browser --port 8000
  schwann dash --session pilot --session main
  schwann dash --folder study
  ssh -L 16570:127.0.0.1:16570 lab-pc schwann dash --no-browser

What the dashboard does never costs a recorder a sample: it receives on connections of its own.

The address that is printed holds a token, without which nothing is answered, because other users of this computer
reach the port as well. Share it only with people who may see every stream.

With --bind other computers can reach it, if they know that address. The connection is not encrypted: on a
network that you do not trust, use ssh as above instead.")]
pub(crate) struct Arguments {
    /// Port to serve at [default: 16570, or any if that is taken].
    #[arg(long)]
    port: Option<u16>,
    /// Session to show; may be given several times [default: that of the configuration].
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Folder for recordings that are started from the page.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Do not open a browser.
    #[arg(long)]
    no_browser: bool,
    /// Address to serve at; one beyond this computer lets others in who know the token.
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into())]
    bind: IpAddr,
}

/// Serves the dashboard until the program is ended.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = Options {
        bind: arguments.bind,
        port: arguments.port,
        sessions: arguments.sessions.clone(),
        context: Some(crate::lab::config()),
        recordings: arguments.folder.clone(),
    };
    if let Some(context) = &options.context {
        crate::lab::look_after_certificate(context);
    }
    let stop = stop::on_signals()?;
    let dashboard = serve(&options)?;
    let mut out = io::stdout().lock();
    writeln!(out, "dashboard: {}", dashboard.url())?;
    if !arguments.bind.is_loopback() {
        writeln!(out, "Anyone with this address sees every stream, and the connection is not encrypted.")?;
    }
    if !arguments.no_browser && dashboard.open_browser() == Opened::No {
        writeln!(out, "Open this address in a browser.")?;
    }
    writeln!(out, "Ctrl-C ends it.")?;
    out.flush()?;
    drop(out);
    while !stop.wait(Duration::from_secs(3600)) {}
    Ok(Exit::Good)
}
