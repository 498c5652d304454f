//! What this computer is itself, and what its networks are made of: VPN, containers, WSL.

use serde_json::Value;

/// Where this program runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// A container with a network of its own.
    pub(super) is_container: bool,
    /// The subsystem of Windows, whose network is behind another one.
    pub(super) is_wsl: bool,
    links: Vec<(String, Kind)>,
}

/// What a network interface is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A bridge to containers or virtual machines on this computer, or what it has of one of them.
    Bridge,
    /// One end of a cable whose other end is in another system on this computer.
    Guest,
    /// A card, or what is not known.
    Usual,
    /// A tunnel.
    Vpn,
}

impl Surroundings {
    /// Reads what `ip -j -d link` prints, and what the system says of itself; `wsl` is how Windows connects its subsystem.
    pub(super) fn new(links: Option<&str>, is_in_container: bool, wsl: Option<&str>) -> Self {
        let parsed = links.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let parsed = parsed.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let has_only_taps = is_in_container && has_only_taps(parsed);
        let links: Vec<_> = parsed.iter().filter_map(|value| link(value, has_only_taps)).collect();
        // A container that shares the network of its computer has that computer's cards, too.
        let is_guest = |(name, kind): &(String, Kind)| {
            *kind == Kind::Guest && (has_only_taps || name.starts_with("eth"))
        };
        Self {
            is_container: is_in_container && links.iter().any(is_guest),
            is_wsl: wsl.is_some_and(|mode| !IN_THE_NETWORK.contains(&mode.trim())),
            links,
        }
    }

    /// What an interface is made of.
    pub(super) fn kind(&self, name: &str) -> Kind {
        let known = self.links.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
        known.unwrap_or_else(|| by_name(name))
    }
}

/// Whether there is no card but taps: the card of a container whose user is not the administrator is one.
fn has_only_taps(links: &[Value]) -> bool {
    let mut cards = links.iter().filter(|link| text_of(link, "/ifname") != "lo" && is_up(link)).peekable();
    cards.peek().is_some() && cards.all(is_tap)
}

/// The system may have tunnels of its own that are never up.
fn is_up(link: &Value) -> bool {
    let flags = link.get("flags").and_then(Value::as_array);
    flags.is_none_or(|flags| flags.iter().any(|flag| flag.as_str() == Some("UP")))
}

fn is_tap(link: &Value) -> bool {
    text_of(link, "/linkinfo/info_kind") == "tun" && text_of(link, "/linkinfo/info_data/type") == "tap"
}

fn text_of<'a>(link: &'a Value, place: &str) -> &'a str {
    link.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

fn link(value: &Value, has_only_taps: bool) -> Option<(String, Kind)> {
    let name = value.get("ifname")?.as_str()?;
    let kind = match text_of(value, "/linkinfo/info_kind") {
        "tun" if has_only_taps => Kind::Guest,
        // A tap in a bridge is the card of a virtual machine.
        "tun" if is_tap(value) && value.get("master").is_some() => Kind::Bridge,
        "tun" | "wireguard" | "ppp" | "ipip" | "gre" | "vti" | "xfrm" | "l2tp" => Kind::Vpn,
        "veth" if value.get("link_netnsid").is_some() && by_name(name) == Kind::Usual => Kind::Guest,
        _ => by_name(name),
    };
    Some((name.to_owned(), kind))
}

/// Whether an interface with this name is usually a card, and leads to other computers.
pub(crate) fn is_card(name: &str) -> bool {
    by_name(name) == Kind::Usual
}

/// What an interface with this name usually is.
fn by_name(name: &str) -> Kind {
    let begins = |starts: &[&str]| {
        starts.iter().any(|start| {
            let rest = name.strip_prefix(start);
            rest.is_some_and(|rest| {
                rest.starts_with(|next: char| next.is_ascii_digit() || next == '-') || rest.is_empty()
            })
        })
    };
    if begins(&["tun", "tap", "wg", "utun", "ppp", "tailscale", "nordlynx", "ipsec", "proton"])
        || name.starts_with("zt")
    {
        Kind::Vpn
    } else if begins(&["docker", "virbr", "lxcbr", "lxdbr", "podman", "cni", "vboxnet", "vmnet", "vnet"])
        || name.starts_with("br-")
        || name.starts_with("veth")
    {
        Kind::Bridge
    } else {
        Kind::Usual
    }
}

/// The ways of WSL in which other computers see it as they see Windows.
///
/// - Source: what `wslinfo --networking-mode` prints (WSL `src/linux/init/wslinfo.cpp`).
const IN_THE_NETWORK: [&str; 3] = ["bridged", "mirrored", "wsl1"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_known_by_what_they_are_made_of_and_else_by_their_names() {
        let text = r#"[{"ifname": "office", "linkinfo": {"info_kind": "tun"}}, {"ifname": "eth0", "link_netnsid": 0,
            "linkinfo": {"info_kind": "veth"}}, {"ifname": "eth1", "link": "eth2", "linkinfo": {"info_kind": "veth"}}]"#;
        let inside = Surroundings::new(Some(text), true, None);
        let kinds =
            ["office", "eth0", "eth1", "wg0", "docker0", "br-4f", "enp3s0", "wlan0", "utun3", "tunnel"];
        assert_eq!(
            kinds.map(|name| inside.kind(name)),
            [
                Kind::Vpn,
                Kind::Guest,
                Kind::Usual,
                Kind::Vpn,
                Kind::Bridge,
                Kind::Bridge,
                Kind::Usual,
                Kind::Usual,
                Kind::Vpn,
                Kind::Usual
            ]
        );
        assert!(inside.is_container);
        assert!(!Surroundings::new(Some(text), false, None).is_container);
        assert!(!Surroundings::new(Some("[]"), true, None).is_container, "it shares the computer's network");
        assert_eq!(Surroundings::new(None, false, None).kind("wg0"), Kind::Vpn);
    }

    #[test]
    fn the_tap_of_a_container_is_its_card_and_elsewhere_a_vpn() {
        let tap = r#"{"ifname": "tap0", "linkinfo": {"info_kind": "tun", "info_data": {"type": "tap"}}}"#;
        let machine = r#"{"ifname": "vnet0", "master": "virbr0", "linkinfo": {"info_kind": "tun", "info_data": {"type": "tap"}}}"#;
        let rootless = format!(r#"[{{"ifname": "lo"}}, {tap}]"#);
        let inside = Surroundings::new(Some(&rootless), true, None);
        assert!(inside.is_container && inside.kind("tap0") == Kind::Guest);
        assert_eq!(Surroundings::new(Some(&rootless), false, None).kind("tap0"), Kind::Vpn);
        let shared = format!(r#"[{{"ifname": "enp3s0"}}, {tap}, {machine}]"#);
        let shared = Surroundings::new(Some(&shared), true, None);
        assert!(!shared.is_container && shared.kind("tap0") == Kind::Vpn, "it shares the computer's network");
        assert_eq!(shared.kind("vnet0"), Kind::Bridge);
        assert_eq!(shared.kind("veth1a2b3c"), Kind::Bridge);
    }

    #[test]
    fn wsl_lies_behind_windows_unless_it_shares_its_network() {
        let is_behind = |mode: &str| Surroundings::new(None, false, Some(mode)).is_wsl;
        assert!(is_behind("nat\n") && is_behind("virtioproxy") && is_behind(""));
        assert!(!is_behind("mirrored\n") && !is_behind("bridged") && !is_behind("wsl1"));
        assert!(!Surroundings::new(None, false, None).is_wsl);
    }
}
