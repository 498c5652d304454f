//! LabRecorder's remote control protocol: lines of text over TCP, so scripts that drive LabRecorder drive this recorder.
//!
//! Each line gets an answer: `OK`, or `ERROR` with a sentence. LabRecorder ends none of its answers with a line break, and neither
//! does this; an error ends with one. The specification is docs/record-control.md.
//!
//! It hears only programs of the user who records, unless a person says otherwise. The protocol has no passwords, so any
//! other user could stop or misplace a recording.

mod command;

use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use schwann_fieldtrip::door::{self, Stranger};

use super::control::{Control, ControlError};
use super::stop::Stop;
use command::Command;

/// A server of the protocol that runs until this is dropped.
#[derive(Debug)]
pub struct Remote {
    address: SocketAddr,
    shared: Arc<RemoteShared>,
    thread: Option<JoinHandle<()>>,
}

/// Who may drive the recorder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// Programs of the user who records, on this computer.
    OwnPrograms,
    /// Every program that reaches the address, of every user and every computer.
    Anyone,
}

#[derive(Debug)]
struct RemoteShared {
    stop: Stop,
    heard: Heard,
    connections: AtomicUsize,
    /// The last program that was turned away.
    turned_away: Mutex<Option<Stranger>>,
}

impl Remote {
    /// The port of LabRecorder.
    pub const PORT: u16 = 22345;

    /// Serves the protocol at an address; port 0 takes any.
    ///
    /// - Errors: the address is taken or none of this computer's, or the system refuses a thread.
    pub fn serve(control: Control, ip: IpAddr, port: u16, heard: Heard) -> io::Result<Self> {
        let listener = TcpListener::bind((ip, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(RemoteShared {
            stop: Stop::default(),
            heard,
            connections: AtomicUsize::new(0),
            turned_away: Mutex::new(None),
        });
        let for_thread = Arc::clone(&shared);
        let run = move || for_thread.accept(&listener, &control);
        let thread = thread::Builder::new().name("remote".to_owned()).spawn(run)?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A program that was not heard since this was asked last.
    pub fn turned_away(&self) -> Option<Stranger> {
        self.shared.turned_away.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.shared.stop.raise();
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => core::net::Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => core::net::Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        // Accepting cannot be ended, but answered.
        let woken = TcpStream::connect_timeout(&SocketAddr::new(ip, self.address.port()), WAKE_TIME);
        if let (Some(thread), Ok(_)) = (self.thread.take(), woken) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl RemoteShared {
    fn accept(self: &Arc<Self>, listener: &TcpListener, control: &Control) {
        loop {
            let accepted = listener.accept();
            if self.stop.is_raised() {
                return;
            }
            let Ok((stream, _)) = accepted else {
                // Out of descriptors, most likely; others will close theirs.
                self.stop.wait(RETRY_TIME);
                continue;
            };
            if !self.is_heard(&stream) {
                continue;
            }
            if self.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                self.connections.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (shared, control) = (Arc::clone(self), control.clone());
            let attend = move || {
                // The end that broke the connection knows, and no other needs to.
                let _ = shared.attend(stream, &control);
                shared.connections.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().name("remote peer".to_owned()).spawn(attend).is_err() {
                self.connections.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether the other end may command; remembers who may not.
    fn is_heard(&self, stream: &TcpStream) -> bool {
        let (Heard::OwnPrograms, Err(stranger)) = (self.heard, door::check_tcp(stream)) else { return true };
        // Where the system does not tell whose a connection on loopback is, all on this computer are heard.
        if stranger == Stranger::Unknown && !door::TELLS_USERS {
            return true;
        }
        *self.turned_away.lock().unwrap_or_else(PoisonError::into_inner) = Some(stranger);
        false
    }

    /// Answers line after line until the other end closes.
    fn attend(&self, mut stream: TcpStream, control: &Control) -> io::Result<()> {
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(WAKE_TIME))?;
        let mut waiting = Vec::new();
        let mut part = [0; 1024];
        while !self.stop.is_raised() {
            let count = match stream.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if is_timeout(&error) => continue,
                Err(error) => return Err(error),
            };
            waiting.extend_from_slice(part.get(..count).unwrap_or_default());
            while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = waiting.drain(..=end).collect();
                if is_of_a_browser(&line) {
                    return stream.write_all(b"ERROR this is no web server\r\n");
                }
                stream.write_all(answer(&String::from_utf8_lossy(&line), control).as_bytes())?;
            }
            if waiting.len() > LINE_BYTES_MAX {
                return stream.write_all(b"ERROR the line is too long\r\n");
            }
        }
        Ok(())
    }
}

/// Whether the line begins a request of the web. Any page may have the browser of this user send one, with commands in what
/// follows: a browser's connection is not heard any further.
fn is_of_a_browser(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    [&b" HTTP/1.0"[..], b" HTTP/1.1"].iter().any(|end| line.ends_with(end))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Does what a line says, and returns what to answer.
fn answer(line: &str, control: &Control) -> String {
    let done = match Command::parse(line) {
        Err(complaint) => Err(complaint),
        Ok(command) => obey(command, control).map_err(|error| error.to_string()),
    };
    match done {
        Ok(()) => "OK".to_owned(),
        Err(why) => format!("ERROR {}\r\n", why.replace(['\r', '\n'], " ")),
    }
}

fn obey(command: Command, control: &Control) -> Result<(), ControlError> {
    match command {
        // LabRecorder's start checks all streams, whatever was checked before, so `select none` has no lasting
        // effect. What a person chose on the command line stays.
        Command::SelectAll | Command::SelectNone | Command::Update => Ok(()),
        Command::Start => control.start().map(drop),
        Command::Stop => control.stop().map(drop),
        Command::NextRun => control.next_run().map(drop),
        Command::Annotate(text) => control.annotate(&text),
        Command::FileName { root, template, labels } => {
            control.name(root.as_deref(), template.as_deref(), labels)
        }
    }
}

const CONNECTIONS_MAX: usize = 16;
const LINE_BYTES_MAX: usize = 16 << 10;
const LOOK_EVERY: Duration = Duration::from_millis(250);
const RETRY_TIME: Duration = Duration::from_millis(100);
const WAKE_TIME: Duration = Duration::from_secs(1);
