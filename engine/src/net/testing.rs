//! A whole outlet as far as discovery and the clock go, for tests that search one.

use core::net::SocketAddr;
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
};

use mio::{Events, Interest, Poll, Token, Waker};
use schwann_proto::{
    stream::ChannelFormat,
    stream_info::{IpVersion, OutletIdentity, StreamInfo},
};
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList, Roles, Statement,
    SystemEntropy, UnixSeconds,
};

use crate::{
    config::Config,
    net::{
        advertisement::Advertisement,
        interrupt::Interrupt,
        responder::{Backlog, Responder},
        sockets::{OutletPorts, OutletSockets},
    },
    security::Member,
};

mod pair;
#[path = "../../tests/ports/mod.rs"]
mod ports;

pub(crate) use pair::{sealed_pair, step};
use ports::ports;

/// A configuration for one test: IPv4 on this computer, and ports and a session that no other test uses.
///
/// `more` are further lines; they replace those of the same key.
pub(crate) fn config(more: &str) -> Arc<Config> {
    let base = ports();
    let text = format!(
        "ports.IPv6=disable\nports.MulticastPort={}\nports.BasePort={base}\nports.PortRange=8\n\
         multicast.ResolveScope=machine\nlab.SessionID=test-{base}-{}\n{more}",
        base + 9,
        std::process::id()
    );
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let key = line.split('=').next();
        lines.retain(|other| other.split('=').next() != key);
        lines.push(line);
    }
    Arc::new(Config::parse(&lines.join("\n")).expect("a valid configuration"))
}

/// The description that an outlet named `name` gives, without ports.
pub(crate) fn description(config: &Config, name: &str) -> StreamInfo {
    let info = StreamInfo::new(name, "EEG", 3, 100.0, ChannelFormat::Float32, format!("source-{name}"));
    let mut random = [0x5a; 16];
    for (to, from) in random.iter_mut().zip(name.bytes().rev()) {
        *to = from;
    }
    let identity = OutletIdentity {
        session_id: config.lab.session_id.as_bytes(),
        random,
        created_at: 12345.6789,
        hostname: b"test-host",
    };
    info.expect("a valid description").for_outlet(&identity)
}

/// A lab, and what its first device proves with.
pub(crate) struct Lab {
    pub(crate) authority: AuthorityKey,
    pub(crate) credentials: Credentials,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let authority = AuthorityKey::generate(&mut SystemEntropy).expect("random");
        let device = DeviceKey::generate(&mut SystemEntropy).expect("random");
        let certificate = authority.certify(Statement {
            device: device.public(),
            flags: Flags::default(),
            lab: LabId([0; 16]),
            name: DeviceName::new("device").expect("a name"),
            not_after: UnixSeconds(u64::MAX),
            not_before: UnixSeconds(0),
            roles: Roles::BOTH,
            serial: 1,
        });
        let credentials = Credentials::new(device, certificate, &mut SystemEntropy).expect("credentials");
        Self { authority, credentials }
    }

    /// A list that revokes no device and commits to a discovery key.
    pub(crate) fn list(&self, number: u64, discovery_key: &[u8; 32]) -> RevocationList<Vec<u8>> {
        RevocationList::sign(&self.authority, number, UnixSeconds(1), discovery_key, &[]).expect("a list")
    }

    /// Its first device as a member.
    pub(crate) fn into_member(self) -> Arc<Member> {
        let list = self.list(1, &[1; 32]);
        Arc::new(Member::new(self.authority.lab(), self.credentials, list, &[1; 32]))
    }
}

/// Answers datagrams in a thread until it is dropped.
pub(crate) struct TestOutlet {
    pub(crate) info: StreamInfo,
    pub(crate) ports: OutletPorts,
    stop: Interrupt,
    thread: Option<JoinHandle<()>>,
}

impl TestOutlet {
    pub(crate) fn start(config: &Arc<Config>, name: &str) -> Self {
        let sockets = OutletSockets::open(config).expect("free ports");
        let ports = sockets.ports;
        let mut info = description(config, name);
        info.set_ports(IpVersion::V4, ports.v4_data, ports.v4_service);
        info.set_ports(IpVersion::V6, ports.v6_data, ports.v6_service);
        let advertisement = Arc::new(Advertisement::new(config, info.clone()));
        let mut responder = Responder::new(config, sockets.discovery, sockets.services, advertisement);
        let poll = Poll::new().expect("a poller");
        let count = responder.sockets().len();
        for (index, socket) in responder.sockets().iter_mut().enumerate() {
            poll.registry().register(socket, Token(index), Interest::READABLE).expect("registered");
        }
        let waker = Arc::new(Waker::new(poll.registry(), Token(count)).expect("a waker"));
        let stop = Interrupt::default();
        let stopped = stop.clone();
        let thread = thread::spawn(move || serve(poll, responder, waker, &stopped));
        Self { info, ports, stop, thread: Some(thread) }
    }

    /// Where the time service is.
    pub(crate) fn service(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports.v4_service))
    }
}

impl Drop for TestOutlet {
    fn drop(&mut self) {
        self.stop.raise();
        self.thread.take().expect("joined once").join().expect("the responder does not panic");
    }
}

fn serve(mut poll: Poll, mut responder: Responder, waker: Arc<Waker>, stop: &Interrupt) {
    let _listening = stop.listen(waker);
    let mut events = Events::with_capacity(16);
    while !stop.is_raised() {
        poll.poll(&mut events, None).expect("polled");
        for event in &events {
            while responder.handle_readable(event.token().0) == Backlog::More {}
        }
    }
}
