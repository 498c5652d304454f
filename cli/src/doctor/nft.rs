//! The rules of nftables: what becomes of a packet that comes in.
//!
//! Rules of iptables are among them where the kernel keeps both in one place. A rule that cannot be understood whole is
//! passed over, so a finding names only what certainly stops the packet.
//!
//! Source: libnftables-json(5).

use serde_json::Value;

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub(super) struct Ruleset {
    chains: Vec<Chain>,
}

#[derive(Clone, Debug)]
struct Chain {
    family: String,
    table: String,
    name: String,
    takes_input: bool,
    drops_by_default: bool,
    rules: Vec<Value>,
}

/// A packet that comes in from another computer, as the first of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub(super) interface: &'a str,
    /// `udp` or `tcp`.
    pub(super) protocol: &'a str,
    pub(super) port: u16,
}

/// What stops a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Stop {
    family: String,
    table: String,
    chain: String,
}

/// What a chain says of a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Accept,
    Drop,
    /// The rules behind the present one decide.
    Onward,
    /// A rule that cannot be understood may have decided.
    Unknown,
}

impl Ruleset {
    /// Reads what `nft -j list ruleset` prints.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let document: Value = serde_json::from_str(text).ok()?;
        let mut chains: Vec<Chain> = Vec::new();
        for object in document.get("nftables")?.as_array()? {
            if let Some(chain) = object.get("chain") {
                chains.extend(Chain::parse(chain));
            } else if let Some(rule) = object.get("rule") {
                let place = ["family", "table", "chain"].map(|key| text_of(rule, key));
                let is_its = |chain: &&mut Chain| {
                    [&chain.family, &chain.table, &chain.name].map(String::as_str) == place
                };
                if let Some(chain) = chains.iter_mut().find(is_its) {
                    chain.rules.push(rule.get("expr").cloned().unwrap_or_default());
                }
            }
        }
        Some(Self { chains })
    }

    /// What stops this packet for certain, if anything does.
    pub(super) fn stops(&self, packet: Packet<'_>) -> Option<Stop> {
        let of_ipv4 = |chain: &&Chain| matches!(chain.family.as_str(), "ip" | "inet");
        self.chains.iter().filter(|chain| chain.takes_input).filter(of_ipv4).find_map(|chain| {
            let verdict = match self.judge(chain, packet, 0) {
                Verdict::Onward if chain.drops_by_default => Verdict::Drop,
                verdict => verdict,
            };
            (verdict == Verdict::Drop).then(|| Stop {
                family: chain.family.clone(),
                table: chain.table.clone(),
                chain: chain.name.clone(),
            })
        })
    }

    fn judge(&self, chain: &Chain, packet: Packet<'_>, depth: usize) -> Verdict {
        let mut is_sure = true;
        for rule in &chain.rules {
            match self.apply(chain, rule, packet, depth) {
                Verdict::Onward => {}
                Verdict::Unknown => is_sure = false,
                verdict if is_sure => return verdict,
                // A rule before may have said the opposite.
                _ => return Verdict::Unknown,
            }
        }
        if is_sure { Verdict::Onward } else { Verdict::Unknown }
    }

    fn apply(&self, chain: &Chain, rule: &Value, packet: Packet<'_>, depth: usize) -> Verdict {
        let Some(parts) = rule.as_array() else { return Verdict::Unknown };
        let mut fits = Some(true);
        for part in parts {
            let Some((kind, content)) = part.as_object().and_then(|part| part.iter().next()) else {
                return Verdict::Unknown;
            };
            let verdict = match kind.as_str() {
                "match" => {
                    match fits_match(content, packet) {
                        Some(false) => return Verdict::Onward,
                        Some(true) => {}
                        None => fits = None,
                    }
                    continue;
                }
                "counter" | "log" | "comment" => continue,
                "accept" => Verdict::Accept,
                "drop" | "reject" => Verdict::Drop,
                "return" => return if fits.is_some() { Verdict::Onward } else { Verdict::Unknown },
                "jump" | "goto" => self.jump(chain, text_of(content, "target"), packet, depth),
                // Such as `xt`, a match or a target of iptables.
                _ => return Verdict::Unknown,
            };
            return if fits.is_some() || verdict == Verdict::Onward { verdict } else { Verdict::Unknown };
        }
        Verdict::Onward
    }

    fn jump(&self, from: &Chain, target: &str, packet: Packet<'_>, depth: usize) -> Verdict {
        let is_target =
            |chain: &&Chain| chain.family == from.family && chain.table == from.table && chain.name == target;
        match self.chains.iter().find(is_target) {
            Some(chain) if depth < DEEPEST => self.judge(chain, packet, depth + 1),
            _ => Verdict::Unknown,
        }
    }
}

impl Chain {
    fn parse(value: &Value) -> Option<Self> {
        let text = |key| Some(value.get(key)?.as_str()?.to_owned());
        Some(Self {
            family: text("family")?,
            table: text("table")?,
            name: text("name")?,
            takes_input: text_of(value, "hook") == "input",
            drops_by_default: text_of(value, "policy") == "drop",
            rules: Vec::new(),
        })
    }
}

impl Stop {
    /// The chain, as a person knows it.
    pub(super) fn place(&self) -> String {
        format!("chain {} of table {} {}", self.chain, self.family, self.table)
    }

    /// The command that lets the ports of LSL in before it.
    pub(super) fn allow(&self, (first, last): (u16, u16), protocol: &str) -> String {
        let Self { family, table, chain } = self;
        // iptables numbers its own chains, and loses count of rules that nft puts there.
        if family == "ip" && table == "filter" && chain == "INPUT" {
            return format!("sudo iptables -I INPUT -p {protocol} --dport {first}:{last} -j ACCEPT");
        }
        format!("sudo nft insert rule {family} {table} {chain} {protocol} dport {first}-{last} accept")
    }
}

/// Whether a packet fulfils a match; nothing if that cannot be told.
fn fits_match(content: &Value, packet: Packet<'_>) -> Option<bool> {
    let (left, right) = (content.get("left")?, content.get("right")?);
    let is_negated = match text_of(content, "op") {
        "==" | "in" => false,
        "!=" => true,
        _ => return None,
    };
    let key = |kind: &str, key: &str| left.get(kind).map(|kind| text_of(kind, key));
    let fits = match (key("meta", "key"), left.get("payload"), key("ct", "key")) {
        (Some("iifname" | "iif"), ..) => Some(right.as_str()? == packet.interface),
        (Some("l4proto"), ..) => contains(right, |one| Some(one.as_str()? == packet.protocol)),
        (_, Some(payload), _) if text_of(payload, "field") == "dport" => {
            if matches!(text_of(payload, "protocol"), "udp" | "tcp")
                && text_of(payload, "protocol") != packet.protocol
            {
                // The whole match is about another protocol, however it is worded.
                return Some(false);
            }
            contains(right, |one| holds_port(one, packet.port))
        }
        (_, Some(payload), _) if text_of(payload, "field") == "protocol" => {
            contains(right, |one| Some(one.as_str()? == packet.protocol))
        }
        (_, _, Some("state")) => contains(right, |one| Some(one.as_str()? == "new")),
        _ => None,
    }?;
    Some(fits != is_negated)
}

/// Whether a value, or one of a set or list, fulfils a question; nothing if that cannot be told.
fn contains(value: &Value, holds: impl Fn(&Value) -> Option<bool>) -> Option<bool> {
    let many = value.get("set").and_then(Value::as_array).or_else(|| value.as_array());
    let Some(many) = many else { return holds(value) };
    let outcomes = many.iter().map(holds).collect::<Option<Vec<_>>>()?;
    Some(outcomes.into_iter().any(|one| one))
}

fn holds_port(value: &Value, port: u16) -> Option<bool> {
    let port = u64::from(port);
    if let Some(range) = value.get("range").and_then(Value::as_array) {
        let [first, last] = range.as_slice() else { return None };
        return Some((first.as_u64()?..=last.as_u64()?).contains(&port));
    }
    value.as_u64().map(|one| one == port)
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Chains that jump to each other are followed so far.
const DEEPEST: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ruleset(policy: &str, rules: &[Value]) -> Ruleset {
        let chain = json!({"chain": {"family": "inet", "table": "t", "name": "input", "hook": "input", "policy": policy}});
        let other = json!({"chain": {"family": "inet", "table": "t", "name": "lsl"}});
        let rule =
            |expr: &Value| json!({"rule": {"family": "inet", "table": "t", "chain": "input", "expr": expr}});
        let inner =
            json!({"rule": {"family": "inet", "table": "t", "chain": "lsl", "expr": [{"drop": null}]}});
        let all: Vec<_> = [chain, other].into_iter().chain(rules.iter().map(rule)).chain([inner]).collect();
        Ruleset::parse(&json!({ "nftables": all }).to_string()).expect("rules")
    }

    fn dport(protocol: &str, right: Value) -> Value {
        json!({"match": {"op": "==", "left": {"payload": {"protocol": protocol, "field": "dport"}}, "right": right}})
    }

    fn is_stopped(rules: &Ruleset, protocol: &str) -> bool {
        rules.stops(Packet { interface: "eth0", protocol, port: 16_572 }).is_some()
    }

    #[test]
    fn a_packet_is_stopped_by_what_certainly_stops_it() {
        let range = json!({"range": [16_571, 16_604]});
        let stops = ruleset("accept", &[json!([dport("tcp", range.clone()), {"drop": null}])]);
        assert!(is_stopped(&stops, "tcp") && !is_stopped(&stops, "udp"));
        let set = ruleset(
            "accept",
            &[json!([dport("tcp", json!({"set": [22, range]})), {"counter": {}}, {"reject": null}])],
        );
        assert!(is_stopped(&set, "tcp"));
        assert!(is_stopped(&ruleset("drop", &[]), "udp"));
        assert!(is_stopped(&ruleset("accept", &[json!([{"jump": {"target": "lsl"}}])]), "udp"));
        let opened = ruleset("drop", &[json!([dport("udp", json!(16_572)), {"accept": null}])]);
        assert!(!is_stopped(&opened, "udp") && is_stopped(&opened, "tcp"));
    }

    #[test]
    fn a_rule_that_is_not_understood_is_no_finding() {
        let strange = json!([{"xt": {"type": "match", "name": "pkttype"}}, {"drop": null}]);
        assert!(!is_stopped(&ruleset("accept", core::slice::from_ref(&strange)), "udp"));
        // It may have accepted what the next one drops.
        assert!(!is_stopped(&ruleset("drop", &[strange]), "udp"));
        let limited = json!([{"limit": {"rate": 5}}, {"accept": null}]);
        assert!(!is_stopped(&ruleset("drop", &[limited]), "udp"));
        let known = json!([{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"]}}, {"accept": null}]);
        assert!(is_stopped(&ruleset("drop", &[known]), "udp"), "the first packet is new");
        assert!(Ruleset::parse("no JSON").is_none());
    }
}
