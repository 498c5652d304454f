//! The firewall of Windows: what it says of programs, and what kind each network is of. And which program manages that of
//! Linux.

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

    /// The command that lets the ports of LSL in; nothing if none is special.
    pub(super) fn allow(self, (first, last): (u16, u16), protocol: &str) -> Option<String> {
        match self {
            Self::Ufw => Some(format!("sudo ufw allow {first}:{last}/{protocol}")),
            Self::Firewalld => Some(format!(
                "sudo firewall-cmd --add-port={first}-{last}/{protocol}    # then keep it: sudo firewall-cmd --runtime-to-permanent"
            )),
            Self::Unknown => None,
        }
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
        let command = |name| Manager::of_name(name).allow((16_571, 16_604), "udp");
        assert_eq!(command(Some("ufw")).as_deref(), Some("sudo ufw allow 16571:16604/udp"));
        assert!(
            command(Some("firewalld")).is_some_and(|command| command.contains("--add-port=16571-16604/udp"))
        );
        assert_eq!((command(Some("other")), command(None)), (None, None));
    }

    #[test]
    fn networks_are_public_or_not() {
        let network = |name: &str, is_public| Network { name: name.to_owned(), is_public };
        let text = "Ethernet|Private\r\nWi-Fi | 2|Public\r\n\r\n";
        assert_eq!(networks(text), [network("Ethernet", false), network("Wi-Fi | 2", true)]);
        assert_eq!(networks(""), []);
    }
}
