//! What programs ask for over HTTP, without a connection that stays: the list of streams, and one marker.

use std::io;

use percent_encoding::percent_decode_str;
use schwann::local_clock;
use serde_json::{Value, json};

use super::{
    lab::Lab,
    link::Link,
    list,
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
            respond(link, "200 OK", &json!({ "now": local_clock(), "streams": list::rows(&lab.rows()) }))
        }
        ("mark", true) if role < Role::Mark => {
            respond(link, "403 Forbidden", &json!({ "reason": role.refusal(Role::Mark) }))
        }
        ("mark", true) => mark(link, request, lab),
        ("streams" | "mark", _) => request::refuse(link, Refusal::Method),
        _ => request::refuse(link, Refusal::NotFound),
    }
}

fn mark(link: &mut Link, request: &Request, lab: &Lab) -> io::Result<()> {
    let now = local_clock();
    let text = request.query.split('&').find_map(|part| part.strip_prefix("text="));
    let Some(text) = text.map(|text| percent_decode_str(text).decode_utf8_lossy()) else {
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
