//! A server and a computer on one simulated cable.

use core::sync::atomic::AtomicU32;
use std::collections::VecDeque;

use schwann_node::{Control, Description, Keep, Micros, Outlet, Pace, Ports, Shape, Surroundings, ring};
use schwann_node_smoltcp::{Board, Buffers, LINKS, SOCKETS, Server, instant};
use schwann_proto::stream::ChannelFormat;
use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage},
    phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken},
    socket::tcp,
    time::Instant,
    wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr},
};

use super::common::{Lab, NodeInlet, Seeded, TODAY, description};

/// A connection of the computer's.
pub(crate) type Peer = SocketHandle;
/// What a peer does in every turn.
pub(crate) type Habit = fn(&mut Net, Peer);
/// Links as small as a board's: they refuse the hybrid suite.
type SmallOutlet = Outlet<'static, LINKS, 768, 1280>;

/// Both ends of the cable, and what hangs on them.
pub(crate) struct Net {
    clock: Clock,
    outlet: SmallOutlet,
    server: Server<'static>,
    /// The server's interface and its end of the cable.
    node: (Interface, End),
    computer: (Interface, End),
    sockets: SocketSet<'static>,
    heard: Vec<(Peer, Vec<u8>)>,
    /// Peers that do something in every turn.
    habits: Vec<(Peer, Habit)>,
    drops_answers: bool,
    next_port: u16,
}

struct Clock {
    now: Micros,
    entropy: Seeded,
}

impl Board for Clock {
    fn now(&mut self) -> Micros {
        self.now
    }

    fn surroundings(&mut self) -> Surroundings<'_> {
        Surroundings { now: self.now, calendar: TODAY.into(), entropy: &mut self.entropy }
    }
}

impl Net {
    pub(crate) fn new(lab: &Lab) -> Self {
        let (mut node, mut computer) = (End::default(), End::default());
        let mut node_iface = interface(1, &mut node);
        let computer_iface = interface(2, &mut computer);
        let server = Server::new(
            Ports { data_port: PORT, service_port: PORT },
            &mut node_iface,
            Box::leak(Box::new([const { SocketStorage::EMPTY }; SOCKETS])),
            Box::leak(Box::new(Buffers::new())),
            vec![0; LINKS * 2048].leak(),
        )
        .expect("ports and groups");
        Self {
            clock: Clock { now: Micros(1_000_000), entropy: Seeded(1) },
            outlet: outlet(lab),
            server,
            node: (node_iface, node),
            computer: (computer_iface, computer),
            sockets: SocketSet::new(&mut Box::leak(Box::new([const { SocketStorage::EMPTY }; PEERS]))[..]),
            heard: Vec::new(),
            habits: Vec::new(),
            drops_answers: false,
            next_port: 49_152,
        }
    }

    /// Begins a connection to the server.
    pub(crate) fn connect(&mut self) -> Peer {
        let buffer = || tcp::SocketBuffer::new(vec![0; 8192].leak());
        let mut socket = tcp::Socket::new(buffer(), buffer());
        self.next_port += 1;
        socket
            .connect(self.computer.0.context(), (IpAddress::v4(10, 0, 0, 1), PORT), self.next_port)
            .expect("a free port");
        let peer = self.sockets.add(socket);
        self.heard.push((peer, Vec::new()));
        peer
    }

    /// Has a peer do something in every turn from now on.
    pub(crate) fn give_habit(&mut self, peer: Peer, habit: Habit) {
        self.habits.push((peer, habit));
    }

    /// Whether the cable loses what the server says to peers.
    pub(crate) fn drop_answers(&mut self, drop: bool) {
        self.drops_answers = drop;
    }

    pub(crate) fn is_connected(&self, peer: Peer) -> bool {
        self.sockets.get::<tcp::Socket<'_>>(peer).state() == tcp::State::Established
    }

    /// Whether the server has turned the peer away.
    pub(crate) fn is_gone(&self, peer: Peer) -> bool {
        !matches!(
            self.sockets.get::<tcp::Socket<'_>>(peer).state(),
            tcp::State::SynSent | tcp::State::Established
        )
    }

    /// What the server has said so far.
    pub(crate) fn heard(&self, peer: Peer) -> &[u8] {
        self.heard.iter().find(|(one, _)| *one == peer).map(|(_, bytes)| bytes.as_slice()).unwrap_or_default()
    }

    pub(crate) fn say(&mut self, peer: Peer, bytes: &[u8]) {
        // A peer that was reset has no connection to send on.
        let _ = self.sockets.get_mut::<tcp::Socket<'_>>(peer).send_slice(bytes);
    }

    pub(crate) fn close(&mut self, peer: Peer) {
        self.sockets.get_mut::<tcp::Socket<'_>>(peer).close();
    }

    pub(crate) fn now(&self) -> Micros {
        self.clock.now
    }

    pub(crate) fn surroundings(&mut self) -> Surroundings<'_> {
        self.clock.surroundings()
    }

    /// Moves bytes between a peer and the inlet on it.
    pub(crate) fn exchange(&mut self, peer: Peer, inlet: &mut NodeInlet) {
        let place = self.heard.iter_mut().find(|(one, _)| *one == peer).map(|(_, bytes)| bytes);
        let heard = place.map(core::mem::take).unwrap_or_default();
        let mut rest = heard.as_slice();
        while !rest.is_empty() {
            let taken = inlet.receive(rest, &mut self.clock.surroundings());
            rest = &rest[taken..];
            self.clock.now = self.clock.now.after(1);
            inlet.poll(self.clock.now);
        }
        self.say(peer, inlet.transmit());
        inlet.sent(inlet.transmit().len());
    }

    /// Lets time pass, in microseconds.
    pub(crate) fn run(&mut self, micros: u64) {
        self.run_until(micros, |_| false);
    }

    /// Lets time pass until something is so; says whether it came to that.
    pub(crate) fn run_until(&mut self, micros: u64, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.clock.now.after(micros);
        while self.clock.now < end {
            if is_so(self) {
                return true;
            }
            self.turn();
            self.clock.now = self.clock.now.after(STEP);
        }
        is_so(self)
    }

    fn turn(&mut self) {
        for at in 0..self.habits.len() {
            let (peer, habit) = self.habits[at];
            habit(self, peer);
        }
        let at = instant(self.clock.now);
        self.computer.0.poll(at, &mut self.computer.1, &mut self.sockets);
        self.node.1.incoming.append(&mut self.computer.1.outgoing);
        self.server.turn(&mut self.outlet, &mut self.node.0, &mut self.node.1, &mut self.clock);
        let drops = self.drops_answers;
        let answers = self.node.1.outgoing.drain(..);
        self.computer.1.incoming.extend(answers.filter(|frame| !drops || frame[12..14] != IPV4));
        for (peer, heard) in &mut self.heard {
            let socket = self.sockets.get_mut::<tcp::Socket<'_>>(*peer);
            while socket.can_recv() {
                let _ = socket.recv(|bytes| (bytes.len(), heard.extend_from_slice(bytes)));
            }
        }
    }
}

fn outlet(lab: &Lab) -> SmallOutlet {
    let shape = Shape::numbers(ChannelFormat::Float32, 8);
    let words = (0..64 * shape.slot_words().expect("a shape")).map(|_| AtomicU32::new(0));
    let words = Vec::leak(words.collect());
    let control: &'static mut Control = Box::leak(Box::default());
    let (_, samples) = ring(words, control, shape, Keep::Newest).expect("a ring");
    let ports = Ports { data_port: PORT, service_port: PORT };
    let description = Description { ports, ..description(ChannelFormat::Float32, 8, 1000.0) };
    Outlet::new(description, samples, lab.security_within(748, 1, |_| {}), Pace::EverySample)
        .expect("an outlet")
}

fn interface(number: u8, end: &mut End) -> Interface {
    let address = EthernetAddress([2, 0, 0, 0, 0, number]);
    let mut config = Config::new(HardwareAddress::Ethernet(address));
    config.random_seed = number.into();
    let mut iface = Interface::new(config, end, Instant::ZERO);
    iface.update_ip_addrs(|addresses| {
        addresses.push(IpCidr::new(IpAddress::v4(10, 0, 0, number), 24)).expect("room for one");
    });
    iface
}

/// One end of the cable.
#[derive(Default)]
struct End {
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
}

impl Device for End {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sent<'_>)> {
        let frame = self.incoming.pop_front()?;
        Some((Received(frame), Sent(&mut self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut frame = vec![0; len];
        let result = fill(&mut frame);
        self.0.push_back(frame);
        result
    }
}

const PORT: u16 = 16572;
/// Ethernet's type of IPv4.
const IPV4: [u8; 2] = [8, 0];
/// Most connections that the computer makes in a test.
const PEERS: usize = 64;
/// Simulated time of one turn, in microseconds.
const STEP: u64 = 500;
