//! The firewall of Windows: what it says of programs, and what kind each network is of. And which program manages that of
//! Linux.

use schwann_recorder::words::quoted;

/// A rule of the firewall that is in force.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Rule {
    /// What a person sees as its name.
    pub(super) name: String,
    /// The program that it is about, with its path.
    pub(super) program: String,
    pub(super) is_inbound: bool,
    pub(super) blocks: bool,
}

impl Rule {
    /// Reads one as Windows keeps it; nothing if it is switched off.
    ///
    /// - Source: MS-FASP 2.2.37: `v2.30|Action=Block|Active=TRUE|Dir=In|…|App=C:\\…|Name=…|`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rule = Self::default();
        let mut is_active = false;
        for (key, value) in text.split('|').filter_map(|part| part.split_once('=')) {
            match key {
                "Active" => is_active = value == "TRUE",
                "Action" => rule.blocks = value == "Block",
                "Dir" => rule.is_inbound = value == "In",
                "App" => value.clone_into(&mut rule.program),
                "Name" => value.clone_into(&mut rule.name),
                _ => {}
            }
        }
        is_active.then_some(rule)
    }

    /// Whether it is about a program of this name, such as `schwann.exe`.
    pub(super) fn is_about(&self, file: &str) -> bool {
        let name = self.program.rsplit(['\\', '/']).next().unwrap_or_default();
        name.eq_ignore_ascii_case(file)
    }
}

/// What Windows takes a network for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Network {
    pub(super) name: String,
    pub(super) is_public: bool,
}

/// The program that manages the firewall of a Linux computer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Manager {
    Firewalld,
    /// None that is known: rules are made one by one.
    Unknown,
    Ufw,
}

impl Manager {
    /// Reads its name, as this computer or another one tells it.
    pub(super) fn of_name(name: Option<&str>) -> Self {
        match name {
            Some("ufw") => Self::Ufw,
            Some("firewalld") => Self::Firewalld,
            _ => Self::Unknown,
        }
    }

    /// What a person calls it; nothing if it is not known.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Ufw => Some("ufw"),
            Self::Firewalld => Some("firewalld"),
            Self::Unknown => None,
        }
    }

    /// The command that lets the ports of LSL in, through a zone of firewalld or its default one; nothing if none is
    /// special.
    pub(super) fn allow(
        self,
        zone: Option<&str>,
        (first, last): (u16, u16),
        protocol: &str,
    ) -> Option<String> {
        let zone = zone.map_or_else(String::new, |zone| format!("--zone={} ", quoted(zone)));
        match self {
            Self::Ufw => Some(format!("sudo ufw allow {first}:{last}/{protocol}")),
            Self::Firewalld => Some(format!(
                "sudo firewall-cmd {zone}--add-port={first}-{last}/{protocol}    # then keep it: sudo firewall-cmd \
                 --runtime-to-permanent"
            )),
            Self::Unknown => None,
        }
    }
}

/// The zone of firewalld that an interface is in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Zone {
    pub(super) name: String,
    pub(super) interface: String,
}

impl Zone {
    /// Reads what `firewall-cmd --get-active-zones` prints.
    ///
    /// - Source: firewall-cmd(1): a zone's name, and in the lines below it, indented, `interfaces: ` and `sources: `.
    pub(super) fn read_all(text: &str) -> Vec<Self> {
        let (mut zones, mut zone) = (Vec::new(), "");
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if !line.starts_with(char::is_whitespace) {
                zone = words.next().unwrap_or_default();
            } else if words.next() == Some("interfaces:") {
                zones.extend(words.map(|name| Self { name: zone.to_owned(), interface: name.to_owned() }));
            }
        }
        zones
    }
}

/// Reads lines `NAME|CATEGORY`.
pub(super) fn networks(text: &str) -> Vec<Network> {
    let lines = text.lines().filter_map(|line| line.trim().rsplit_once('|'));
    lines.map(|(name, category)| Network { name: name.to_owned(), is_public: category == "Public" }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_in_force_is_read_and_one_that_is_off_is_not() {
        let text = "v2.30|Action=Block|Active=TRUE|Dir=In|Protocol=17|Profile=Public|\
                    App=C:\\Program Files\\Schwann\\Schwann.exe|Name=schwann|Desc=schwann|Defer=User|";
        let rule = Rule::parse(text).expect("in force");
        assert!(rule.blocks && rule.is_inbound && rule.is_about("schwann.exe") && rule.name == "schwann");
        assert!(!rule.is_about("ann.exe"));
        assert_eq!(Rule::parse(&text.replace("TRUE", "FALSE")), None);
        let allowed =
            Rule::parse(&text.replace("Block", "Allow").replace("Dir=In", "Dir=Out")).expect("in force");
        assert!(!allowed.blocks && !allowed.is_inbound);
        assert_eq!(Rule::parse("nonsense||="), None);
    }

    #[test]
    fn each_manager_is_given_a_command_of_its_own() {
        let command = |name, zone| Manager::of_name(name).allow(zone, (16_571, 16_604), "udp");
        assert_eq!(command(Some("ufw"), None).as_deref(), Some("sudo ufw allow 16571:16604/udp"));
        let begins =
            |zone, start| command(Some("firewalld"), zone).is_some_and(|command| command.starts_with(start));
        assert!(begins(None, "sudo firewall-cmd --add-port=16571-16604/udp "));
        assert!(begins(Some("work"), "sudo firewall-cmd --zone=work --add-port=16571-16604/udp "));
        assert_eq!((command(Some("other"), None), command(None, None)), (None, None));
    }

    #[test]
    fn the_zone_of_each_interface_is_read() {
        let text = "home\n  interfaces: eth0 eth1\npublic (default)\n  interfaces: wlan0\n  sources: 10.0.0.0/8\nlan\n";
        let found = Zone::read_all(text).into_iter().map(|zone| (zone.interface, zone.name));
        let known = [("eth0", "home"), ("eth1", "home"), ("wlan0", "public")];
        assert_eq!(found.collect::<Vec<_>>(), known.map(|(one, other)| (one.to_owned(), other.to_owned())));
        assert_eq!(Zone::read_all("FirewallD is not running"), []);
    }

    #[test]
    fn networks_are_public_or_not() {
        let network = |name: &str, is_public| Network { name: name.to_owned(), is_public };
        let text = "Ethernet|Private\r\nWi-Fi | 2|Public\r\n\r\n";
        assert_eq!(networks(text), [network("Ethernet", false), network("Wi-Fi | 2", true)]);
        assert_eq!(networks(""), []);
    }
}
