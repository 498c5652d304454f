//! Whether a packet is what a rule is about.

use serde_json::Value;

use super::text_of;

/// A packet that comes in from another computer, as the first of a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::doctor) struct Packet<'a> {
    pub(in crate::doctor) interface: &'a str,
    /// `udp` or `tcp`.
    pub(in crate::doctor) protocol: &'a str,
    pub(in crate::doctor) port: u16,
}

/// Whether a packet fulfils a match; nothing if that cannot be told.
pub(super) fn fits_match(content: &Value, packet: Packet<'_>) -> Option<bool> {
    let (left, right) = (content.get("left")?, content.get("right")?);
    let is_negated = match text_of(content, "op") {
        "==" | "in" => false,
        "!=" => true,
        _ => return None,
    };
    let is_other_protocol = |payload: &Value| {
        let protocol = text_of(payload, "protocol");
        TRANSPORTS.contains(&protocol) && protocol != packet.protocol
    };
    if left.get("payload").is_some_and(is_other_protocol) {
        // The whole match is about another protocol, however it is worded.
        return Some(false);
    }
    Some(fits(left, right, packet)? != is_negated)
}

/// Whether what `left` names is `right`, or one of them; nothing if that cannot be told.
pub(super) fn fits(left: &Value, right: &Value, packet: Packet<'_>) -> Option<bool> {
    let key = |kind: &str| left.get(kind).map(|kind| text_of(kind, "key"));
    let field = left.get("payload").map(|payload| text_of(payload, "field"));
    match (key("meta"), field, key("ct")) {
        (Some("iifname" | "iif"), ..) => contains(right, |one| is_interface(one, packet.interface)),
        (Some("l4proto"), ..) | (_, Some("protocol"), _) => {
            contains(right, |one| Some(one.as_str()? == packet.protocol))
        }
        (_, Some("dport"), _) => contains(right, |one| holds_port(one, packet.port)),
        (.., Some("state")) => contains(right, |one| Some(one.as_str()? == "new")),
        // What comes for this computer itself is not translated on its way.
        (.., Some("status")) => contains(right, |one| (one.as_str()? == "dnat").then_some(false)),
        _ => None,
    }
}

/// Whether a value, or one of a set or list, fulfils a question; nothing if that cannot be told.
fn contains(value: &Value, holds: impl Fn(&Value) -> Option<bool>) -> Option<bool> {
    let many = value.get("set").and_then(Value::as_array).or_else(|| value.as_array());
    let Some(many) = many else { return holds(value) };
    let outcomes = many.iter().map(holds).collect::<Option<Vec<_>>>()?;
    Some(outcomes.into_iter().any(|one| one))
}

/// A name may end with `*`, for all that begin so.
fn is_interface(value: &Value, name: &str) -> Option<bool> {
    let wanted = value.as_str()?;
    Some(wanted.strip_suffix('*').map_or(wanted == name, |start| name.starts_with(start)))
}

fn holds_port(value: &Value, port: u16) -> Option<bool> {
    let port = u64::from(port);
    if let Some(range) = value.get("range").and_then(Value::as_array) {
        let [first, last] = range.as_slice() else { return None };
        return Some((first.as_u64()?..=last.as_u64()?).contains(&port));
    }
    value.as_u64().map(|one| one == port)
}

const TRANSPORTS: [&str; 7] = ["dccp", "icmp", "icmpv6", "sctp", "tcp", "udp", "udplite"];
