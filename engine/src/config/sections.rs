//! The sections and keys of the file, with their defaults and limits.
//!
//! Source: lsl-wire §2, §3.

use core::time::Duration;

use schwann_proto::postproc::SMOOTHING_HALFTIME;
use schwann_proto::stream::{BASE_PORT, MULTICAST_PORT, PORT_RANGE, PROTOCOL_VERSION};

use super::value::{Reader, ZonedAddress};
use super::{IpVersions, Lab, LogConfig, Multicast, PortFallback, Ports, Scope, Tuning};

/// The typed sections, before they are joined with the raw text.
pub(super) struct Parts {
    pub(super) log: LogConfig,
    pub(super) ports: Ports,
    pub(super) multicast: Multicast,
    pub(super) lab: Lab,
    pub(super) tuning: Tuning,
}

impl Parts {
    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        let ports = Ports::read(reader);
        Self {
            log: LogConfig::read(reader),
            multicast: Multicast::read(reader, ports.ip),
            lab: Lab::read(reader),
            tuning: Tuning::read(reader),
            ports,
        }
    }
}

impl LogConfig {
    fn read(reader: &mut Reader<'_>) -> Self {
        let level = reader.integer("log.level", 0, -3..=9);
        let file = reader.text("log.file", "");
        Self { level, file: (!file.is_empty()).then(|| file.into()) }
    }
}

impl Ports {
    fn read(reader: &mut Reader<'_>) -> Self {
        let choices = [
            ("allow", IpVersions::Both),
            ("allowed", IpVersions::Both),
            ("disable", IpVersions::V4),
            ("disabled", IpVersions::V4),
            ("force", IpVersions::V6),
            ("forced", IpVersions::V6),
        ];
        let random = reader.switch("ports.AllowRandomPorts", true);
        Self {
            multicast: reader.integer("ports.MulticastPort", MULTICAST_PORT, 0..=65_535),
            base: reader.integer("ports.BasePort", BASE_PORT, 0..=65_535),
            range: reader.integer("ports.PortRange", PORT_RANGE, 0..=65_535),
            fallback: if random { PortFallback::Random } else { PortFallback::Fail },
            ip: reader.choice("ports.IPv6", IpVersions::Both, "allow, disable, force", &choices),
        }
    }
}

impl Multicast {
    fn read(reader: &mut Reader<'_>, ip: IpVersions) -> Self {
        let scope = reader.choice("multicast.ResolveScope", Scope::Site, SCOPE_NAMES, &SCOPES);
        let group = reader.ipv6_groups(GROUP_KEY, DEFAULT_GROUP);
        let (mut machine, mut list, mut ttl) = (Vec::new(), Vec::new(), 0_u8);
        for level in &LEVELS {
            let mut addresses = reader.addresses(level.key, level.default);
            let ipv6 = level.ipv6_prefix.map(|prefix| format!("{prefix}:{group}"));
            addresses.extend(ipv6.and_then(|address| ZonedAddress::parse(&address)));
            if level.scope == Scope::Machine {
                machine = addresses.iter().map(|address| address.ip).collect();
            }
            if level.scope <= scope {
                list.append(&mut addresses);
                ttl = level.ttl;
            }
        }
        let replacement = reader.addresses("multicast.AddressesOverride", &[]);
        let list = if replacement.is_empty() { list } else { replacement };
        let override_ttl: i32 = reader.integer("multicast.TTLOverride", -1, i64::from(i32::MIN)..=255);
        Self {
            scope,
            listen_address: reader.address("multicast.ListenAddress"),
            machine_addresses: machine,
            discovery_addresses: list.into_iter().map(|a| a.ip).filter(|&a| ip.allows(a)).collect(),
            ttl: u8::try_from(override_ttl).unwrap_or(ttl),
            interfaces: reader.addresses("multicast.Interfaces", &[]),
        }
    }
}

impl Lab {
    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            known_peers: reader.set("lab.KnownPeers", &[]),
            session_id: reader.text("lab.SessionID", "default"),
            resolve_over_tcp: reader.switch("lab.ResolveOverTCP", false),
        }
    }
}

impl Tuning {
    fn read(reader: &mut Reader<'_>) -> Self {
        reader.accept_without_effect(&WITHOUT_EFFECT);
        let ms = Duration::from_millis;
        let watchdog_time_threshold = reader.seconds("tuning.WatchdogTimeThreshold", ms(15_000));
        Self {
            protocol_version: reader
                .integer("tuning.UseProtocolVersion", PROTOCOL_VERSION, ANY_COUNT)
                .min(PROTOCOL_VERSION),
            watchdog_check_interval: reader.seconds("tuning.WatchdogCheckInterval", ms(15_000)),
            watchdog_time_threshold,
            sync_send_timeout: reader.seconds("tuning.SyncSendTimeout", watchdog_time_threshold),
            multicast_min_rtt: reader.seconds("tuning.MulticastMinRTT", ms(500)),
            multicast_max_rtt: reader.seconds("tuning.MulticastMaxRTT", ms(3_000)),
            unicast_min_rtt: reader.seconds("tuning.UnicastMinRTT", ms(750)),
            unicast_max_rtt: reader.seconds("tuning.UnicastMaxRTT", ms(5_000)),
            continuous_resolve_interval: reader.seconds("tuning.ContinuousResolveInterval", ms(500)),
            max_cached_queries: reader.integer("tuning.MaxCachedQueries", 100, ANY_COUNT),
            time_update_interval: reader.seconds("tuning.TimeUpdateInterval", ms(2_000)),
            time_update_min_probes: reader.integer("tuning.TimeUpdateMinProbes", 6, ANY_COUNT),
            time_probe_count: reader.integer("tuning.TimeProbeCount", 8, ANY_COUNT),
            time_probe_interval: reader.seconds("tuning.TimeProbeInterval", ms(64)),
            time_probe_max_rtt: reader.seconds("tuning.TimeProbeMaxRTT", ms(128)),
            send_socket_buffer_size: reader.integer("tuning.SendSocketBufferSize", 0, ANY_COUNT),
            receive_socket_buffer_size: reader.integer("tuning.ReceiveSocketBufferSize", 0, ANY_COUNT),
            smoothing_halftime: reader.number("tuning.SmoothingHalftime", SMOOTHING_HALFTIME),
            force_default_timestamps: reader.switch("tuning.ForceDefaultTimestamps", false),
            local_socket: reader.switch("tuning.LocalSocket", true),
            prompt_readers: reader.switch("tuning.PromptReaders", true),
            timer_resolution_ms: reader.integer("tuning.TimerResolution", 1, ANY_COUNT),
        }
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

/// Keys of the original that change nothing here: buffers grow as samples come.
pub(super) const WITHOUT_EFFECT: [&str; 4] = [
    "tuning.InletBufferReserveMs",
    "tuning.InletBufferReserveSamples",
    "tuning.OutletBufferReserveMs",
    "tuning.OutletBufferReserveSamples",
];
