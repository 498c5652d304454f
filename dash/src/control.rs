//! The recorder of `schwann record` for programs: orders over HTTP, and its state over a WebSocket as it changes.
//!
//! The protocol is in `docs/record-control.md`, and that of the dashboard's recorder is the same.

use core::{
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use std::{io, net::TcpListener, path::PathBuf, sync::Arc, time::Instant};

use schwann::{StreamInfo, local_clock};
use schwann_recorder::control::Control;
use serde::Deserialize;
use serde_json::{Value, json};
use tungstenite::{Error, Message};

use super::{
    Certificate, Role, ServeError, Served,
    link::Link,
    live::{self, Live},
    order::Order,
    outlets::Reason,
    recording::Desk,
    request::{self, Refusal, Request},
    server::{Site, switch},
};

/// How a recorder is driven by programs.
#[derive(Clone, Debug)]
pub struct ControlOptions {
    /// Where it is served.
    pub bind: IpAddr,
    /// At which port; 0 takes any.
    pub port: u16,
    /// What other computers are let in with, by TLS; used where `bind` is not on loopback.
    pub certificate: Certificate,
    /// The folder that no recording leaves.
    pub folder: PathBuf,
}

/// A recorder that programs drive until this is dropped.
#[derive(Debug)]
pub struct Controlled(Served);

impl Controlled {
    /// Where programs find it for each role, from the one that may least; on loopback for [`Role::Record`] alone.
    pub fn urls(&self) -> Vec<(Role, String)> {
        self.0.server.urls()
    }

    /// SHA-256 of its certificate; none on loopback.
    pub fn fingerprint(&self) -> Option<&str> {
        self.0.fingerprint.as_deref()
    }
}

/// Lets programs drive a recorder that have the token: every one on loopback, and others by TLS.
///
/// - Errors: [`ServeError`].
pub fn serve_control(control: Control, options: &ControlOptions) -> Result<Controlled, ServeError> {
    let listener = TcpListener::bind((options.bind, options.port)).map_err(|error| ServeError::Listen {
        what: "the control of the recorder",
        bind: options.bind,
        port: options.port,
        error,
    })?;
    let certificate = (!options.bind.is_loopback()).then_some(&options.certificate);
    let desk = Arc::new(Desk::of(control, options.folder.clone()));
    let site = Site::Recorder(desk);
    super::serve_site(listener, certificate, None, || Ok(site)).map(Controlled)
}

/// Answers a request of a program whose link is of this role.
pub(super) fn answer(
    mut link: Link,
    request: Request,
    desk: &Desk,
    role: Role,
    stopping: &AtomicBool,
) -> io::Result<()> {
    match (request.path.as_str(), &request.web_socket_key) {
        ("/live", Some(key)) => {
            switch(&mut link, key, "")?;
            attend(link, request.rest, desk, role, stopping)
        }
        ("/api/recorder" | "/api/record", None) => super::api::record(&mut link, &request, desk, role),
        _ => request::refuse(&mut link, Refusal::NotFound),
    }
}

/// Serves a program until it leaves, or the recorder ends.
fn attend(link: Link, rest: Vec<u8>, desk: &Desk, role: Role, stopping: &AtomicBool) -> io::Result<()> {
    let live = Live::new(link, rest, ORDER_LIMIT)?;
    let now = Instant::now();
    let mut program = Program { live, desk, role, said: Value::Null, said_at: now, next: now };
    live::ended(program.run(stopping))
}

/// A program at the other end of a WebSocket.
struct Program<'a> {
    live: Live,
    desk: &'a Desk,
    /// What its link lets it do.
    role: Role,
    /// The state that it knows, and since when.
    said: Value,
    said_at: Instant,
    next: Instant,
}

/// What a program asks for.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Asked {
    /// What the clock of the lab says.
    Clock {
        sent: f64,
        #[serde(default)]
        request: Option<u32>,
    },
    /// To drive the recorder.
    Record {
        #[serde(flatten)]
        order: Order,
        #[serde(default)]
        request: Option<u32>,
    },
}

impl Program<'_> {
    fn run(&mut self, stopping: &AtomicBool) -> Result<(), Error> {
        let version = env!("CARGO_PKG_VERSION");
        self.send(&json!({ "type": "hello", "version": version, "role": self.role, "now": local_clock() }))?;
        while !stopping.load(Ordering::Relaxed) {
            if self.next <= Instant::now() {
                self.send_state()?;
            }
            match self.live.hear()? {
                Some(Message::Text(text)) => self.take(&text)?,
                Some(Message::Close(_)) => return Ok(()),
                Some(_) | None => {}
            }
        }
        self.live.close()
    }

    /// Does what is asked for, or says why not.
    fn take(&mut self, text: &str) -> Result<(), Error> {
        let received = local_clock();
        let (request, done) = match serde_json::from_str(text) {
            Ok(Asked::Clock { sent, request }) => {
                return self.send(&super::browser::clock(request, sent, received, local_clock()));
            }
            Ok(Asked::Record { order, request }) => (request, obey(self.desk, &order, self.role)),
            Err(error) => (None, Err(format!("This is no message that is known: {error}"))),
        };
        self.send(&super::browser::answer(request, done, json!({ "type": "recorder" })))?;
        self.send_state()
    }

    /// Sends where the recorder stands, if that has changed or was said long ago.
    fn send_state(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        self.next = now + STATE_INTERVAL;
        let (recorder, found) = self.desk.state();
        let found: Vec<_> = found.iter().map(stream).collect();
        let state = json!({ "type": "state", "recorder": recorder, "found": found });
        if state == self.said && now - self.said_at < QUIET_MOST {
            return Ok(());
        }
        (self.said, self.said_at) = (state.clone(), now);
        self.send(&state)
    }

    fn send(&mut self, value: &Value) -> Result<(), Error> {
        self.live.send(Message::text(value.to_string()))
    }
}

/// Does what is wanted of the recorder by a program of this role.
///
/// - Errors: why not, in a sentence.
fn obey(desk: &Desk, order: &Order, role: Role) -> Result<(), Reason> {
    if role < Role::Record {
        return Err(role.refusal(Role::Record));
    }
    desk.obey(order)
}

fn stream(info: &StreamInfo) -> Value {
    json!({
        "name": info.name().to_string_lossy(),
        "type": info.stream_type().to_string_lossy(),
        "source": info.source_id().to_string_lossy(),
        "host": info.hostname().to_string_lossy(),
        "channels": info.channel_count(),
        "nominal_rate": info.nominal_rate(),
    })
}

/// The usual port, beside that of LabRecorder's remote control.
pub const CONTROL_PORT: u16 = 22346;

const ORDER_LIMIT: usize = 128 << 10;
/// A program that hears nothing for this long would take the recorder for dead.
const QUIET_MOST: Duration = Duration::from_secs(1);
const STATE_INTERVAL: Duration = Duration::from_millis(250);
