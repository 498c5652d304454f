//! `schwann dash`: the streams of the lab in the browser.

use core::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};
use std::{
    io::{self, IsTerminal as _, Write},
    path::PathBuf,
};

use schwann::security::keys::store;
use schwann_dash::{
    Certificate, Dashboard, Opened, Options, RemoteSource, Role, WebHook, serve, serve_recording,
};

use super::{opening::Opening, survey::Progress};
use crate::{
    exit::{Exit, Outcome},
    hubs::{self, Named},
    stop, terminal,
};

/// Show the streams of the lab in the browser: rates, lag, gaps, traces, events; and record them. Or show a recording.
///
/// This program serves the dashboard until Ctrl-C. Without --lan or --bind, it serves only this user on this computer.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann dash
  schwann dash --no-browser --port 8000
  schwann dash --session pilot --session main
  schwann dash --folder study
  schwann dash --lan
  schwann dash session.xdf                 a recording on the same page: scroll, zoom, jump to a finding
  ssh -L 16570:127.0.0.1:16570 lab-pc schwann dash --no-browser

A recording with an index opens at once, whatever its size. One without an index must be read in full first. The page shows the
findings on a recording as soon as it has read all of it.

What the dashboard does never costs a recorder a sample: it receives on connections of its own.

The printed address holds a token. Every request needs it, because other users of this computer
reach the port as well. Share the address only with people who may see every stream.

With --lan other computers and phones reach it by TLS. There is a link for each role: look sees everything, mark also
writes markers and sends streams, record also drives the recorder. A QR code shows the link of one role; --qr chooses
it. A browser warns of the certificate, because it is made here: compare the fingerprint that is printed with the one that
the browser shows. --certificate and --key replace it by one that your browsers trust.")]
pub(crate) struct Arguments {
    /// Show this recording in place of the lab.
    #[arg(value_name = "FILE.xdf", conflicts_with_all = ["sessions", "folder", "web_hook"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    opening: Opening,
    /// Port to serve at [default: 16570, or any if that is taken].
    #[arg(long)]
    port: Option<u16>,
    /// LSL session id to show; may be given several times. Markers and recordings use the first [default: that of the
    /// configuration].
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Folder for recordings that are started from the page [default: the current folder].
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Post to this address when a stream is lost or back.
    #[arg(long, value_name = "URL")]
    web_hook: Option<String>,
    /// Certificate authorities (CA) to trust for a web-hook with https://, instead of those of this system; PEM.
    #[arg(long, value_name = "FILE", requires = "web_hook")]
    web_hook_ca: Option<PathBuf>,
    /// Do not open a browser.
    #[arg(long)]
    no_browser: bool,
    /// Let other computers in, by TLS and a link for each role.
    #[arg(long)]
    lan: bool,
    /// Address to serve at [default: this computer alone; with --lan all of its addresses].
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// What links call this computer [default: its address].
    #[arg(long, value_name = "NAME", requires = "lan")]
    host: Option<String>,
    /// Certificate to show in place of the one that is made here; PEM.
    #[arg(long, value_name = "FILE", requires_all = ["lan", "key"])]
    certificate: Option<PathBuf>,
    /// Private key of that certificate; PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Role whose link is shown as a QR code.
    #[arg(long, value_name = "ROLE", default_value = "look", requires = "lan")]
    qr: QrRole,
    #[command(flatten)]
    hubs: Named,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum QrRole {
    Look,
    Mark,
    Record,
}

impl From<QrRole> for Role {
    fn from(role: QrRole) -> Self {
        match role {
            QrRole::Look => Self::Look,
            QrRole::Mark => Self::Mark,
            QrRole::Record => Self::Record,
        }
    }
}

/// Serves the dashboard until the program is ended.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.options();
    if let Some(context) = &options.context {
        crate::lab::look_after_certificate(context);
    }
    let stop = stop::on_signals()?;
    let dashboard = match &arguments.file {
        None => serve(&options)?,
        Some(file) => {
            let mut progress = Progress::new("reading");
            let location = arguments.opening.location(file)?;
            let served = serve_recording(&options, &location, |done, all| progress.show(done, all));
            progress.clear();
            served?
        }
    };
    let mut out = io::stdout().lock();
    match dashboard.fingerprint() {
        None => writeln!(out, "dashboard: {}", dashboard.url())?,
        Some(fingerprint) => show_links(&mut out, &dashboard, fingerprint, arguments)?,
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

impl Arguments {
    fn options(&self) -> Options {
        let lan = self.lan.then(|| match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                Certificate::Given { certificate: certificate.clone(), key: key.clone() }
            }
            _ => Certificate::Kept(store::folder()),
        });
        let everywhere = if self.lan { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        let context = crate::lab::config();
        Options {
            remote: hubs::watch(&context, &self.hubs).map(RemoteSource::new),
            bind: self.bind.unwrap_or(everywhere.into()),
            lan,
            host: self.host.clone(),
            web_hook: self.web_hook.clone().map(|url| WebHook { url, authority: self.web_hook_ca.clone() }),
            port: self.port,
            sessions: self.sessions.clone(),
            context: Some(context),
            recordings: self.folder.clone().unwrap_or_else(|| PathBuf::from(".")),
        }
    }
}

/// Says how other computers get in, and how a person knows that it is this dashboard.
fn show_links(
    out: &mut (impl Write + ?Sized),
    dashboard: &Dashboard,
    fingerprint: &str,
    arguments: &Arguments,
) -> io::Result<()> {
    let shown = Role::from(arguments.qr);
    for (role, url) in dashboard.urls() {
        writeln!(out, "dashboard, {:<7} {url}", format!("{}:", role.name()))?;
        if role == shown
            && io::stdout().is_terminal()
            && let Some(code) = terminal::code(&url)
        {
            writeln!(out, "{code}")?;
        }
    }
    writeln!(
        out,
        "Each link opens the dashboard with its role. Give each person the link with the fewest rights."
    )?;
    if arguments.certificate.is_none() {
        writeln!(
            out,
            "A browser warns that it does not know the certificate. Its SHA-256 fingerprint must be"
        )?;
    } else {
        writeln!(out, "SHA-256 fingerprint of the certificate:")?;
    }
    writeln!(out, "  {fingerprint}")
}
