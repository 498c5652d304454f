//! Hart 1 as a receiver: finds a stream of the desktop, checks every sample of it, and measures its clock.

use schwann_node::{Finder, Inlet, InletState, Member, Micros, Security, Surroundings, Wait, Wanted};
use schwann_node_smoltcp::instant;
use schwann_proto::wire::ByteWriter;
use schwann_session::Suite;
use smoltcp::{
    iface::{Interface, SocketSet, SocketStorage},
    socket::{tcp, udp},
    wire::{IpAddress, IpEndpoint, Ipv4Address},
};

use crate::{
    card::{Card, Dice},
    machine, network, say,
    settings::Settings,
};

pub fn run(settings: &Settings) -> ! {
    machine::unring(1);
    let Some(mut card) = Card::new() else {
        say!("no network card");
        machine::exit(4)
    };
    let mut dice = Dice::new();
    let mut key_memory = [0; 1024];
    let keys = settings.sealed.then(|| network::keys(&mut key_memory, &mut dice, RECORD));
    let security = keys.as_ref().map_or(Security::Off, |keys| Security::Require(Member::of(keys)));
    let mut iface = network::interface(settings, &mut card);
    let mut storage = [const { SocketStorage::EMPTY }; 2];
    let mut sockets = SocketSet::new(&mut storage[..]);
    let (mut rx, mut tx) = ([0; 2048], [0; 1024]);
    let stream = sockets
        .add(tcp::Socket::new(tcp::SocketBuffer::new(&mut rx[..]), tcp::SocketBuffer::new(&mut tx[..])));
    let (mut meta_in, mut meta_out) = ([udp::PacketMetadata::EMPTY; 4], [udp::PacketMetadata::EMPTY; 2]);
    let (mut data_in, mut data_out) = ([0; 2048], [0; 512]);
    let mut datagrams = udp::Socket::new(
        udp::PacketBuffer::new(&mut meta_in[..], &mut data_in[..]),
        udp::PacketBuffer::new(&mut meta_out[..], &mut data_out[..]),
    );
    if datagrams.bind(PORT).is_err() {
        machine::exit(9);
    }
    let datagrams = sockets.add(datagrams);
    say!("serving bound=true receiving");

    let (wanted, data, time) = find(&mut iface, &mut card, &mut sockets, datagrams);
    let mut inlet = Inlet::<'_, RX, 1024>::new(wanted, security, Suite::Classic);
    let socket = sockets.get_mut::<tcp::Socket<'_>>(stream);
    if socket.connect(iface.context(), data, PORT).is_err() {
        machine::exit(9);
    }
    let mut check = Check { expected: settings.expect, ..Check::default() };
    loop {
        wake(&mut card);
        iface.poll(instant(machine::now()), &mut card, &mut sockets);
        let mut surroundings =
            Surroundings { now: machine::now(), calendar: settings.calendar, entropy: &mut dice };
        exchange(&mut inlet, sockets.get_mut(stream), &mut surroundings);
        probe(&mut inlet, sockets.get_mut(datagrams), time);
        check.pull(&mut inlet);
        let over = matches!(inlet.state(), InletState::Over(_));
        if over || check.count >= check.expected && inlet.clock_estimate().is_some() {
            report(&check, &inlet);
            machine::exit(u32::from(over));
        }
        let wait = inlet.poll(machine::now());
        iface.poll(instant(machine::now()), &mut card, &mut sockets);
        rest(&mut iface, &sockets, wait);
    }
}

fn report(check: &Check, inlet: &Inlet<'_, RX, 1024>) {
    say!(
        "received count={} wrong={} clock={} state={:?}",
        check.count,
        check.wrong,
        u8::from(inlet.clock_estimate().is_some()),
        inlet.state(),
    );
    say!("stacks application={} network={}", machine::stack_used(0), machine::stack_used(1));
}

/// Asks until a stream of that name answers; returns it, and where its samples and its clock are.
fn find(
    iface: &mut Interface,
    card: &mut Card,
    sockets: &mut SocketSet<'_>,
    handle: smoltcp::iface::SocketHandle,
) -> (Wanted, IpEndpoint, IpEndpoint) {
    let finder = Finder::new("name='Desktop'");
    let group = IpEndpoint::new(IpAddress::Ipv4(Ipv4Address::new(239, 255, 172, 215)), 16571);
    let mut again = machine::now();
    loop {
        wake(card);
        iface.poll(instant(machine::now()), card, sockets);
        let socket = sockets.get_mut::<udp::Socket<'_>>(handle);
        if machine::now() >= again {
            let mut room = [0; 256];
            let mut query = ByteWriter::new(&mut room);
            if finder.encode_query(PORT, &mut query).is_ok() {
                // A query that finds no room is sent again.
                let _ = socket.send_slice(query.written(), group);
            }
            again = machine::now().after(AGAIN);
        }
        while let Ok((reply, from)) = socket.recv() {
            let found = finder.handle_reply(reply);
            if let Some((found, wanted)) = found.and_then(|found| Some((found, Wanted::new(&found, 3000)?))) {
                let at = |port| IpEndpoint::new(from.endpoint.addr, port);
                return (wanted, at(found.data_port), at(found.service_port));
            }
        }
        iface.poll(instant(machine::now()), card, sockets);
        rest(iface, sockets, Wait::Until(again));
    }
}

fn exchange(
    inlet: &mut Inlet<'_, RX, 1024>,
    socket: &mut tcp::Socket<'_>,
    surroundings: &mut Surroundings<'_>,
) {
    if inlet.state() == InletState::Idle && socket.may_send() {
        inlet.connected(surroundings);
    }
    while socket.can_send() && !inlet.transmit().is_empty() {
        let count = socket.send_slice(inlet.transmit()).unwrap_or(0);
        inlet.sent(count);
    }
    if socket.can_recv() {
        // What the inlet does not take stays in the socket.
        let _ = socket.recv(|bytes| (inlet.receive(bytes, surroundings), ()));
    } else if inlet.state() != InletState::Idle && !socket.may_recv() {
        inlet.ended();
    }
}

/// Asks the outlet for its time whenever that is due, and hears its replies.
fn probe(inlet: &mut Inlet<'_, RX, 1024>, socket: &mut udp::Socket<'_>, time: IpEndpoint) {
    let mut room = [0; 512];
    if let Ok(len) = inlet.poll_probe(machine::now(), &mut room) {
        // A probe that finds no room is one that gets lost.
        let _ = socket.send_slice(&room[..len], time);
    }
    while let Ok((len, _)) = socket.recv_slice(&mut room) {
        inlet.handle_datagram(&mut room[..len], machine::now());
    }
}

/// Looks at every value of every sample.
#[derive(Default)]
struct Check {
    expected: u32,
    count: u32,
    wrong: u32,
}

impl Check {
    fn pull(&mut self, inlet: &mut Inlet<'_, RX, 1024>) {
        let mut sample = [0.0_f32; 8];
        while let Some(stamp) = inlet.pull(&mut sample) {
            let base = self.count as f32;
            let right = sample.iter().enumerate().all(|(channel, value)| *value == base + channel as f32);
            if !right || stamp != f64::from(self.count) + 0.5 {
                self.wrong += 1;
            }
            self.count += 1;
        }
    }
}

fn wake(card: &mut Card) {
    machine::unring(1);
    card.acknowledge();
}

/// Sleeps until something is due, or comes; a tenth of a second at most, for the clock's probes.
fn rest(iface: &mut Interface, sockets: &SocketSet<'_>, wait: Wait) {
    let now = machine::now();
    let mut until: Micros = now.after(100_000);
    if let Wait::Until(then) = wait {
        until = until.min(then);
    }
    if let Some(delay) = iface.poll_delay(instant(now), sockets) {
        until = until.min(now.after(delay.total_micros()));
    }
    if until > now {
        machine::sleep(1, Some(until));
    }
}

const RX: usize = 4096;
/// Longest record: the rest of `RX` holds what was begun of a sample.
const RECORD: usize = 2048;
/// Where replies to a search, and to clock probes, come.
const PORT: u16 = 17001;
/// Between two searches, in microseconds.
const AGAIN: u64 = 500_000;
