//! What programs ask for over HTTP, without a connection that stays: the list of streams, and one marker.

use std::{io, net::TcpStream};

use percent_encoding::percent_decode_str;
use schwann::local_clock;
use serde_json::{Value, json};

use super::{
    lab::Lab,
    list,
    request::{self, Refusal, Request},
};

/// Answers a request for `/api/` and `asked`; whoever may ask was decided before.
pub(super) fn answer(stream: &mut TcpStream, asked: &str, request: &Request, lab: &Lab) -> io::Result<()> {
    match (asked, request.is_post) {
        ("streams", false) => {
            respond(stream, "200 OK", &json!({ "now": local_clock(), "streams": list::rows(&lab.rows()) }))
        }
        ("mark", true) => mark(stream, request, lab),
        ("streams" | "mark", _) => request::refuse(stream, Refusal::Method),
        _ => request::refuse(stream, Refusal::NotFound),
    }
}

fn mark(stream: &mut TcpStream, request: &Request, lab: &Lab) -> io::Result<()> {
    let now = local_clock();
    let text = request.query.split('&').find_map(|part| part.strip_prefix("text="));
    let Some(text) = text.map(|text| percent_decode_str(text).decode_utf8_lossy()) else {
        let reason = json!({ "reason": "The address lacks the text: /api/mark?token=…&text=…" });
        return respond(stream, "400 Bad Request", &reason);
    };
    match lab.pen().write(&text, now) {
        Ok(()) => respond(stream, "200 OK", &json!({ "text": text, "time": now })),
        Err(reason) => respond(stream, "503 Service Unavailable", &json!({ "reason": reason })),
    }
}

fn respond(stream: &mut TcpStream, status: &str, body: &Value) -> io::Result<()> {
    // Pages of all origins may read it: each request has shown the token.
    let headers = "Access-Control-Allow-Origin: *\r\n";
    request::respond(stream, status, "application/json", headers, body.to_string().as_bytes())
}
