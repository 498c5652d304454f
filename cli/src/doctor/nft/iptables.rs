//! Rules as `iptables-save` prints them, in the words of nftables.
//!
//! `nft` tells of most matches of iptables only that they are there, and nothing of the older iptables.
//!
//! Source: iptables(8), iptables-extensions(8).

use serde_json::{Value, json};

use super::Chain;

/// The chains of the table `filter`.
pub(super) fn chains(text: &str) -> Vec<Chain> {
    let mut chains: Vec<Chain> = text.lines().filter_map(chain).collect();
    let names: Vec<String> = chains.iter().map(|chain| chain.name.clone()).collect();
    for line in text.lines().filter_map(|line| line.strip_prefix("-A ")) {
        let Some((name, rule)) = line.split_once(' ') else { continue };
        if let Some(chain) = chains.iter_mut().find(|chain| chain.name == name) {
            chain.rules.push(rule_of(rule, &names));
        }
    }
    chains
}

/// A line `:NAME POLICY [PACKETS:BYTES]`.
fn chain(line: &str) -> Option<Chain> {
    let mut words = line.strip_prefix(':')?.split_whitespace();
    let (name, policy) = (words.next()?, words.next()?);
    Some(Chain {
        family: String::from("ip"),
        table: String::from("filter"),
        name: name.to_owned(),
        takes_input: name == "INPUT",
        drops_by_default: policy == "DROP",
        rules: Vec::new(),
    })
}

/// A rule's options, one after the other. An option that is not understood may say anything.
fn rule_of(rule: &str, chains: &[String]) -> Value {
    let (mut parts, mut words) = (Vec::new(), words(rule).into_iter());
    let mut operator = "==";
    while let Some(option) = words.next() {
        let mut value = || words.next().unwrap_or_default();
        let part = match option.as_str() {
            "!" => {
                operator = "!=";
                continue;
            }
            "-j" => {
                parts.push(target(&value(), chains));
                // What follows are details of the target.
                break;
            }
            "-g" => json!({"goto": {"target": value()}}),
            "-i" => fits(operator, json!({"meta": {"key": "iifname"}}), json!(value().replace('+', "*"))),
            "-p" => fits(operator, json!({"meta": {"key": "l4proto"}}), json!(value())),
            "--dport" | "--dports" => fits(operator, json!({"payload": {"field": "dport"}}), ports(&value())),
            "--ctstate" | "--state" => {
                let states: Vec<_> = value().split(',').map(str::to_lowercase).collect();
                fits(operator, json!({"ct": {"key": "state"}}), json!(states))
            }
            "-m" | "--comment" => {
                // Neither the name of a module nor what a person writes decides anything.
                value();
                continue;
            }
            _ => json!({"limit": null}),
        };
        parts.push(part);
        operator = "==";
    }
    Value::Array(parts)
}

/// The words of a rule; one in double quotes may have spaces.
fn words(rule: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut is_quoted, mut letters) = (false, rule.chars());
    while let Some(letter) = letters.next() {
        let Some(word) = words.last_mut() else { break };
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => word.extend(letters.next()),
            ' ' if !is_quoted => words.push(String::new()),
            letter => word.push(letter),
        }
    }
    words
}

fn fits(operator: &str, left: Value, right: Value) -> Value {
    json!({"match": {"op": operator, "left": left, "right": right}})
}

fn target(name: &str, chains: &[String]) -> Value {
    match name {
        "ACCEPT" => json!({"accept": null}),
        "DROP" => json!({"drop": null}),
        "REJECT" => json!({"reject": null}),
        "RETURN" => json!({"return": null}),
        "LOG" => json!({"log": null}),
        chain if chains.iter().any(|known| known == chain) => json!({"jump": {"target": chain}}),
        unknown => json!({"xt": {"type": "target", "name": unknown}}),
    }
}

/// A list of ports and of ranges `FIRST:LAST`.
fn ports(text: &str) -> Value {
    let number = |text: &str| text.parse::<u16>().ok();
    let one = |text: &str| match text.split_once(':') {
        Some((first, last)) => json!({"range": [number(first), number(last)]}),
        None => json!(number(text)),
    };
    Value::Array(text.split(',').map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Packet, Ruleset};

    fn is_stopped(rules: &str, protocol: &str) -> bool {
        let text = format!("*filter\n:INPUT {rules}\nCOMMIT\n");
        let packet = Packet { interface: "eth0", protocol, port: 16_572 };
        Ruleset { chains: super::chains(&text) }.stops(packet).is_some()
    }

    #[test]
    fn rules_of_iptables_stop_what_they_stop() {
        assert!(is_stopped(
            "DROP [0:0]\n-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            "tcp"
        ));
        assert!(!is_stopped("DROP [0:0]\n-A INPUT -m conntrack --ctstate NEW -j ACCEPT", "tcp"));
        assert!(!is_stopped("DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 16571:16604 -j ACCEPT", "tcp"));
        assert!(is_stopped("DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 16571:16604 -j ACCEPT", "udp"));
        assert!(!is_stopped("DROP [0:0]\n-A INPUT -p udp -m multiport --dports 53,16572 -j ACCEPT", "udp"));
        assert!(is_stopped(
            "ACCEPT [0:0]\n-A INPUT ! -i lo -j REJECT --reject-with icmp-port-unreachable",
            "udp"
        ));
        assert!(!is_stopped("ACCEPT [0:0]\n-A INPUT -i wlan+ -j DROP", "udp"));
    }

    #[test]
    fn chains_of_ones_own_are_followed_and_what_is_not_understood_is_no_finding() {
        let ufw = "DROP [0:0]\n:own - [0:0]\n-A INPUT -j own\n-A own -m addrtype --dst-type LOCAL -j RETURN\n-A own -j DROP";
        assert!(is_stopped(ufw, "tcp"));
        assert!(!is_stopped("DROP [0:0]\n-A INPUT -s 10.0.0.0/8 -j ACCEPT", "tcp"));
        assert!(!is_stopped("DROP [0:0]\n-A INPUT -j NFQUEUE --queue-num 0", "tcp"));
        assert!(is_stopped(
            "DROP [0:0]\n-A INPUT -m comment --comment \"say \\\"x\\\" -j ACCEPT\" -j DROP",
            "tcp"
        ));
        assert!(!is_stopped("DROP [0:0]\n-A INPUT --dport nonsense -j ACCEPT\n-A INPUT -j", "tcp"));
    }
}
