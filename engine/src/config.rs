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
mod value;

use core::{net::IpAddr, time::Duration};
use std::path::PathBuf;

use schwann_proto::postproc::SMOOTHING_HALFTIME;
use schwann_proto::stream::{BASE_PORT, MULTICAST_PORT, PORT_RANGE, PROTOCOL_VERSION};

use self::value::{Reader, Rejected};
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
    /// The configuration that would count without this one, if this one is a file in the current folder: of security it
    /// can only be stricter.
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
    /// Every address that queries go to and that outlets listen at, in order, for the scope and the
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
    /// Whether programs of one user on one computer are connected by a local socket instead of TCP, where the system
    /// has such sockets; [`Config::permits_local_socket`] asks the environment as well.
    pub local_socket: bool,
    /// Whether threads that wait for samples ask the system to run soon once there are some, where it can be asked.
    pub prompt_readers: bool,
}

impl Config {
    /// Reads a configuration text; keys that it does not set have their defaults.
    ///
    /// - Errors: [`Invalid`] names the line and the reason. Nothing of a wrong text is used.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::parse_with_notes(text).map(|(config, _)| config)
    }

    /// The same as [`Self::parse`], with what may be a mistake although it is valid.
    pub fn parse_with_notes(text: &str) -> Result<(Self, Vec<Note>), Invalid> {
        let raw = Ini::parse(text).map_err(|(line, error)| Invalid::Syntax { line, error })?;
        let mut reader = Reader::new(&raw);
        let parts =
            Parts::read(&mut reader).map_err(|(line, key, error)| Invalid::Value { line, key, error })?;
        let notes = reader.finish(&RAW_SECTIONS);
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

    /// Where this configuration was read, for people: with its whole path, as a program's folder is easily forgotten.
    pub(crate) fn place(&self) -> String {
        match &self.origin {
            None => String::from("the configuration"),
            Some(Origin::Content) => Origin::Content.to_string(),
            Some(Origin::File(path)) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
        }
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

/// The typed sections, before they are joined with the raw text.
struct Parts {
    log: LogConfig,
    ports: Ports,
    multicast: Multicast,
    lab: Lab,
    tuning: Tuning,
}

impl Parts {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rejected> {
        let ports = Ports::read(reader)?;
        Ok(Self {
            log: LogConfig::read(reader)?,
            multicast: Multicast::read(reader, ports.ip)?,
            lab: Lab::read(reader)?,
            tuning: Tuning::read(reader)?,
            ports,
        })
    }
}

impl LogConfig {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rejected> {
        let level = reader.integer("log.level", 0, -3..=9)?;
        let file = reader.text("log.file", "");
        Ok(Self { level, file: (!file.is_empty()).then(|| file.into()) })
    }
}

impl Ports {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rejected> {
        let choices = [
            ("allow", IpVersions::Both),
            ("allowed", IpVersions::Both),
            ("disable", IpVersions::V4),
            ("disabled", IpVersions::V4),
            ("force", IpVersions::V6),
            ("forced", IpVersions::V6),
        ];
        let random = reader.switch("ports.AllowRandomPorts", true)?;
        Ok(Self {
            multicast: reader.integer("ports.MulticastPort", MULTICAST_PORT, 0..=65_535)?,
            base: reader.integer("ports.BasePort", BASE_PORT, 0..=65_535)?,
            range: reader.integer("ports.PortRange", PORT_RANGE, 0..=65_535)?,
            fallback: if random { PortFallback::Random } else { PortFallback::Fail },
            ip: reader.choice("ports.IPv6", IpVersions::Both, "allow, disable, force", &choices)?,
        })
    }
}

impl Multicast {
    fn read(reader: &mut Reader<'_>, ip: IpVersions) -> Result<Self, Rejected> {
        let scope = reader.choice("multicast.ResolveScope", Scope::Site, SCOPE_NAMES, &SCOPES)?;
        let group = reader.text(GROUP_KEY, DEFAULT_GROUP);
        let (mut machine, mut list, mut ttl) = (Vec::new(), Vec::new(), 0_u8);
        for level in &LEVELS {
            let mut addresses = reader.addresses(level.key, level.default)?;
            if let Some(prefix) = level.ipv6_prefix {
                let address = ZonedAddress::parse(&format!("{prefix}:{group}"));
                addresses.push(address.ok_or_else(|| reader.wrong(GROUP_KEY, ValueError::Address))?);
            }
            if level.scope == Scope::Machine {
                machine = addresses.iter().map(|address| address.ip).collect();
            }
            if level.scope <= scope {
                list.append(&mut addresses);
                ttl = level.ttl;
            }
        }
        let replacement = reader.addresses("multicast.AddressesOverride", &[])?;
        let list = if replacement.is_empty() { list } else { replacement };
        let override_ttl: i32 = reader.integer("multicast.TTLOverride", -1, i64::from(i32::MIN)..=255)?;
        Ok(Self {
            scope,
            listen_address: reader.address("multicast.ListenAddress")?,
            machine_addresses: machine,
            discovery_addresses: list.into_iter().map(|a| a.ip).filter(|&a| ip.allows(a)).collect(),
            ttl: u8::try_from(override_ttl).unwrap_or(ttl),
            interfaces: reader.addresses("multicast.Interfaces", &[])?,
        })
    }
}

impl Lab {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rejected> {
        Ok(Self {
            known_peers: reader.set("lab.KnownPeers", &[]),
            session_id: reader.text("lab.SessionID", "default"),
            resolve_over_tcp: reader.switch("lab.ResolveOverTCP", false)?,
        })
    }
}

impl Tuning {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Rejected> {
        reader.accept_without_effect(&WITHOUT_EFFECT);
        let ms = Duration::from_millis;
        let watchdog_time_threshold = reader.seconds("tuning.WatchdogTimeThreshold", ms(15_000))?;
        Ok(Self {
            protocol_version: reader
                .integer("tuning.UseProtocolVersion", PROTOCOL_VERSION, ANY_COUNT)?
                .min(PROTOCOL_VERSION),
            watchdog_check_interval: reader.seconds("tuning.WatchdogCheckInterval", ms(15_000))?,
            watchdog_time_threshold,
            sync_send_timeout: reader.seconds("tuning.SyncSendTimeout", watchdog_time_threshold)?,
            multicast_min_rtt: reader.seconds("tuning.MulticastMinRTT", ms(500))?,
            multicast_max_rtt: reader.seconds("tuning.MulticastMaxRTT", ms(3_000))?,
            unicast_min_rtt: reader.seconds("tuning.UnicastMinRTT", ms(750))?,
            unicast_max_rtt: reader.seconds("tuning.UnicastMaxRTT", ms(5_000))?,
            continuous_resolve_interval: reader.seconds("tuning.ContinuousResolveInterval", ms(500))?,
            max_cached_queries: reader.integer("tuning.MaxCachedQueries", 100, ANY_COUNT)?,
            time_update_interval: reader.seconds("tuning.TimeUpdateInterval", ms(2_000))?,
            time_update_min_probes: reader.integer("tuning.TimeUpdateMinProbes", 6, ANY_COUNT)?,
            time_probe_count: reader.integer("tuning.TimeProbeCount", 8, ANY_COUNT)?,
            time_probe_interval: reader.seconds("tuning.TimeProbeInterval", ms(64))?,
            time_probe_max_rtt: reader.seconds("tuning.TimeProbeMaxRTT", ms(128))?,
            send_socket_buffer_size: reader.integer("tuning.SendSocketBufferSize", 0, ANY_COUNT)?,
            receive_socket_buffer_size: reader.integer("tuning.ReceiveSocketBufferSize", 0, ANY_COUNT)?,
            smoothing_halftime: reader.number("tuning.SmoothingHalftime", SMOOTHING_HALFTIME)?,
            force_default_timestamps: reader.switch("tuning.ForceDefaultTimestamps", false)?,
            local_socket: reader.switch("tuning.LocalSocket", true)?,
            prompt_readers: reader.switch("tuning.PromptReaders", true)?,
        })
    }
}

/// What one scope adds to the list of addresses. Source: lsl-wire §3.
struct Level {
    scope: Scope,
    key: &'static str,
    default: &'static [&'static str],
    ipv6_prefix: Option<&'static str>,
    ttl: u8,
}

const LEVELS: [Level; 5] = [
    Level {
        scope: Scope::Machine,
        key: "multicast.MachineAddresses",
        default: &["127.0.0.1"],
        ipv6_prefix: None,
        ttl: 0,
    },
    Level {
        scope: Scope::Link,
        key: "multicast.LinkAddresses",
        default: &["255.255.255.255", "224.0.0.1", "224.0.0.183"],
        ipv6_prefix: Some("FF02"),
        ttl: 1,
    },
    Level {
        scope: Scope::Site,
        key: "multicast.SiteAddresses",
        default: &["239.255.172.215"],
        ipv6_prefix: Some("FF05"),
        ttl: 24,
    },
    Level {
        scope: Scope::Organization,
        key: "multicast.OrganizationAddresses",
        default: &[],
        ipv6_prefix: Some("FF08"),
        ttl: 32,
    },
    Level {
        scope: Scope::Global,
        key: "multicast.GlobalAddresses",
        default: &[],
        ipv6_prefix: Some("FF0E"),
        ttl: 255,
    },
];

const SCOPES: [(&str, Scope); 5] = [
    ("machine", Scope::Machine),
    ("link", Scope::Link),
    ("site", Scope::Site),
    ("organization", Scope::Organization),
    ("global", Scope::Global),
];
const SCOPE_NAMES: &str = "machine, link, site, organization, global";
const GROUP_KEY: &str = "multicast.IPv6MulticastGroup";
const DEFAULT_GROUP: &str = "113D:6FDD:2C17:A643:FFE2:1BD1:3CD2";

const ANY_COUNT: core::ops::RangeInclusive<i64> = 0..=0x7fff_ffff;

/// Keys of the original that change nothing here: buffers grow as samples come, and no timer of Windows is changed.
const WITHOUT_EFFECT: [&str; 5] = [
    "tuning.InletBufferReserveMs",
    "tuning.InletBufferReserveSamples",
    "tuning.OutletBufferReserveMs",
    "tuning.OutletBufferReserveSamples",
    "tuning.TimerResolution",
];

/// Sections that others read with [`Config::raw`]; their keys are never reported as unknown.
const RAW_SECTIONS: [&str; 1] = ["security"];

#[cfg(test)]
mod tests;
