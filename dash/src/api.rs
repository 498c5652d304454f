//! What programs ask for over HTTP, without a connection that stays: streams, one marker, the recorder.

use std::io;

use percent_encoding::percent_decode_str;
use schwann::local_clock;
use serde_json::{Map, Value, json};

use super::{
    lab::Lab,
    link::Link,
    list,
    recording::Desk,
    request::{self, Refusal, Request},
    role::Role,
};

/// Answers a request for `/api/` and `asked`, of a holder of a link of this role.
pub(super) fn answer(
    link: &mut Link,
    asked: &str,
    request: &Request,
    lab: &Lab,
    role: Role,
) -> io::Result<()> {
    match (asked, request.is_post) {
        ("streams", false) => {
            let rows = list::rows(&lab.rows());
            let told = json!({ "now": local_clock(), "streams": rows, "unlisted": lab.unlisted() });
            respond(link, "200 OK", &told)
        }
        ("mark", true) if role < Role::Mark => {
            respond(link, "403 Forbidden", &json!({ "reason": role.refusal(Role::Mark) }))
        }
        ("mark", true) => mark(link, request, lab),
        ("recorder" | "record", _) => record(link, request, lab.desk(), role),
        ("streams" | "mark", _) => request::refuse(link, Refusal::Method),
        _ => request::refuse(link, Refusal::NotFound),
    }
}

/// Does what is wanted of the recorder, and says where it then stands.
pub(super) fn record(link: &mut Link, request: &Request, desk: &Desk, role: Role) -> io::Result<()> {
    match (request.path.as_str(), request.is_post) {
        ("/api/recorder", false) => respond(link, "200 OK", &json!({ "recorder": desk.status() })),
        ("/api/record", true) if role < Role::Record => {
            respond(link, "403 Forbidden", &json!({ "reason": role.refusal(Role::Record) }))
        }
        ("/api/record", true) => {
            let order = serde_json::from_value(fields(&request.query));
            let done = match &order {
                Err(error) => {
                    let reason = format!("This is no order that is known: {error}");
                    return respond(link, "400 Bad Request", &json!({ "reason": reason }));
                }
                Ok(order) => desk.obey(order),
            };
            match done {
                Ok(()) => respond(link, "200 OK", &json!({ "recorder": desk.status() })),
                Err(reason) => respond(link, "409 Conflict", &json!({ "reason": reason })),
            }
        }
        _ => request::refuse(link, Refusal::Method),
    }
}

/// What a query says of an order, as a message says it.
fn fields(query: &str) -> Value {
    let mut all = Map::new();
    for (key, value) in query.split('&').filter_map(|part| part.split_once('=')) {
        let text = decoded(value);
        match key {
            "token" => {}
            "wanted" | "required" => {
                let list = all.entry(key).or_insert_with(|| json!([]));
                // One that is empty makes a list of none, which means all streams.
                if let (Some(list), false) = (list.as_array_mut(), text.is_empty()) {
                    list.push(text.into());
                }
            }
            // What is no number is refused as a text.
            "run" => drop(all.insert(key.into(), text.parse::<u32>().map_or(json!(text), Value::from))),
            _ => drop(all.insert(key.into(), text.into())),
        }
    }
    all.into()
}

/// What a value of a query says, as forms and `urlencode` write it: with `+` for a space.
fn decoded(value: &str) -> String {
    percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn mark(link: &mut Link, request: &Request, lab: &Lab) -> io::Result<()> {
    let now = local_clock();
    let text = request.query.split('&').find_map(|part| part.strip_prefix("text="));
    let Some(text) = text.map(decoded) else {
        let reason = json!({ "reason": "The address lacks the text: /api/mark?token=…&text=…" });
        return respond(link, "400 Bad Request", &reason);
    };
    match lab.pen().write(&text, now) {
        Ok(()) => respond(link, "200 OK", &json!({ "text": text, "time": now })),
        Err(reason) => respond(link, "503 Service Unavailable", &json!({ "reason": reason })),
    }
}

fn respond(link: &mut Link, status: &str, body: &Value) -> io::Result<()> {
    // Pages of all origins may read it: each request has shown the token.
    let headers = "Access-Control-Allow-Origin: *\r\n";
    request::respond(link, status, "application/json", headers, body.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_of_a_query_is_a_space_and_an_escaped_one_is_itself() {
        for (value, text) in [("left+hand", "left hand"), ("left%20hand", "left hand"), ("1%2B1", "1+1")] {
            assert_eq!(decoded(value), text);
        }
    }
}
