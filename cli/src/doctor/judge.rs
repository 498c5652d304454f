//! What the facts mean: one sentence and one command each.

use core::net::IpAddr;
use std::io;

use schwann::config::{NoteKind, Outcome, PortFallback, Scope};
use schwann::security::{Explained, Refusal};

use crate::live::verdict::Trouble;

use super::{
    Finding, Weight,
    facts::{Facts, Host, Interface, Stream},
    ports::Knock,
    probe::Echo,
};

/// Makes findings of facts, the worst first.
pub(crate) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    configuration(facts, &mut findings);
    keys(facts, &mut findings);
    scope(facts, &mut findings);
    interfaces(facts, &mut findings);
    ports(facts, &mut findings);
    streams(facts, &mut findings);
    unseen(facts, &mut findings);
    if let Some(host) = &facts.host {
        judge_host(host, facts, &mut findings);
    }
    findings.sort_by_key(|finding| finding.weight);
    findings
}

fn add(
    findings: &mut Vec<Finding>,
    weight: Weight,
    code: &'static str,
    what: String,
    fix: impl Into<String>,
) {
    findings.push(Finding { code, weight, what, fix: fix.into() });
}

fn configuration(facts: &Facts, findings: &mut Vec<Finding>) {
    for attempt in &facts.report.attempts {
        let origin = &attempt.origin;
        match &attempt.outcome {
            Outcome::Invalid(invalid) => add(
                findings,
                Weight::Fault,
                "config-invalid",
                format!("{origin} is not used at all, because {invalid}."),
                format!("${{EDITOR:-nano}} {origin}"),
            ),
            Outcome::Unreadable(kind) => add(
                findings,
                Weight::Fault,
                "config-unreadable",
                format!(
                    "The configuration {origin} cannot be read ({kind}), so others or the defaults are in use."
                ),
                format!("ls -l {origin}; echo $LSLAPICFG"),
            ),
            Outcome::Loaded { notes } => {
                for note in notes.iter().filter(|note| note.kind == NoteKind::UnknownKey) {
                    let what = format!("{origin} has a key that nothing reads: {note}.");
                    add(
                        findings,
                        Weight::Warning,
                        "config-unknown-key",
                        what,
                        format!("${{EDITOR:-nano}} {origin}"),
                    );
                }
            }
            _ => {}
        }
    }
    for peer in &facts.unknown_peers {
        add(
            findings,
            Weight::Fault,
            "peer-unknown",
            format!("The known peer {peer:?} does not resolve, so it is never asked for its streams."),
            format!(
                "getent hosts {peer}    # then write its address into [lab] KnownPeers of {}",
                facts.config_path
            ),
        );
    }
}

fn keys(facts: &Facts, findings: &mut Vec<Finding>) {
    if let Some(reason) = &facts.unsealed {
        add(
            findings,
            Weight::Fault,
            "keys",
            format!("No stream can be sealed on this computer: {reason}."),
            "schwann keys status",
        );
    }
}

fn scope(facts: &Facts, findings: &mut Vec<Finding>) {
    let multicast = &facts.config.multicast;
    if multicast.scope == Scope::Machine && facts.config.lab.known_peers.is_empty() {
        add(
            findings,
            Weight::Fault,
            "scope",
            "ResolveScope is machine, so streams of other computers are not looked for.".to_owned(),
            format!("set ResolveScope=site in the section [multicast] of {}", facts.config_path),
        );
    } else if multicast.ttl == 0 {
        add(
            findings,
            Weight::Fault,
            "ttl",
            "TTLOverride is 0, so queries never leave this computer.".to_owned(),
            format!("remove TTLOverride from the section [multicast] of {}", facts.config_path),
        );
    }
    for wanted in &multicast.interfaces {
        let is_here = facts.interfaces.iter().any(|interface| interface.ip == wanted.ip);
        if !is_here {
            add(
                findings,
                Weight::Fault,
                "interface-gone",
                format!(
                    "The configuration names the interface with {}, and no interface has that address now.",
                    wanted.ip
                ),
                format!(
                    "ip -brief address    # then correct Interfaces in the section [multicast] of {}",
                    facts.config_path
                ),
            );
        }
    }
}

fn interfaces(facts: &Facts, findings: &mut Vec<Finding>) {
    let outward: Vec<_> = facts.interfaces.iter().filter(|interface| !interface.ip.is_loopback()).collect();
    if outward.is_empty() {
        let what = "No network is up but loopback, so only streams of this computer can be seen.".to_owned();
        return add(
            findings,
            Weight::Fault,
            "loopback-only",
            what,
            "ip link    # then: sudo ip link set NAME up",
        );
    }
    if outward.iter().all(|interface| !interface.has_multicast) {
        let name = &outward[0].name;
        let what = format!("Multicast is switched off at {name}, so no query leaves and none comes in.");
        add(findings, Weight::Fault, "multicast-off", what, format!("sudo ip link set {name} multicast on"));
    }
    for interface in &outward {
        judge_echo(interface, facts, findings);
    }
    if !facts.has_multicast_route {
        let name = &outward[0].name;
        add(
            findings,
            Weight::Warning,
            "no-multicast-route",
            "There is no route for multicast, so programs that do not choose an interface themselves find nothing.".to_owned(),
            format!("sudo ip route add 224.0.0.0/4 dev {name}"),
        );
    }
}

fn judge_echo(interface: &Interface, facts: &Facts, findings: &mut Vec<Finding>) {
    let name = &interface.name;
    match interface.echo {
        Some(Echo::NotSent(io::ErrorKind::PermissionDenied)) => add(
            findings,
            Weight::Fault,
            "firewall-out",
            format!("The firewall of this computer does not let queries out through {name}."),
            allow(facts, "OUTPUT", "udp"),
        ),
        Some(Echo::NotSent(kind)) => add(
            findings,
            Weight::Fault,
            "multicast-not-sent",
            format!("The system does not send multicast through {name} ({kind})."),
            format!("sudo ip route add 224.0.0.0/4 dev {name}"),
        ),
        Some(Echo::Swallowed) => add(
            findings,
            Weight::Fault,
            "firewall-in",
            format!(
                "What comes in through {name} at the ports of LSL is swallowed by the firewall of this computer."
            ),
            allow(facts, "INPUT", "udp"),
        ),
        Some(Echo::Heard) | None => {}
    }
}

fn ports(facts: &Facts, findings: &mut Vec<Finding>) {
    let ports = &facts.config.ports;
    let count = ports.service_range().count();
    if count == 0 || facts.taken_ports < count {
        return;
    }
    let (weight, follows) = match ports.fallback {
        PortFallback::Fail => {
            (Weight::Fault, "no further stream can be sent from here, and no search can listen")
        }
        PortFallback::Random => (Weight::Warning, "further streams take random ports, which firewalls block"),
    };
    add(
        findings,
        weight,
        "ports-taken",
        format!("All {count} ports from {} are taken, so {follows}.", ports.base),
        format!(
            "set PortRange=256 in the section [ports] of {}, on every computer of the lab",
            facts.config_path
        ),
    );
}

fn streams(facts: &Facts, findings: &mut Vec<Finding>) {
    for stream in &facts.streams {
        judge_stream(stream, facts, findings);
    }
    let session = &facts.config.lab.session_id;
    let mut others: Vec<_> =
        facts.streams.iter().map(|stream| stream.info.session_id().to_string()).collect();
    others.retain(|other| other != session);
    others.sort_unstable();
    others.dedup();
    let has_own = facts.streams.iter().any(|stream| stream.info.session_id().to_string() == *session);
    for other in others {
        let names = names(facts, |stream| stream.info.session_id().to_string() == other);
        let weight = if has_own { Weight::Warning } else { Weight::Fault };
        add(
            findings,
            weight,
            "session",
            format!(
                "{names} belongs to the session {other:?}, and this computer to {session:?}, so it is not seen here."
            ),
            format!("set SessionID={other} in the section [lab] of {}", facts.config_path),
        );
    }
    duplicates(facts, findings);
}

fn judge_stream(stream: &Stream, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, host) = (stream.info.name(), stream.info.hostname());
    let version = stream.info.version();
    if version / 100 > 1 {
        let text = format!("{}.{:02}", version / 100, version % 100);
        let what = format!("{name} of {host} speaks protocol {text}, which this program does not know.");
        return add(findings, Weight::Fault, "version", what, "schwann --version    # then get a newer one");
    }
    match stream.data {
        Knock::Open => {}
        Knock::Refused => add(
            findings,
            Weight::Fault,
            "data-refused",
            format!(
                "{name} of {host} was found, but its data port is closed: it is just ending, or something is in between."
            ),
            "schwann doctor    # again, in a few seconds",
        ),
        Knock::Silent | Knock::Unreachable => add(
            findings,
            Weight::Fault,
            "data-blocked",
            format!("{name} of {host} is seen, but its data does not come through: a firewall blocks TCP."),
            format!("on {host}: {}", allow(facts, "INPUT", "tcp")),
        ),
    }
    match stream.round_trip {
        Some(seconds) if seconds > SLOW_SECONDS => add(
            findings,
            Weight::Warning,
            "clock-uncertain",
            format!(
                "The clock of {host} is known to ± {:.0} ms alone, because the way to it is slow.",
                seconds * 500.0
            ),
            format!("ping -c 20 {}    # then use a cable instead of radio", address(stream)),
        ),
        None if stream.refusal.is_some() => {
            let refusal = stream.refusal.unwrap_or(Refusal::MembersOnly);
            add(
                findings,
                Weight::Fault,
                "sealed",
                format!("{name} of {host} cannot be received: {}.", Explained(refusal)),
                "schwann keys status    # here and there; compare the line lab",
            );
        }
        // Without usable keys nothing answers, and the network is not to blame.
        None if facts.unsealed.is_some() => {}
        None if stream.data == Knock::Open => add(
            findings,
            Weight::Fault,
            "clock-blocked",
            format!(
                "The clock of {host} does not answer, so stamps of {name} cannot be compared with others."
            ),
            format!("on {host}: {}", allow(facts, "INPUT", "udp")),
        ),
        _ => {}
    }
    if let Some(trouble) = stream.trouble {
        judge_samples(stream, trouble, findings);
    }
}

/// What comes of a stream that can be reached.
fn judge_samples(stream: &Stream, trouble: Trouble, findings: &mut Vec<Finding>) {
    let (name, host) = (stream.info.name(), stream.info.hostname());
    let watch = format!("schwann watch {:?}    # shows its samples as they come", name.to_string_lossy());
    let (code, weight, fix) = match trouble {
        Trouble::NoSamples { .. } | Trouble::Stopped { .. } => ("no-samples", Weight::Fault, watch),
        Trouble::Rate { .. } => {
            ("rate", Weight::Fault, "schwann    # shows the rate all the while".to_owned())
        }
        Trouble::Ahead { .. } | Trouble::Behind { .. } => ("stamps", Weight::Fault, watch),
        Trouble::Gaps { .. } => {
            ("gaps", Weight::Warning, "schwann    # shows the gaps all the while".to_owned())
        }
        // Twins have a finding of their own for all of them, and connections are judged by their ports.
        _ => return,
    };
    let Some(why) = trouble.explained() else { return };
    add(findings, weight, code, format!("{name} of {host} {why}."), fix);
}

/// Streams that are there and that no search finds.
fn unseen(facts: &Facts, findings: &mut Vec<Finding>) {
    for unseen in &facts.unseen {
        let fix = "schwann keys status    # here and there; compare the lines lab and in force";
        add(findings, Weight::Fault, "hidden", format!("{unseen}."), fix);
    }
    if facts.unvisited > 0 {
        let what = format!("{} more streams were found, and not looked at.", facts.unvisited);
        add(findings, Weight::Warning, "too-many", what, "schwann    # shows them all");
    }
}

fn duplicates(facts: &Facts, findings: &mut Vec<Finding>) {
    let key = |stream: &Stream| {
        let info = &stream.info;
        [info.name(), info.stream_type(), info.source_id()].map(|text| text.to_string())
    };
    let mut keys: Vec<_> = facts.streams.iter().filter(|stream| stream.has_twin).map(key).collect();
    keys.sort_unstable();
    for group in keys.chunk_by(|one, other| one == other).filter(|group| group.len() > 1) {
        let ([name, _, source], count) = (&group[0], group.len());
        add(
            findings,
            Weight::Fault,
            "duplicate-source",
            format!(
                "{count} streams are called {name} and have the source id {source:?}, so a receiver cannot find its own again."
            ),
            format!("give each sender a source id of its own instead of {source:?}"),
        );
    }
}

fn judge_host(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let Host { name, addresses, .. } = host;
    if addresses.is_empty() {
        let what = format!("No computer called {name:?} was found.");
        return add(findings, Weight::Fault, "host-unknown", what, format!("getent hosts {name}"));
    }
    let is_there = |stream: &&Stream| addresses.iter().any(|ip| address(stream) == ip.to_string());
    let found: Vec<_> = facts.streams.iter().filter(is_there).collect();
    if found.is_empty() {
        return judge_unseen_host(host, facts, findings);
    }
    if found.iter().any(|stream| stream.by_multicast) || facts.config.multicast.scope == Scope::Machine {
        return;
    }
    let is_near = addresses.iter().any(|&ip| facts.interfaces.iter().any(|interface| interface.reaches(ip)));
    let (code, why) = if is_near {
        ("multicast-lost", "multicast does not come through: a firewall or the network switch swallows it")
    } else {
        ("other-subnet", "it is in another subnet, and routers do not pass multicast on")
    };
    add(
        findings,
        Weight::Fault,
        code,
        format!("{name} is found only when asked directly; {why}."),
        format!("set KnownPeers={{{name}}} in the section [lab] of {}", facts.config_path),
    );
}

/// The host has an address, and none of its streams was found.
fn judge_unseen_host(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let (name, ip) = (&host.name, host.addresses[0]);
    let has = |knock: Knock| host.knocks.contains(&knock);
    if facts.unsealed.is_some() && has(Knock::Open) {
        // The finding on keys says why; a firewall has no part in it.
        return;
    }
    if let Some(refusal) = host.refusal {
        let what = format!("{name} has streams, but not for this computer: {}.", Explained(refusal));
        let fix = "schwann keys status    # here and there; schwann keys import joins the lab";
        add(findings, Weight::Fault, "sealed", what, fix);
    } else if host.is_silent {
        let what = format!(
            "{name} has streams that let this computer in, but do not answer its searches: the clocks of the two \
             computers differ by more than 30 s."
        );
        let fix = "date -u    # here and there; where it is wrong: sudo timedatectl set-ntp true";
        add(findings, Weight::Fault, "clock-differs", what, fix);
    } else if has(Knock::Open) {
        let what = format!("{name} has streams, but its answers do not come through: a firewall blocks UDP.");
        add(
            findings,
            Weight::Fault,
            "udp-blocked",
            what,
            format!("on {name}: {}", allow(facts, "INPUT", "udp")),
        );
    } else if has(Knock::Refused) {
        let what = format!(
            "{name} is there, but no program on it sends a stream at the ports that this computer asks."
        );
        add(
            findings,
            Weight::Fault,
            "no-outlet",
            what,
            format!("on {name}: schwann    # shows what is sent there"),
        );
    } else if has(Knock::Unreachable) {
        let what = format!(
            "There is no way to {name}: it is off, or in a network that this computer does not reach."
        );
        add(findings, Weight::Fault, "host-unreachable", what, format!("ip route get {ip}; ping -c 3 {ip}"));
    } else {
        let what = format!(
            "{name} does not answer at any port of LSL: it is off, or its firewall swallows everything."
        );
        add(
            findings,
            Weight::Fault,
            "host-silent",
            what,
            format!("on {name}: {}", allow(facts, "INPUT", "tcp")),
        );
    }
}

/// The command that opens the ports of LSL, for the firewall of the usual systems.
fn allow(facts: &Facts, chain: &str, protocol: &str) -> String {
    let ports = &facts.config.ports;
    let last = ports.service_range().next_back().unwrap_or(ports.multicast).max(ports.multicast);
    let first = ports.multicast.min(ports.base.max(1));
    if cfg!(windows) {
        return format!(
            "netsh advfirewall firewall add rule name=LSL dir=in action=allow protocol={protocol} localport={first}-{last}"
        );
    }
    // Queries go to the ports of LSL, and answers to whatever port they came from.
    let side = if chain == "OUTPUT" { String::new() } else { format!(" --dport {first}:{last}") };
    format!("sudo iptables -I {chain} -p {protocol}{side} -j ACCEPT")
}

fn names(facts: &Facts, is_meant: impl Fn(&Stream) -> bool) -> String {
    let mut names: Vec<_> = facts
        .streams
        .iter()
        .filter(|stream| is_meant(stream))
        .map(|stream| stream.info.name().to_string())
        .collect();
    names.sort_unstable();
    match &names[..] {
        [one] => one.clone(),
        [one, more @ ..] => format!("{one} (and {} more)", more.len()),
        [] => String::new(),
    }
}

/// Where a stream was found, without the zone.
fn address(stream: &Stream) -> String {
    use schwann_proto::stream_info::IpVersion;
    let texts =
        [IpVersion::V4, IpVersion::V6].map(|version| stream.info.endpoint(version).address.to_string());
    let text = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let text = text.split('%').next().unwrap_or_default().to_owned();
    text.parse::<IpAddr>().map_or(text, |ip| ip.to_string())
}

/// Round trips beyond this make stamps less exact than one sample of most recordings.
const SLOW_SECONDS: f64 = 0.02;
