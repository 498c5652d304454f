//! Replays the exchanges recorded with the original servers, byte for byte, over TCP and over a UNIX socket.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

use schwann_fieldtrip::{Address, Buffer, Policy, Server};
use serde_json::Value;
use sha2::{Digest, Sha256};

const REFERENCE: &str = include_str!("vectors/c-server.json");
const SECOND: &str = include_str!("vectors/c-unix.json");

/// Where this server deliberately differs from the reference, and how (spec: fieldtrip, "Deviations").
const DEVIATIONS: [&str; 2] = [
    // An unknown data type leaves the old header in place, instead of a header that can hold no samples.
    "hdr_bad_type",
    // An event ends the waits for it at once, not with the next samples.
    "wait_event_then_data",
];

/// Where the second implementation differs from the reference, which this server follows.
const SECOND_DIFFERS: [&str; 4] = [
    // It answers the commands that have no answer.
    "noresponse",
    // It closes the connection when a block is shorter than its definition says.
    "dat_refused",
    "fragmented",
    // It keeps answering in the order of the last big-endian request.
    "order_switch",
];

#[test]
fn the_reference_over_tcp() {
    replay(REFERENCE, Transport::Tcp, &DEVIATIONS);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no UNIX sockets here")]
fn the_reference_over_a_unix_socket() {
    replay(REFERENCE, Transport::Unix, &DEVIATIONS);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no UNIX sockets here")]
fn the_second_implementation_over_a_unix_socket() {
    let except: Vec<&str> = DEVIATIONS.into_iter().chain(SECOND_DIFFERS).collect();
    replay(SECOND, Transport::Unix, &except);
}

#[derive(Clone, Copy)]
enum Transport {
    Tcp,
    Unix,
}

fn replay(vectors: &str, transport: Transport, except: &[&str]) {
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let scenarios = vectors["scenarios"].as_array().unwrap();
    // Scenarios are independent and mostly wait, so they run side by side.
    let differences: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = scenarios
            .iter()
            .filter(|scenario| is_played(scenario))
            .map(|scenario| scope.spawn(move || play(scenario, transport, except)))
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let unexpected: Vec<_> =
        differences.iter().filter(|text| !except.iter().any(|id| text.starts_with(id))).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    for id in except {
        assert!(differences.iter().any(|text| text.starts_with(id)), "{id} does not deviate any more");
    }
}

/// Under Wine 8, no send ends that was waiting when its receiver went.
fn is_played(scenario: &Value) -> bool {
    cfg!(not(windows)) || scenario["id"] != "gone_before_reply"
}

fn play(scenario: &Value, transport: Transport, except: &[&str]) -> Vec<String> {
    let id = scenario["id"].as_str().unwrap();
    // No use in waiting long for a reply that is known not to come.
    let patience = Duration::from_millis(if except.contains(&id) { 300 } else { 20_000 });
    let server = serve(transport);
    let mut connections = HashMap::new();
    let mut differences = Vec::new();
    for (number, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
        let name = step["conn"].as_str().unwrap_or_default();
        match step["op"].as_str().unwrap() {
            "sleep" => thread::sleep(Duration::from_secs_f64(step["seconds"].as_f64().unwrap())),
            "close" => drop(connections.remove(name)),
            "open" => drop(connections.insert(name, connect(&server))),
            "send" => send(connections.entry(name).or_insert_with(|| connect(&server)), step),
            "recv" => {
                let connection = connections.entry(name).or_insert_with(|| connect(&server));
                let is_compared = scenario["class"] != "defect" && step.get("volatile").is_none();
                if let Err(difference) = receive(connection, step, is_compared, patience) {
                    differences.push(format!("{id} step {number}: {difference}"));
                }
            }
            _ => {}
        }
    }
    // After every script, the server still answers.
    let mut last = connect(&server);
    last.write_all(&[1, 0, 1, 2, 0, 0, 0, 0]).unwrap();
    let mut definition = [0; 8];
    last.read_exact(&mut definition).unwrap();
    assert!(matches!(definition[2..4], [4 | 5, 2]), "{id}: no answer at the end: {definition:?}");
    differences
}

fn send(connection: &mut Box<dyn Connection>, step: &Value) {
    let message = match step.get("gen") {
        Some(rule) => generated(rule["start"].as_u64().unwrap(), rule["samples"].as_u64().unwrap()),
        None => bytes(step["hex"].as_str().unwrap()),
    };
    let mut rest = &message[..];
    for piece in step["pieces"].as_array().into_iter().flatten() {
        let (now, later) = rest.split_at(usize::try_from(piece.as_u64().unwrap()).unwrap());
        connection.write_all(now).unwrap();
        rest = later;
    }
    // A server that was right to close the connection shows in what is received.
    let _ = connection.write_all(rest);
}

fn receive(
    connection: &mut Box<dyn Connection>,
    step: &Value,
    is_compared: bool,
    patience: Duration,
) -> Result<(), String> {
    let end = step["end"].as_str().unwrap();
    let is_short = end == "timeout" || !is_compared;
    connection.set_patience(if is_short { Duration::from_millis(250) } else { patience });
    let mut reply = vec![0; 8];
    let outcome = read_reply(connection, &mut reply);
    if !is_compared {
        return Ok(());
    }
    let same = match (end, &outcome) {
        ("timeout", Err(kind)) => matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut),
        ("eof", Err(kind)) => *kind == ErrorKind::UnexpectedEof,
        ("reply", Ok(())) => match step["hex"].as_str() {
            Some(hex) => reply == bytes(hex),
            None => Sha256::digest(&reply)[..] == bytes(step["sha256"].as_str().unwrap()),
        },
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("want {end} {}, got {outcome:?} {reply:02x?}", step["hex"])) }
}

fn read_reply(connection: &mut Box<dyn Connection>, reply: &mut Vec<u8>) -> Result<(), ErrorKind> {
    connection.read_exact(reply).map_err(|error| error.kind())?;
    let length = <[u8; 4]>::try_from(&reply[4..8]).unwrap();
    let length = if reply[0] == 1 { u32::from_le_bytes(length) } else { u32::from_be_bytes(length) };
    reply.resize(8 + length as usize, 0);
    connection.read_exact(&mut reply[8..]).map_err(|error| error.kind())
}

fn generated(start: u64, samples: u64) -> Vec<u8> {
    let count = u32::try_from(samples).unwrap();
    let mut message = vec![1, 0, 2, 1];
    for field in [16 + count, 1, count, 1, count] {
        message.extend_from_slice(&field.to_le_bytes());
    }
    message.extend((start..start + samples).map(|n| (n % 251) as u8));
    message
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

fn serve(transport: Transport) -> Server {
    let address = match transport {
        Transport::Tcp => Address::loopback(0),
        Transport::Unix => Address::Unix(socket_path()),
    };
    Server::start(&address, Buffer::default(), Policy::default()).unwrap()
}

fn socket_path() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("schwann-ft-{}-{number}", std::process::id()))
}

fn connect(server: &Server) -> Box<dyn Connection> {
    match server.address() {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
            stream.set_nodelay(true).unwrap();
            Box::new(stream)
        }
        Address::Unix(path) => connect_unix(path),
    }
}

#[cfg(unix)]
fn connect_unix(path: &Path) -> Box<dyn Connection> {
    Box::new(UnixStream::connect(path).unwrap())
}

#[cfg(not(unix))]
fn connect_unix(path: &Path) -> Box<dyn Connection> {
    panic!("{} cannot be connected to here", path.display())
}

trait Connection: Read + Write {
    fn set_patience(&self, patience: Duration);
}

impl Connection for TcpStream {
    fn set_patience(&self, patience: Duration) {
        self.set_read_timeout(Some(patience)).unwrap();
    }
}

#[cfg(unix)]
impl Connection for UnixStream {
    fn set_patience(&self, patience: Duration) {
        self.set_read_timeout(Some(patience)).unwrap();
    }
}
