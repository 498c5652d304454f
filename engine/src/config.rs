//! The configuration, `lsl_api.cfg`: every key of the original, typed: a value that is read once.
//!
//! [`Search`] finds and reads it; its [`LoadReport`] tells where it came from and what was wrong with the others. A
//! [`Context`](crate::Context) joins it with keys; the process has one, and tests run many side by side.
//!
//! Source: lsl-wire §2. Unlike in the original, `true`, `yes` and `on` mean true. An unreadable
//! value is an error that names its line, and no error is silent. This module does not open sockets, and it
//! never reads a file again once it is loaded.

mod ini;
mod load;
mod sections;
mod value;

use core::{net::IpAddr, time::Duration};
use std::path::PathBuf;

use self::sections::Parts;
use self::value::Reader;
pub use self::{
    ini::{Ini, SyntaxError},
    load::{Attempt, Invalid, LoadReport, Origin, Outcome, Search},
    value::{Note, NoteKind, ValueError, ZonedAddress},
};
use crate::environment;

/// All settings of one process (or of one test). Immutable once made.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where messages go, and how many.
    pub log: LogConfig,
    /// Which ports and IP versions are used.
    pub ports: Ports,
    /// Which addresses discovery reaches.
    pub multicast: Multicast,
    /// Which streams belong together.
    pub lab: Lab,
    /// Intervals, limits and buffer sizes.
    pub tuning: Tuning,
    raw: Ini,
    /// Another configuration came first and could not be used: what this one says of security does not count.
    pub(crate) is_substitute: bool,
    /// That one speaks of security. What it says there is not known, so streams must be sealed.
    pub(crate) has_lost_policy: bool,
    /// The configuration that would count without this one, if this one is a file in the current folder. For
    /// security, this one can only be stricter.
    pub(crate) beneath: Option<Box<Self>>,
    /// Where this one was read.
    origin: Option<Origin>,
}

/// Section `[log]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogConfig {
    /// Highest level that is printed: -3 fatal, -2 error, -1 warning, 0 info, 1 to 9 more and more.
    pub level: i8,
    /// File that messages are appended to instead of the standard error stream.
    pub file: Option<PathBuf>,
}

/// Section `[ports]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ports {
    /// UDP port of discovery.
    pub multicast: u16,
    /// First port of the service range; 0 lets the system choose every port.
    pub base: u16,
    /// Number of ports in the service range.
    pub range: u16,
    /// What happens when the whole range is taken.
    pub fallback: PortFallback,
    /// Which IP versions are used.
    pub ip: IpVersions,
}

/// What to do when every port of the service range is taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PortFallback {
    /// Fail.
    Fail,
    /// Take any free port.
    Random,
}

/// The IP versions in use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IpVersions {
    /// IPv4 and IPv6.
    Both,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

/// Section `[multicast]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Multicast {
    /// How far discovery reaches.
    pub scope: Scope,
    /// Local address that discovery listens at, instead of all.
    pub listen_address: Option<ZonedAddress>,
    /// Addresses of this machine.
    pub machine_addresses: Vec<IpAddr>,
    /// Every address that queries go to and outlets listen at, in order, for the scope and the
    /// allowed IP versions.
    pub discovery_addresses: Vec<IpAddr>,
    /// Time to live (IPv4) and hop limit (IPv6) of queries.
    pub ttl: u8,
    /// Local addresses of the interfaces to use; empty: all that can do multicast.
    pub interfaces: Vec<ZonedAddress>,
}

/// How far discovery reaches; each scope includes those before it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// This computer.
    Machine,
    /// This network segment.
    Link,
    /// This site.
    Site,
    /// This organisation.
    Organization,
    /// Everywhere.
    Global,
}

/// Section `[lab]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lab {
    /// Host names or addresses that are asked one by one, apart from multicast.
    pub known_peers: Vec<String>,
    /// Only streams of the same session are found by default.
    pub session_id: String,
    /// Whether streams are searched over TCP as well.
    pub resolve_over_tcp: bool,
}

/// Section `[tuning]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Highest protocol version spoken: 110 or less; 100 selects the old form in both roles.
    pub protocol_version: i32,
    /// Time between two looks of the watchdog.
    pub watchdog_check_interval: Duration,
    /// Silence after which the watchdog looks for the stream again.
    pub watchdog_time_threshold: Duration,
    /// Longest time for which one consumer may block a synchronous outlet.
    pub sync_send_timeout: Duration,
    /// Shortest assumed round-trip time of multicast.
    pub multicast_min_rtt: Duration,
    /// Longest assumed round-trip time of multicast.
    pub multicast_max_rtt: Duration,
    /// Shortest assumed round-trip time of unicast.
    pub unicast_min_rtt: Duration,
    /// Longest assumed round-trip time of unicast.
    pub unicast_max_rtt: Duration,
    /// Additional time between the waves of a continuous resolver.
    pub continuous_resolve_interval: Duration,
    /// Most query results remembered per stream.
    pub max_cached_queries: usize,
    /// Time between two waves of clock probes.
    pub time_update_interval: Duration,
    /// Fewest replies from which a clock offset is estimated.
    pub time_update_min_probes: usize,
    /// Probes per wave.
    pub time_probe_count: usize,
    /// Time between two probes of a wave.
    pub time_probe_interval: Duration,
    /// Time waited for the replies to the last probe.
    pub time_probe_max_rtt: Duration,
    /// Send buffer of an outlet's connections, in bytes; 0: the system's default.
    pub send_socket_buffer_size: usize,
    /// Receive buffer of an outlet's connections, in bytes; 0: the system's default.
    pub receive_socket_buffer_size: usize,
    /// Half-time of the dejitter filter, in seconds; single precision, as in the original.
    pub smoothing_halftime: f32,
    /// Whether outlets replace every timestamp by the time of the push.
    pub force_default_timestamps: bool,
    /// Whether a local socket instead of TCP connects programs of one user on one computer, where the system has
    /// such sockets. [`Config::permits_local_socket`] asks the environment as well.
    pub local_socket: bool,
    /// Whether threads that wait for samples ask the system to run soon after their arrival, where the system can
    /// be asked.
    pub prompt_readers: bool,
    /// Ticks of the timer that the C library asks Windows for, in milliseconds; 0 keeps the system's. Elsewhere
    /// waits end on time.
    pub timer_resolution_ms: u32,
}

impl Config {
    /// Reads a configuration text. Keys that it does not set, or not to a value that can be used, have their defaults.
    ///
    /// - Errors: [`Invalid`] names a line that is not INI, and why. Nothing of such a text is used.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::parse_with_notes(text).map(|(config, _)| config)
    }

    /// The same as [`Self::parse`], with what may be a mistake although it is valid.
    pub fn parse_with_notes(text: &str) -> Result<(Self, Vec<Note>), Invalid> {
        let raw = Ini::parse(text).map_err(|(line, error)| Invalid { line, error })?;
        let mut reader = Reader::new(&raw);
        let parts = Parts::read(&mut reader);
        let notes = reader.finish(&RAW_KEYS);
        let Parts { log, ports, multicast, lab, tuning } = parts;
        Ok((
            Self {
                log,
                ports,
                multicast,
                lab,
                tuning,
                raw,
                is_substitute: false,
                has_lost_policy: false,
                beneath: None,
                origin: None,
            },
            notes,
        ))
    }

    /// Whether programs of one user on one computer are connected by a local socket instead of TCP.
    ///
    /// `SCHWANN_LOCAL_SOCKET` comes before `tuning.LocalSocket`: with any word but `1`, `true`, `yes` or `on` it is no.
    /// - Source: lsl-wire §26.
    pub fn permits_local_socket(&self) -> bool {
        match environment::variable("SCHWANN_LOCAL_SOCKET") {
            Some(word) => word.to_str().and_then(value::switch_word) == Some(true),
            None => self.tuning.local_socket,
        }
    }

    /// Where this configuration was read, for people.
    pub(crate) fn place(&self) -> String {
        self.origin.as_ref().map_or_else(|| String::from("the configuration"), Origin::to_string)
    }

    /// The texts of a `key`, here and in the configuration beneath a file in the current folder. It serves keys
    /// whose stricter text counts.
    pub fn raw_in_each<'a>(&'a self, section: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
        [Some(self), self.beneath.as_deref()]
            .into_iter()
            .flatten()
            .filter_map(move |config| config.raw(section, key))
    }

    /// A key of `[security]` that does not exist: whatever it was to say, no code reads it.
    pub(crate) fn unknown_of_security(&self) -> Option<Note> {
        let is_unknown = |note: &Note| note.is_of_security() && !RAW_KEYS.contains(&note.key.as_str());
        let mut keys = self.raw.entries().map(|(key, entry)| Note {
            line: entry.line,
            key: key.to_owned(),
            kind: NoteKind::UnknownKey,
        });
        keys.find(is_unknown)
    }

    /// The text of any `key` in any `section`, for sections that have no typed fields here.
    pub fn raw(&self, section: &str, key: &str) -> Option<&str> {
        self.raw.get(section, key)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::parse("").expect("an empty text is valid")
    }
}

impl IpVersions {
    /// Whether addresses of the version of `ip` are used.
    pub fn allows(self, ip: IpAddr) -> bool {
        if ip.is_ipv4() { self.v4() } else { self.v6() }
    }

    /// Whether IPv4 is used.
    pub fn v4(self) -> bool {
        self != Self::V6
    }

    /// Whether IPv6 is used.
    pub fn v6(self) -> bool {
        self != Self::V4
    }
}

impl Ports {
    /// The ports of the service range, lowest first. Empty if the system chooses every port.
    pub fn service_range(&self) -> impl DoubleEndedIterator<Item = u16> + use<> {
        let end = if self.base == 0 { 1 } else { u32::from(self.base) + u32::from(self.range) };
        let start = u32::from(self.base).max(1);
        (start..end.min(65_536)).filter_map(|port| u16::try_from(port).ok())
    }
}

/// Keys that others read with [`Config::raw`].
const RAW_KEYS: [&str; 13] = [
    "relay.history",
    "relay.hub",
    "security.core_dumps",
    "security.enabled",
    "security.log",
    "security.off",
    "security.pin",
    "security.plain",
    "security.policy",
    "security.prefer",
    "security.recordings",
    "security.require",
    "security.session_key_lifetime",
];

#[cfg(test)]
mod tests;
