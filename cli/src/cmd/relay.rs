//! `schwann relay`: streams to and from other sites, through a hub.

pub(crate) mod status;

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use schwann::Context;
use schwann::security::keys::store;
use schwann::security::{Policy, Roles};
use schwann_hub::{Access, Address, Far, History, Inbound, Outbound, Settings, Wanted, remembered};
use schwann_recorder::Selector;
use schwann_session::DeviceName;

use crate::exit::{Exit, Outcome, Problem};
use crate::terminal::say;
use crate::{lab, stop};

/// Send streams to other sites, or receive those of other sites, through a hub.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann relay out --hub tls://hub.example.org:4222#...           every stream of this network
  schwann relay out --hub ... \"type='EEG'\"                         some of them
  schwann relay in --hub ...                                       streams of other sites, as if they were here
  schwann relay status --hub ...                                   who sends what, and who has it
  schwann record --hub ... -o far.xdf EEG                          into a file, with receipts for the sender
  schwann config set relay.hub tls://hub.example.org:4222#...      remembered: `schwann` shows its streams, too

`schwann hub up` starts a hub and prints its address. All sites are members of one lab; see `schwann keys`.
Samples are sealed where they are sent and opened where they are received. What the hub does not take waits in a
journal on the sender's disk. Nothing is missing in silence: lost samples are reported on both sides.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    Out(Out),
    In(In),
    Status(status::Status),
}

/// Send streams of this network to the hub, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit code 1 if samples were lost, or nothing was relayed; the last line of each stream says how many, and why."
)]
struct Out {
    /// What to send: names, types, source ids or conditions; all streams if there is none.
    #[arg(value_name = "QUERY")]
    queries: Vec<Selector>,
    /// The hub, as `schwann hub up` printed it [default: that of the configuration, `relay.hub`].
    #[arg(long, value_name = "URL")]
    hub: Option<Address>,
    /// How long to collect samples for a block. Short blocks arrive sooner; long blocks cost less.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(5..=100))]
    block_ms: u64,
    /// Where journals are kept [default: the folder relay/out among the keys].
    #[arg(long, value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// How much one stream's journal may take, in GB of 1000 MB; beyond that, the oldest goes.
    #[arg(long, value_name = "GB", default_value_t = 20.0, value_parser = gigabytes)]
    journal_limit: f64,
    /// How long delivered samples stay in a journal, in hours. What is not delivered stays until the journal is full.
    #[arg(long, value_name = "HOURS", default_value_t = 90 * 24)]
    journal_hours: u32,
    /// Name of a device whose receipt counts as delivery; if you name several, a block needs receipts of all. A full journal
    /// drops delivered blocks first [default: any recorder's receipt counts].
    #[arg(long = "recorder", value_name = "NAME", value_parser = device_name)]
    recorders: Vec<DeviceName>,
}

/// Receive streams of other sites and offer them here, sealed for the lab, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit code 1 if the hub was not reached at the end.")]
struct In {
    /// What to receive: names, types, source ids or conditions; all streams if there is none.
    #[arg(value_name = "QUERY")]
    queries: Vec<Selector>,
    /// The hub, as `schwann hub up` printed it [default: that of the configuration, `relay.hub`].
    #[arg(long, value_name = "URL")]
    hub: Option<Address>,
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::Out(out) => run_out(out),
        Action::In(inward) => run_in(inward),
        Action::Status(status) => status::run(status),
    }
}

fn run_out(arguments: &Out) -> Outcome {
    let config = lab::config();
    let access = Access::of(&config, Roles::PUBLISH).map_err(failed)?;
    lab::look_after_certificate(&config);
    let stop = stop::on_signals()?;
    let hub = hub(arguments.hub.as_ref(), &config)?;
    let settings = Settings {
        hub: hub.clone(),
        folder: arguments.journal.clone().unwrap_or_else(default_journal),
        block: Duration::from_millis(arguments.block_ms),
        limit_bytes: (arguments.journal_limit * 1e9) as u64,
        keep_delivered: Duration::from_secs(u64::from(arguments.journal_hours) * 3600),
        history: history(&config)?,
        recorders: arguments.recorders.clone(),
    };
    let mut outbound =
        Outbound::new(Arc::clone(&config), access, settings, &arguments.queries, Arc::clone(&stop));
    say(&[format!("Streams of this network go to {hub}. Ctrl-C ends it.")]);
    let mut refused = None;
    let mut searched = Ok(());
    while !stop.is_raised() && searched.is_ok() {
        searched = outbound.look().map_err(|error| Problem::with("search", error));
        say(&outbound.take_remarks());
        tell_refused(&config, &mut refused);
        stop.wait(PAUSE);
    }
    let (remarks, is_whole) = outbound.end();
    say(&remarks);
    searched?;
    Ok(if is_whole && refused.is_none() { Exit::Good } else { Exit::Found })
}

fn run_in(arguments: &In) -> Outcome {
    let config = sealed()?;
    let access = Access::of(&config, Roles::SUBSCRIBE).map_err(failed)?;
    lab::look_after_certificate(&config);
    let stop = stop::on_signals()?;
    let hub = hub(arguments.hub.as_ref(), &config)?;
    let far = Far::open(&hub, &access, history(&config)?, Wanted::Live);
    let mut far = far.map_err(|error| Problem::with("relay", error))?;
    let mut inbound = Inbound::new(Arc::clone(&config), arguments.queries.clone(), hub.to_string());
    say(&[format!("Streams of other sites come from {hub}. Ctrl-C ends it.")]);
    let mut refused = None;
    while !stop.is_raised() {
        let news = far.hear(HEAR);
        inbound.take(news, &far);
        say(&far.take_remarks());
        say(&inbound.take_remarks());
        tell_refused(&config, &mut refused);
    }
    let is_whole = inbound.finish();
    say(&inbound.take_remarks());
    Ok(if is_whole && far.is_connected() && refused.is_none() { Exit::Good } else { Exit::Found })
}

/// Says once that this device is out of its lab: other sites take nothing of it any more, and give it no keys.
fn tell_refused(config: &Context, refused: &mut Option<String>) {
    if refused.is_none() {
        *refused =
            lab::unsealed(config).map(|error| format!("other sites are closed to this device: {error}"));
        say(refused.as_slice());
    }
}

/// The lab as it is, which must seal: what was sealed on its way must not lie open here.
fn sealed() -> Result<Arc<Context>, Problem> {
    let context = lab::config();
    let trust = context.trust().map_err(failed)?;
    if trust.member().is_some() && trust.policy() != Policy::Require {
        return Err(Problem::Failed(String::from(
            "this computer does not seal its streams, so streams of other sites would lie open here; `schwann keys status` \
             tells why",
        )));
    }
    Ok(context)
}

/// The hub that is named, or else the one of the configuration.
fn hub(named: Option<&Address>, context: &Context) -> Result<Address, Problem> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let mut known = remembered(context.config()).map_err(failed)?;
    match (known.pop(), known.is_empty()) {
        (Some(hub), true) => Ok(hub),
        (Some(_), false) => {
            Err(Problem::Failed(String::from("the configuration has several hubs; name one with --hub")))
        }
        (None, _) => Err(Problem::Failed(String::from(
            "no hub is named; add --hub ADDRESS, or remember it: schwann config set relay.hub ADDRESS",
        ))),
    }
}

/// How much of the past members get.
pub(super) fn history(context: &Context) -> Result<History, Problem> {
    History::of(context.config()).map_err(failed)
}

/// Where journals are, unless it is said.
pub(crate) fn default_journal() -> PathBuf {
    store::folder().join("relay").join("out")
}

pub(super) fn failed(error: impl core::fmt::Display) -> Problem {
    Problem::Failed(error.to_string())
}

fn device_name(text: &str) -> Result<DeviceName, &'static str> {
    DeviceName::new(text).ok_or("a device's name, as `schwann keys issued` lists it: 1 to 48 bytes")
}

/// Reads a size.
pub(super) fn gigabytes(text: &str) -> Result<f64, &'static str> {
    let size = text.parse::<f64>().ok().filter(|size| (0.001..=1e6).contains(size));
    size.ok_or("a number of GB, 0.001 to 1,000,000")
}

const PAUSE: Duration = Duration::from_millis(500);
const HEAR: Duration = Duration::from_millis(100);
