//! The rules of nftables and of iptables: what becomes of a packet that comes in. What a rule does not tell may have
//! any outcome, so a finding names only what certainly stops the packet.
//!
//! Source: libnftables-json(5).

use schwann_proto::stream_info::IpVersion;
use serde_json::Value;

pub(super) use self::matches::Packet;
use self::matches::{fits, fits_match};
use self::outcomes::Outcomes;

mod iptables;
mod matches;
mod outcomes;

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

/// What stops a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Stop {
    family: String,
    table: String,
    chain: String,
}

impl Ruleset {
    /// Reads what `nft -j list ruleset` and `iptables-save -t filter` print; nothing if neither could be read.
    pub(super) fn read(nft: Option<&str>, iptables: Option<&str>) -> Option<Self> {
        let (nft, iptables) = (nft.and_then(Self::parse), iptables.map(iptables::chains));
        if nft.is_none() && iptables.is_none() {
            return None;
        }
        let (mut chains, iptables) = (nft.unwrap_or_default().chains, iptables.unwrap_or_default());
        // Where the kernel keeps both in one place, nft knows little of them.
        chains.retain(|chain| !iptables.iter().any(|known| known.is_same(chain)));
        chains.extend(iptables);
        Some(Self { chains })
    }

    fn parse(text: &str) -> Option<Self> {
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
            let policy = if chain.drops_by_default { Outcomes::DROP } else { Outcomes::ACCEPT };
            let outcomes = self.judge(chain, packet, 0).replaced(Outcomes::ONWARD, policy);
            (outcomes == Outcomes::DROP).then(|| Stop {
                family: chain.family.clone(),
                table: chain.table.clone(),
                chain: chain.name.clone(),
            })
        })
    }

    /// What a chain may do with a packet. [`Outcomes::ONWARD`] means that the chain leaves it to those who called.
    fn judge(&self, chain: &Chain, packet: Packet<'_>, depth: usize) -> Outcomes {
        let mut all = Outcomes::ONWARD;
        for rule in &chain.rules {
            if !all.include(Outcomes::ONWARD) {
                break;
            }
            all = all.replaced(Outcomes::ONWARD, self.apply(chain, rule, packet, depth));
        }
        all.replaced(Outcomes::RETURN, Outcomes::ONWARD)
    }

    fn apply(&self, chain: &Chain, rule: &Value, packet: Packet<'_>, depth: usize) -> Outcomes {
        let Some(parts) = rule.as_array() else { return Outcomes::ANY };
        let mut is_sure = true;
        for part in parts {
            let Some((kind, content)) = part.as_object().and_then(|part| part.iter().next()) else {
                return Outcomes::ANY;
            };
            let outcomes = match kind.as_str() {
                "match" => {
                    match fits_match(content, packet) {
                        Some(false) => return Outcomes::ONWARD,
                        Some(true) => {}
                        None => is_sure = false,
                    }
                    continue;
                }
                // A match of iptables, and one of how much there was before.
                "xt" if text_of(content, "type") == "match" => {
                    is_sure = false;
                    continue;
                }
                "limit" => {
                    is_sure = false;
                    continue;
                }
                "comment" | "counter" | "log" | "mangle" | "notrack" => continue,
                "xt" if text_of(content, "name") == "LOG" => continue,
                "vmap" => self.look_up(chain, content, packet, depth),
                verdict => self.verdict(chain, verdict, content, packet, depth),
            };
            return if is_sure { outcomes } else { outcomes.or(Outcomes::ONWARD) };
        }
        Outcomes::ONWARD
    }

    fn verdict(
        &self,
        chain: &Chain,
        verdict: &str,
        content: &Value,
        packet: Packet<'_>,
        depth: usize,
    ) -> Outcomes {
        match verdict {
            "accept" => Outcomes::ACCEPT,
            "drop" | "reject" => Outcomes::DROP,
            "continue" => Outcomes::ONWARD,
            "return" => Outcomes::RETURN,
            "jump" => self.jump(chain, text_of(content, "target"), packet, depth),
            // There is no way back behind it.
            "goto" => self
                .jump(chain, text_of(content, "target"), packet, depth)
                .replaced(Outcomes::ONWARD, Outcomes::RETURN),
            // Such as a target of iptables.
            _ => Outcomes::ANY,
        }
    }

    /// The verdict of a map, for the value that this packet has.
    fn look_up(&self, chain: &Chain, content: &Value, packet: Packet<'_>, depth: usize) -> Outcomes {
        let entries = content.pointer("/data/set").and_then(Value::as_array);
        let (Some(key), Some(entries)) = (content.get("key"), entries) else { return Outcomes::ANY };
        let mut all = Outcomes::NONE;
        for entry in entries {
            let Some([value, verdict]) = entry.as_array().map(Vec::as_slice) else { return Outcomes::ANY };
            let Some((kind, target)) = verdict.as_object().and_then(|verdict| verdict.iter().next()) else {
                return Outcomes::ANY;
            };
            let outcomes = self.verdict(chain, kind, target, packet, depth);
            match fits(key, value, packet) {
                Some(false) => {}
                Some(true) => return all.or(outcomes),
                None => all = all.or(outcomes),
            }
        }
        all.or(Outcomes::ONWARD)
    }

    fn jump(&self, from: &Chain, target: &str, packet: Packet<'_>, depth: usize) -> Outcomes {
        let is_target =
            |chain: &&Chain| chain.family == from.family && chain.table == from.table && chain.name == target;
        match self.chains.iter().find(is_target) {
            Some(chain) if depth < DEEPEST => self.judge(chain, packet, depth + 1),
            _ => Outcomes::ANY,
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

    fn is_same(&self, other: &Self) -> bool {
        (&self.family, &self.table, &self.name) == (&other.family, &other.table, &other.name)
    }
}

impl Stop {
    /// The chain, as a person knows it.
    pub(super) fn place(&self) -> String {
        format!("chain {} of table {} {}", self.chain, self.family, self.table)
    }

    /// Whether it stops packets of this version of IP.
    pub(super) fn is_of(&self, version: IpVersion) -> bool {
        version == IpVersion::V4 || self.family == "inet"
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
        let strange = |verdict: &str| json!([{"xt": {"type": "match", "name": "pkttype"}}, {verdict: null}]);
        assert!(!is_stopped(&ruleset("accept", &[strange("drop")]), "udp"));
        assert!(!is_stopped(&ruleset("drop", &[strange("accept")]), "udp"), "it may have accepted it before");
        assert!(is_stopped(&ruleset("drop", &[strange("drop")]), "udp"), "one of both drops it");
        let limited = json!([{"limit": {"rate": 5}}, {"accept": null}]);
        assert!(!is_stopped(&ruleset("drop", &[limited]), "udp"));
        for target in
            [json!({"xt": {"type": "target", "name": "TEE"}}), json!({"xt": null}), json!({"queue": null})]
        {
            assert!(!is_stopped(&ruleset("drop", &[json!([target])]), "udp"), "{target}");
        }
        let known = json!([{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"]}}, {"accept": null}]);
        assert!(is_stopped(&ruleset("drop", &[known]), "udp"), "the first packet is new");
        assert!(Ruleset::parse("no JSON").is_none());
    }

    #[test]
    fn what_follows_a_goto_is_not_reached_and_what_follows_a_jump_is() {
        let drop = json!([{"drop": null}]);
        let to = |way: &str, chain: &str| json!([{way: {"target": chain}}]);
        let opened = json!([dport("udp", json!(1)), {"return": null}]);
        let chains = |way: &str| {
            let text = ruleset("accept", &[to(way, "back"), drop.clone()]);
            let back = Chain {
                name: String::from("back"),
                takes_input: false,
                rules: vec![opened.clone()],
                ..text.chains[0].clone()
            };
            Ruleset { chains: text.chains.into_iter().chain([back]).collect() }
        };
        assert!(is_stopped(&chains("jump"), "udp") && !is_stopped(&chains("goto"), "udp"));
    }

    #[test]
    fn a_map_of_verdicts_is_looked_up() {
        let map = |first: &str, second: &str| {
            let set = json!([["established", {"accept": null}], [first, {second: null}]]);
            json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set": set}}}])
        };
        assert!(is_stopped(&ruleset("accept", &[map("new", "drop")]), "tcp"));
        assert!(!is_stopped(&ruleset("drop", &[map("new", "accept")]), "tcp"));
        assert!(is_stopped(&ruleset("drop", &[map("invalid", "drop")]), "tcp"));
        assert!(!is_stopped(
            &ruleset("drop", &[json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": "@named"}}])]),
            "tcp"
        ));
    }

    #[test]
    fn interfaces_may_be_named_by_their_beginning() {
        let through = |name: &str| {
            let rule = json!([{"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": name}}, {"drop": null}]);
            is_stopped(&ruleset("accept", &[rule]), "udp")
        };
        assert!(through("eth0") && through("eth*") && !through("eth1") && !through("eth"));
    }
}
