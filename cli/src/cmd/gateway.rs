//! `schwann gateway`: old devices in a sealed lab, and old programs that want to see it.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::ToSocketAddrs as _;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use schwann::config::IpVersions;
use schwann::security::{Policy, Trust};
use schwann::{Context, StreamInfo, resolver};
use schwann_proto::stream_info::IpVersion;
use schwann_recorder::words::quoted;
use schwann_recorder::{Selector, Stop, any_of, has_changed};

use crate::beside::both;
use crate::exit::{Exit, Outcome, Problem};
use crate::{lab, stop, terminal};

mod bridge;
mod door;

/// Bring plain streams of old devices into the sealed lab, or show sealed streams to old programs.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann gateway                        plain streams of this computer, sealed
  schwann gateway --from amplifier-pc    plain streams of one other computer, sealed
  schwann gateway \"name='Eyes'\"          only one stream
  schwann gateway --out                  sealed streams, plain for programs of this user on this computer

Stamps, clock offsets and descriptions are those of the original stream. The path from another computer to this one
is not protected: use a separate cable. A stream that already exists in the other form is left alone.")]
pub(crate) struct Arguments {
    /// Which streams: a name, type or source id, or a condition such as type='EEG' [default: all of the session].
    query: Option<Selector>,
    /// Take plain streams from computer HOST: a name or an address.
    #[arg(long, value_name = "HOST", conflicts_with = "out")]
    from: Option<String>,
    /// Offer sealed streams in the clear to this user's programs on this computer.
    #[arg(long)]
    out: bool,
}

/// A stream that is brought over.
struct Crossing {
    name: String,
    info: StreamInfo,
    double: Double,
    /// Ends this one alone.
    stop: Arc<Stop>,
    thread: JoinHandle<Result<(), String>>,
}

/// Another stream with the name, type and source id of one that is brought over.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Double {
    None,
    /// Seen at one look: that may be the same stream, before and after a restart.
    Seen,
    Told,
}

/// Brings streams over until the program is ended.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let sealed = sealed()?;
    lab::look_after_certificate(&sealed);
    let host = arguments.from.as_deref().map(Host::look_up).transpose()?;
    if arguments.out && !schwann_fieldtrip::door::TELLS_USERS {
        return Err(Problem::Failed(String::from(
            "this system does not tell whose program connects, so plain copies of sealed streams would be open to every \
             user of this computer; `schwann run` gives a program its own keys instead",
        )));
    }
    let plain = plain(&sealed, host.as_ref());
    let stop = stop::on_signals()?;
    let (from, to) = if arguments.out { (&sealed, &plain) } else { (&plain, &sealed) };
    let mut gateway = Gateway {
        from: Arc::clone(from),
        to: Arc::clone(to),
        host,
        query: arguments.query.clone(),
        crossings: BTreeMap::new(),
        left_alone: VecDeque::new(),
        is_outward: arguments.out,
        has_told_waiting: false,
        told: String::new(),
    };
    say(&format!("{} Ctrl-C ends it.", gateway.what()));
    while !stop.is_raised() {
        gateway.look();
        stop.wait(PAUSE);
    }
    gateway.end();
    Ok(Exit::Good)
}

/// A computer that a person named.
struct Host {
    /// As it was named.
    name: String,
    addresses: Vec<IpAddr>,
}

struct Gateway {
    from: Arc<Context>,
    to: Arc<Context>,
    /// The one computer whose streams are taken; this one if none is named.
    host: Option<Host>,
    query: Option<Selector>,
    /// By UID of the original.
    crossings: BTreeMap<String, Crossing>,
    /// UIDs of streams that are not brought over, also if the other form ends: that is how two gateways, one inward and
    /// one outward, make no loop.
    left_alone: VecDeque<String>,
    is_outward: bool,
    has_told_waiting: bool,
    /// What was said last of what cannot be done now.
    told: String,
}

impl Gateway {
    fn what(&self) -> String {
        match (self.is_outward, &self.host) {
            (true, _) => String::from("Sealed streams are plain for this user's programs on this computer."),
            (false, None) => String::from("Plain streams of this computer are brought into the sealed lab."),
            (false, Some(_)) => {
                String::from("Plain streams of that computer are brought into the sealed lab.")
            }
        }
    }

    /// Looks for streams on both sides, and begins with those that are on one alone.
    fn look(&mut self) {
        self.part_from_ended();
        let look_here = || match any_of(&self.query) {
            Some(condition) => resolver::resolve_bypred(&self.from, &condition, 0, LOOK),
            None => resolver::resolve_session(&self.from, 0, LOOK),
        };
        let (other, here) = both(|| resolver::resolve_session(&self.to, 0, LOOK), look_here);
        let (other, mut here) = match (other, here) {
            (Ok(other), Ok(here)) => (other, here),
            (Err(error), _) | (_, Err(error)) => {
                return self.tell(format!("No new stream can be looked for now: {error}."));
            }
        };
        here.retain(|info| self.is_from_there(info));
        for info in &here {
            self.consider(info, &here, &other);
        }
        if here.is_empty() {
            self.tell_waiting();
        }
    }

    /// Begins with a stream unless it is there in both forms already.
    fn consider(&mut self, info: &StreamInfo, here: &[StreamInfo], other: &[StreamInfo]) {
        let uid = info.uid().to_string();
        // Its outlet has another shape than what comes now: the next look begins with that.
        let is_away = |uid: &String| !here.iter().any(|one| one.uid().to_string() == *uid);
        let reshaped = self.crossings.iter().find(|(uid, one)| has_changed(&one.info, info) && is_away(uid));
        if let Some((_, crossing)) = reshaped.filter(|(_, crossing)| !crossing.stop.is_raised()) {
            crossing.stop.raise();
            return say(&format!("{}: its sender came back with another shape", crossing.name));
        }
        if self.crossings.contains_key(&uid) || self.left_alone.contains(&uid) {
            return;
        }
        // It, or the one before its restart, is being brought over.
        let name = title(info);
        if let Some(crossing) = self.crossings.values_mut().find(|crossing| crossing.name == name) {
            return crossing.look_for_double(here);
        }
        if !other.iter().any(|twin| is_twin(info, twin)) {
            return self.begin(info, uid);
        }
        self.leave_alone(uid);
        say(&format!(
            "{} exists in both forms already, and is left alone until this gateway is started again.",
            title(info)
        ));
    }

    /// Says once that nothing is there to be brought over: a computer that is down must not look like a working gateway.
    fn tell_waiting(&mut self) {
        if self.has_told_waiting || !self.crossings.is_empty() {
            return;
        }
        self.has_told_waiting = true;
        let streams = self.query.as_ref().map_or_else(String::new, |query| format!(" that matches {query}"));
        let what = match (&self.host, self.is_outward) {
            (Some(Host { name: host, .. }), _) => {
                let command = format!("schwann doctor {}", quoted(host));
                format!("No plain stream{streams} answers at {host} yet. If one is sent there: {command}.")
            }
            (None, true) => format!("No sealed stream{streams} was found yet."),
            (None, false) => format!("No plain stream of this computer{streams} was found yet."),
        };
        say(&format!("{what} The gateway keeps looking."));
    }

    fn begin(&mut self, info: &StreamInfo, uid: String) {
        let name = title(info);
        if !self.is_outward && !is_sealed(&self.to, info) {
            say(&format!(
                "{name} may travel in the clear by this computer's configuration, and is left alone."
            ));
            self.leave_alone(uid);
            return;
        }
        if self.crossings.len() >= CROSSINGS_MAX {
            return self.tell(format!(
                "{name} waits: {CROSSINGS_MAX} streams are brought over already; a query chooses others."
            ));
        }
        let (kept, info, stop) = (info.clone(), info.clone(), Arc::<Stop>::default());
        let stopped = Arc::clone(&stop);
        let (from, to) = (Arc::clone(&self.from), Arc::clone(&self.to));
        let is_near = self.host.is_none() && !self.is_outward;
        let spawned = thread::Builder::new()
            .name("crossing".to_owned())
            .spawn(move || bridge::carry(&title(&info), &info, (from, to), is_near, &stopped));
        let thread = match spawned {
            Ok(thread) => thread,
            Err(error) => return self.tell(format!("{name} waits for a thread: {error}.")),
        };
        say(&format!("{name}: begins"));
        self.crossings.insert(uid, Crossing { name, info: kept, double: Double::None, stop, thread });
    }

    fn leave_alone(&mut self, uid: String) {
        if self.left_alone.len() >= LEFT_ALONE_MAX {
            self.left_alone.pop_front();
        }
        self.left_alone.push_back(uid);
    }

    /// Says what cannot be done now, and is tried again at each look; once.
    fn tell(&mut self, what: String) {
        if self.told == what {
            return;
        }
        self.told = what;
        say(&self.told);
    }

    fn part_from_ended(&mut self) {
        let ended: Vec<_> = self
            .crossings
            .iter()
            .filter(|(_, one)| one.thread.is_finished())
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in ended {
            let Some(crossing) = self.crossings.remove(&uid) else { continue };
            let why = match crossing.thread.join() {
                Ok(Ok(())) => String::from("has ended"),
                Ok(Err(why)) => why,
                Err(_) => String::from("broke off"),
            };
            say(&format!("{}: {why}", crossing.name));
        }
    }

    fn end(&mut self) {
        self.crossings.values().for_each(|crossing| crossing.stop.raise());
        for (_, crossing) in core::mem::take(&mut self.crossings) {
            // What went wrong at the end concerns no one any more.
            let _ = crossing.thread.join();
        }
    }

    /// Whether a plain stream comes from where plain streams are taken from; all others are refused.
    fn is_from_there(&self, info: &StreamInfo) -> bool {
        if self.is_outward {
            return true;
        }
        let ends = [IpVersion::V4, IpVersion::V6].map(|version| info.endpoint(version).address.to_string());
        let mut ips = ends.iter().filter_map(|text| text.split('%').next()?.parse::<IpAddr>().ok());
        match &self.host {
            None => ips.all(|ip| ip.is_loopback()),
            Some(host) => ips.all(|ip| host.addresses.contains(&ip)),
        }
    }
}

impl Crossing {
    /// Says once that another stream, which cannot be told from this one, stays behind.
    fn look_for_double(&mut self, here: &[StreamInfo]) {
        let is_alone = here.iter().filter(|info| title(info) == self.name).count() < 2;
        self.double = match self.double {
            Double::Told => Double::Told,
            _ if is_alone => Double::None,
            Double::None => Double::Seen,
            Double::Seen => {
                say(&format!(
                    "{}: another stream has this name, type and source id, and is left alone. Give each its own source id.",
                    self.name
                ));
                Double::Told
            }
        };
    }
}

/// Prints a line. Streams are brought over also where no program reads it.
fn say(line: &str) {
    terminal::say(&[line.to_owned()]);
}

fn title(info: &StreamInfo) -> String {
    format!("{} ({}, {})", info.name(), info.stream_type(), info.source_id())
}

/// Whether two descriptions are of one stream in two forms.
fn is_twin(one: &StreamInfo, other: &StreamInfo) -> bool {
    title(one) == title(other) && one.channel_count() == other.channel_count()
}

/// Whether the stream will be sealed in this context.
fn is_sealed(context: &Context, info: &StreamInfo) -> bool {
    let name = info.name().to_string();
    context.trust().is_ok_and(|trust| trust.policy_for(&name) == Policy::Require)
}

/// The lab as it is, which must seal.
fn sealed() -> Result<Arc<Context>, Problem> {
    let context = lab::config();
    let trust = context.trust().map_err(|error| Problem::Failed(error.to_string()))?;
    if trust.member().is_none() || trust.policy() != Policy::Require {
        return Err(Problem::Failed(String::from(
            "this computer does not seal its streams, so there is nothing to bridge; `schwann keys status` tells why",
        )));
    }
    trust.check().map_err(|error| Problem::Failed(error.to_string()))?;
    Ok(context)
}

/// Plain LSL: of this computer, or of the one that was named, and of no other.
fn plain(sealed: &Context, host: Option<&Host>) -> Arc<Context> {
    let mut config = sealed.config().as_ref().clone();
    config.multicast.discovery_addresses.retain(IpAddr::is_loopback);
    let addresses = host.map_or(&[][..], |host| &host.addresses);
    config.lab.known_peers = addresses.iter().map(ToString::to_string).collect();
    if config.ports.ip == IpVersions::Both {
        config.ports.ip = IpVersions::V4;
    }
    let context = Context::with_trust(config, Trust::new(Policy::Off, None));
    Arc::new(context.with_door(Arc::new(door::OwnUser::default())))
}

impl Host {
    fn look_up(name: &str) -> Result<Self, Problem> {
        let found = (name, 0).to_socket_addrs().map_err(|_| {
            Problem::Failed(format!(
                "no computer called {name:?} was found; give its address, or run: schwann doctor {}",
                quoted(name)
            ))
        })?;
        Ok(Self { name: name.to_owned(), addresses: found.map(|address| address.ip()).collect() })
    }
}

/// Time of one search.
const LOOK: Duration = Duration::from_millis(1500);
/// Streams that are brought over at the same time: anybody may announce thousands, and each costs threads and sockets.
const CROSSINGS_MAX: usize = 256;
const LEFT_ALONE_MAX: usize = 4096;
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;

    use super::*;

    #[test]
    fn another_stream_of_the_same_name_is_told_once_and_a_restart_is_not() {
        let stream = |name: &str| StreamInfo::new(name, "EEG", 1, 100.0, ChannelFormat::Float32, "").unwrap();
        let (two, one) = ([stream("EEG"), stream("EEG")], [stream("EEG"), stream("Other")]);
        let mut crossing = Crossing {
            name: title(&two[0]),
            info: two[0].clone(),
            double: Double::None,
            stop: Arc::default(),
            thread: thread::spawn(|| Ok(())),
        };
        let mut look = |here: &[StreamInfo]| {
            crossing.look_for_double(here);
            crossing.double
        };
        // Its sender started again during the first look.
        assert!(look(&two) == Double::Seen);
        assert!(look(&one) == Double::None);
        assert!(look(&two) == Double::Seen);
        assert!(look(&two) == Double::Told);
        assert!(look(&one) == Double::Told);
    }
}
