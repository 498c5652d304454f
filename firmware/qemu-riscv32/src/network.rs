//! Hart 1: the network stack, and the outlet between it and the ring.

use core::sync::atomic::{AtomicU32, Ordering};

use schwann_node::{
    Description, LinkState, Member, Micros, Outlet, Place, Security, Service, Surroundings, Uid, Wait,
    key_slots, provision::Keys,
};
use schwann_proto::stream::ChannelFormat;
use schwann_session::Entropy as _;
use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage},
    socket::{tcp, udp},
    time::Instant,
    wire::{EthernetAddress, HardwareAddress, IpCidr, IpEndpoint, Ipv4Address},
};

use crate::{
    application,
    card::{Card, Dice},
    handoff, machine, say,
    settings::Settings,
};

/// Connections at a time: three that receive samples, and one that asks.
const LINKS: usize = 4;
const RX: usize = 768;
const TX: usize = 1280;

const DATA_PORT: u16 = 16572;
const SERVICE_PORT: u16 = 16572;
const DISCOVERY_PORT: u16 = 16571;
/// The groups in which the original library searches.
const GROUPS: [[u8; 4]; 2] = [[224, 0, 0, 183], [239, 255, 172, 215]];
/// Longest sleep, so that the watchdog has something to see, in microseconds.
const LONGEST_SLEEP: u64 = 500_000;

/// Turns of hart 1's loop.
pub static BEATS: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);
static PUSHED: AtomicU32 = AtomicU32::new(0);
static SESSIONS: AtomicU32 = AtomicU32::new(0);
static STRANGERS: AtomicU32 = AtomicU32::new(0);
static ODD: AtomicU32 = AtomicU32::new(0);

/// Says what has happened, on the serial line.
pub fn report() {
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    say!(
        "counters pushed={} sent={} lost={} slips={} sessions={} strangers={} odd={} turns={}",
        count(&PUSHED),
        count(&SENT),
        count(&LOST),
        count(&application::SLIPS),
        count(&SESSIONS),
        count(&STRANGERS),
        count(&ODD),
        count(&BEATS),
    );
    say!("stacks application={} network={}", machine::stack_used(0), machine::stack_used(1));
}

pub fn run(settings: &Settings) -> ! {
    machine::unring(1);
    let (Some(consumer), Some(mut card)) = (handoff::take(), Card::new()) else {
        say!("no network card");
        machine::exit(4)
    };
    let mut dice = Dice::new();
    let mut key_memory = [0; 1024];
    let keys = if settings.sealed { Some(keys(&mut key_memory, &mut dice)) } else { None };
    let security = keys.as_ref().map_or(Security::Off, |keys| {
        Security::Require(Member { visible: settings.visible, ..keys.member() })
    });
    let mut uid = [0; 16];
    if dice.fill(&mut uid).is_err() {
        say!("no random generator");
        machine::exit(5);
    }
    let description = Description {
        name: "QEMU node",
        stream_type: "EEG",
        channel_count: settings.channel_count,
        format: ChannelFormat::Float32,
        nominal_rate: f64::from(settings.rate),
        source_id: "qemu-riscv32",
        hostname: "qemu-riscv32",
        session_id: "default",
        uid: Uid::new(uid),
        created_at: machine::now().seconds(),
        place: Place { data_port: DATA_PORT, service_port: SERVICE_PORT },
        desc: "<manufacturer>Schwann</manufacturer>",
    };
    // By reference: a copy would take as much stack again.
    match &mut Outlet::<'_, LINKS, RX, TX>::new(description, consumer, security, settings.pace) {
        Ok(outlet) => serve(settings, outlet, &mut card, dice),
        Err(why) => {
            say!("no outlet: {why}");
            machine::exit(6)
        }
    }
}

fn keys<'a>(memory: &'a mut [u8], dice: &mut Dice) -> Keys<'a> {
    let content = match key_slots::load(&mut machine::KeyFlash, memory) {
        Ok(content) => content,
        Err(why) => {
            say!("keys: {why}");
            machine::exit(7)
        }
    };
    // A record's 20 bytes of its own.
    match Keys::parse(content, RX - 20, dice) {
        Ok(keys) => keys,
        Err(why) => {
            say!("keys: {why}");
            machine::exit(8)
        }
    }
}

/// The sockets' handles.
struct Sockets {
    links: [SocketHandle; LINKS],
    discovery: SocketHandle,
    service: SocketHandle,
}

fn serve(settings: &Settings, outlet: &mut Outlet<'_, LINKS, RX, TX>, card: &mut Card, mut dice: Dice) -> ! {
    let started = machine::now();
    let mut iface = interface(settings, card);
    let mut storage = [const { SocketStorage::EMPTY }; LINKS + 2];
    let mut sockets = SocketSet::new(&mut storage[..]);
    let mut tcp_rx = [[0; 512]; LINKS];
    let mut tcp_tx = [[0; 4096]; LINKS];
    let mut pairs = tcp_rx.iter_mut().zip(&mut tcp_tx);
    let links = core::array::from_fn(|_| {
        let (rx, tx) = pairs.next().expect("as many as links");
        let mut socket =
            tcp::Socket::new(tcp::SocketBuffer::new(&mut rx[..]), tcp::SocketBuffer::new(&mut tx[..]));
        socket.set_nagle_enabled(false);
        socket.set_keep_alive(Some(smoltcp::time::Duration::from_secs(5)));
        socket.set_timeout(Some(smoltcp::time::Duration::from_secs(15)));
        sockets.add(socket)
    });
    let (mut meta_a, mut meta_b) = ([udp::PacketMetadata::EMPTY; 4], [udp::PacketMetadata::EMPTY; 4]);
    let (mut meta_c, mut meta_d) = ([udp::PacketMetadata::EMPTY; 4], [udp::PacketMetadata::EMPTY; 4]);
    let (mut data_a, mut data_b, mut data_c, mut data_d) = ([0; 512], [0; 1400], [0; 512], [0; 1400]);
    let mut discovery = udp::Socket::new(
        udp::PacketBuffer::new(&mut meta_a[..], &mut data_a[..]),
        udp::PacketBuffer::new(&mut meta_b[..], &mut data_b[..]),
    );
    let mut service = udp::Socket::new(
        udp::PacketBuffer::new(&mut meta_c[..], &mut data_c[..]),
        udp::PacketBuffer::new(&mut meta_d[..], &mut data_d[..]),
    );
    let bound = discovery.bind(DISCOVERY_PORT).is_ok() && service.bind(SERVICE_PORT).is_ok();
    let all = Sockets { links, discovery: sockets.add(discovery), service: sockets.add(service) };
    say!("serving bound={bound} sealed={}", u8::from(settings.sealed));
    let mut open = [false; LINKS];
    loop {
        machine::unring(1);
        card.acknowledge();
        let now = machine::now();
        if settings.hang_s > 0 && now.since(started) > settings.hang_s * 1_000_000 {
            loop {
                machine::sleep(1, None);
                machine::unring(1);
            }
        }
        iface.poll(instant(now), card, &mut sockets);
        for (service, handle) in [(Service::Discovery, all.discovery), (Service::Time, all.service)] {
            let socket = sockets.get_mut::<udp::Socket<'_>>(handle);
            answer(outlet, service, socket, settings, &mut dice);
        }
        for (link, handle) in all.links.iter().enumerate() {
            let socket = sockets.get_mut::<tcp::Socket<'_>>(*handle);
            hear(outlet, link, socket, &mut open[link], settings, &mut dice);
        }
        let wait = outlet.poll(machine::now());
        for (link, handle) in all.links.iter().enumerate() {
            speak(outlet, link, sockets.get_mut::<tcp::Socket<'_>>(*handle), &mut open[link]);
        }
        // What has just been given to the sockets goes out before the sleep, and makes room for more.
        let moved = iface.poll(instant(machine::now()), card, &mut sockets);
        note(outlet);
        let now = machine::now();
        let mut until = now.after(LONGEST_SLEEP);
        if let Wait::Until(then) = wait {
            until = until.min(then);
        }
        if let Some(delay) = iface.poll_delay(instant(now), &sockets) {
            until = until.min(now.after(delay.total_micros()));
        }
        if until > now && moved == smoltcp::iface::PollResult::None {
            machine::sleep(1, Some(until));
        }
    }
}

fn note(outlet: &Outlet<'_, LINKS, RX, TX>) {
    let counters = outlet.counters();
    BEATS.store(counters.polls, Ordering::Relaxed);
    PUSHED.store(counters.pushed, Ordering::Relaxed);
    SENT.store(counters.sent, Ordering::Relaxed);
    LOST.store(counters.lost, Ordering::Relaxed);
    SESSIONS.store(counters.sessions, Ordering::Relaxed);
    STRANGERS.store(counters.strangers, Ordering::Relaxed);
    ODD.store(counters.odd_datagrams, Ordering::Relaxed);
}

fn interface(settings: &Settings, card: &mut Card) -> Interface {
    let address = EthernetAddress(card.address());
    let mut config = Config::new(HardwareAddress::Ethernet(address));
    config.random_seed = machine::now().0;
    let mut iface = Interface::new(config, card, instant(machine::now()));
    let [a, b, c, d] = settings.address;
    iface.update_ip_addrs(|addresses| {
        // The list is empty and has room for one.
        let _ = addresses.push(IpCidr::new(Ipv4Address::new(a, b, c, d).into(), 24));
    });
    for [a, b, c, d] in GROUPS {
        if iface.join_multicast_group(Ipv4Address::new(a, b, c, d)).is_err() {
            say!("group {a}.{b}.{c}.{d} cannot be joined");
        }
    }
    iface
}

fn instant(now: Micros) -> Instant {
    Instant::from_micros(now.0 as i64)
}

fn surroundings<'a>(settings: &Settings, dice: &'a mut Dice) -> Surroundings<'a> {
    Surroundings { now: machine::now(), calendar: settings.calendar, entropy: dice }
}

/// Answers what came to a UDP socket.
fn answer(
    outlet: &mut Outlet<'_, LINKS, RX, TX>,
    service: Service,
    socket: &mut udp::Socket<'_>,
    settings: &Settings,
    dice: &mut Dice,
) {
    let mut datagram = [0; 512];
    let mut out = [0; 1400];
    while let Ok((len, from)) = socket.recv_slice(&mut datagram) {
        let reply = outlet.handle_datagram(
            &mut datagram[..len],
            service,
            &mut surroundings(settings, dice),
            &mut out,
        );
        if let Some(reply) = reply {
            let port = reply.port.unwrap_or(from.endpoint.port);
            // A reply that finds no room is asked for again.
            let _ = socket.send_slice(&out[..reply.len], IpEndpoint::new(from.endpoint.addr, port));
        }
    }
}

/// Gives the outlet what a link's socket has received.
fn hear(
    outlet: &mut Outlet<'_, LINKS, RX, TX>,
    link: usize,
    socket: &mut tcp::Socket<'_>,
    open: &mut bool,
    settings: &Settings,
    dice: &mut Dice,
) {
    if !socket.is_open() {
        if core::mem::take(open) {
            outlet.ended(link);
        }
        // Fails for a port of 0 alone.
        let _ = socket.listen(DATA_PORT);
        return;
    }
    let connected = matches!(socket.state(), tcp::State::Established | tcp::State::CloseWait);
    if connected && !*open {
        *open = true;
        outlet.accept(link, machine::now());
    }
    while *open && socket.can_recv() {
        let taken = socket.recv(|bytes| {
            let count = outlet.receive(link, bytes, &mut surroundings(settings, dice));
            (count, count)
        });
        if taken.unwrap_or(0) == 0 {
            break;
        }
    }
    // Who has closed its side takes no more samples; who waits for an answer gets it first.
    if *open && socket.state() == tcp::State::CloseWait && outlet.subscribers() > 0 && !socket.can_recv() {
        if outlet.state(link) == LinkState::Open {
            outlet.ended(link);
            *open = false;
        }
        socket.close();
    }
}

/// Gives a link's socket what the outlet has to send.
fn speak(outlet: &mut Outlet<'_, LINKS, RX, TX>, link: usize, socket: &mut tcp::Socket<'_>, open: &mut bool) {
    while *open && socket.can_send() && !outlet.transmit(link).is_empty() {
        let count = socket.send_slice(outlet.transmit(link)).unwrap_or(0);
        if count == 0 {
            break;
        }
        outlet.sent(link, count, machine::now());
        outlet.poll(machine::now());
    }
    match outlet.state(link) {
        LinkState::Broken => {
            socket.abort();
            outlet.ended(link);
            *open = false;
        }
        LinkState::Closing if outlet.transmit(link).is_empty() => {
            socket.close();
            outlet.ended(link);
            *open = false;
        }
        _ => {}
    }
}
