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
    /// A bridge to containers or virtual machines on this computer.
    Bridge,
    /// One end of a cable whose other end is in another system on this computer.
    Guest,
    /// A card, or what is not known.
    Usual,
    /// A tunnel.
    Vpn,
}

impl Surroundings {
    /// Reads what `ip -j -d link` prints, and what the system says of itself.
    pub(super) fn new(links: Option<&str>, is_in_container: bool, is_wsl: bool) -> Self {
        let parsed = links.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let parsed = parsed.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let links: Vec<_> = parsed.iter().filter_map(link).collect();
        // A container that shares the network of its computer has that computer's cards, too.
        let is_guest = |(name, kind): &(String, Kind)| *kind == Kind::Guest && name.starts_with("eth");
        Self { is_container: is_in_container && links.iter().any(is_guest), is_wsl, links }
    }

    /// What an interface is made of.
    pub(super) fn kind(&self, name: &str) -> Kind {
        let known = self.links.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
        known.unwrap_or_else(|| by_name(name))
    }
}

fn link(value: &Value) -> Option<(String, Kind)> {
    let name = value.get("ifname")?.as_str()?;
    let kind = value.get("linkinfo").and_then(|info| info.get("info_kind")?.as_str());
    let kind = match kind {
        Some("tun" | "wireguard" | "ppp" | "ipip" | "gre" | "vti" | "xfrm" | "l2tp") => Kind::Vpn,
        Some("bridge") => by_name(name),
        Some("veth") if value.get("link_netnsid").is_some() => Kind::Guest,
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
    } else if begins(&["docker", "br-", "virbr", "lxcbr", "lxdbr", "podman", "cni"])
        || name.starts_with("br-")
    {
        Kind::Bridge
    } else {
        Kind::Usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_known_by_what_they_are_made_of_and_else_by_their_names() {
        let text = r#"[{"ifname": "office", "linkinfo": {"info_kind": "tun"}}, {"ifname": "eth0", "link_netnsid": 0,
            "linkinfo": {"info_kind": "veth"}}, {"ifname": "eth1", "link": "eth2", "linkinfo": {"info_kind": "veth"}}]"#;
        let inside = Surroundings::new(Some(text), true, false);
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
        assert!(!Surroundings::new(Some(text), false, false).is_container);
        assert!(!Surroundings::new(Some("[]"), true, false).is_container, "it shares the computer's network");
        assert_eq!(Surroundings::new(None, false, false).kind("wg0"), Kind::Vpn);
    }
}
