//! An outlet's sockets.

use schwann_node::{LinkState, MULTICAST_PORT, Micros, Outlet, Ports, Service, Surroundings, Wait};
use smoltcp::{
    iface::{Interface, PollResult, SocketHandle, SocketSet, SocketStorage},
    phy::Device,
    socket::{tcp, udp},
    time::{Duration, Instant},
    wire::{IpEndpoint, Ipv4Address},
};

/// What a server asks of its board.
pub trait Board {
    /// The board's clock, which stamps the samples.
    fn now(&mut self) -> Micros;

    /// Time, date and randomness.
    fn surroundings(&mut self) -> Surroundings<'_>;
}

/// Memory of the sockets, except for what connections send.
pub struct Buffers {
    received: [[u8; RECEIVED_LEN]; LINKS],
    discovery: Datagrams<REPLY_LEN>,
    service: Datagrams<TIME_LEN>,
}

struct Datagrams<const REPLY: usize> {
    rx_meta: [udp::PacketMetadata; 4],
    tx_meta: [udp::PacketMetadata; 2],
    rx: [u8; QUERY_LEN],
    tx: [u8; REPLY],
}

impl Buffers {
    /// Empty buffers.
    // Not part of its caller: otherwise that frame would hold the parts a second time,
    // for ever.
    #[inline(never)]
    #[must_use]
    pub const fn new() -> Self {
        Self { received: [[0; RECEIVED_LEN]; LINKS], discovery: Datagrams::new(), service: Datagrams::new() }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

impl<const REPLY: usize> Datagrams<REPLY> {
    const fn new() -> Self {
        Self {
            rx_meta: [udp::PacketMetadata::EMPTY; 4],
            tx_meta: [udp::PacketMetadata::EMPTY; 2],
            rx: [0; QUERY_LEN],
            tx: [0; REPLY],
        }
    }

    fn socket(&mut self) -> udp::Socket<'_> {
        udp::Socket::new(
            udp::PacketBuffer::new(&mut self.rx_meta[..], &mut self.rx[..]),
            udp::PacketBuffer::new(&mut self.tx_meta[..], &mut self.tx[..]),
        )
    }
}

/// The sockets of one outlet.
pub struct Server<'a> {
    sockets: SocketSet<'a>,
    links: [SocketHandle; LINKS],
    /// Whether the outlet knows of a connection.
    open: [bool; LINKS],
    /// Since when a connection is under way that the outlet does not know: one not made yet, or not closed
    /// yet.
    loose_since: [Option<Micros>; LINKS],
    discovery: SocketHandle,
    service: SocketHandle,
    data_port: u16,
}

impl<'a> Server<'a> {
    /// Opens the sockets, and joins the groups in which streams are searched.
    ///
    /// - Shape: `sending` is shared by the connections, for what each has sent and its peer has not acknowledged. A
    ///   computer may acknowledge small segments 40 ms late. A stream that makes more in that time waits in its
    ///   ring. `storage` has room for [`SOCKETS`], and for the board's own sockets.
    ///
    /// Returns nothing if a port is 0, or the interface can join no more groups.
    // Not part of its caller, whose frame stays for ever.
    #[inline(never)]
    pub fn new(
        ports: Ports,
        iface: &mut Interface,
        storage: &'a mut [SocketStorage<'a>],
        buffers: &'a mut Buffers,
        sending: &'a mut [u8],
    ) -> Option<Self> {
        let mut sockets = SocketSet::new(storage);
        let Buffers { received, discovery, service } = buffers;
        let share = (sending.len() / LINKS).max(1);
        let mut pairs = received.iter_mut().zip(sending.chunks_exact_mut(share));
        let links = [(); LINKS].map(|()| {
            let (rx, tx) = pairs.next().map(|(rx, tx)| (&mut rx[..], tx)).unwrap_or_default();
            sockets.add(stream_socket(rx, tx))
        });
        let (mut discovery, mut service) = (discovery.socket(), service.socket());
        discovery.bind(MULTICAST_PORT).ok()?;
        service.bind(ports.service_port).ok()?;
        for [a, b, c, d] in GROUPS {
            iface.join_multicast_group(Ipv4Address::new(a, b, c, d)).ok()?;
        }
        let (discovery, service) = (sockets.add(discovery), sockets.add(service));
        let (open, loose_since) = ([false; LINKS], [None; LINKS]);
        Some(Self { sockets, links, open, loose_since, discovery, service, data_port: ports.data_port })
    }

    /// The sockets, for a board that adds its own.
    pub fn sockets(&mut self) -> &mut SocketSet<'a> {
        &mut self.sockets
    }

    /// Takes what came, sends what is due; returns until when there is nothing to do.
    ///
    /// Do not sleep if that time has passed: there is more to do at once.
    #[inline(never)]
    pub fn turn<D: Device + ?Sized, const RX: usize, const TX: usize>(
        &mut self,
        outlet: &mut Outlet<'_, LINKS, RX, TX>,
        iface: &mut Interface,
        device: &mut D,
        board: &mut impl Board,
    ) -> Wait {
        iface.poll(instant(board.now()), device, &mut self.sockets);
        for service in [Service::Discovery, Service::Time] {
            self.answer(outlet, service, board);
        }
        for link in 0..LINKS {
            self.hear(outlet, link, board);
        }
        let mut wait = outlet.poll(board.now());
        for link in 0..LINKS {
            self.speak(outlet, link, board);
        }
        for link in 0..LINKS {
            wait = wait.sooner(self.see_off(link, board.now()));
        }
        // What has just been given to the sockets goes out before the sleep, and makes room for more.
        let moved = iface.poll(instant(board.now()), device, &mut self.sockets);
        let now = board.now();
        if moved != PollResult::None {
            return Wait::Until(now);
        }
        match iface.poll_delay(instant(now), &self.sockets) {
            Some(delay) => wait.sooner(Wait::Until(now.after(delay.total_micros()))),
            None => wait,
        }
    }

    /// Answers what came to a UDP socket.
    #[inline(never)]
    fn answer<const RX: usize, const TX: usize>(
        &mut self,
        outlet: &mut Outlet<'_, LINKS, RX, TX>,
        service: Service,
        board: &mut impl Board,
    ) {
        let handle = match service {
            Service::Discovery => self.discovery,
            Service::Time => self.service,
        };
        let mut datagram = [0; QUERY_LEN];
        let mut out = [0; REPLY_LEN];
        while let Ok((len, from)) = self.sockets.get_mut::<udp::Socket<'_>>(handle).recv_slice(&mut datagram)
        {
            let room = &mut out;
            let reply =
                outlet.handle_datagram(&mut datagram[..len], service, &mut board.surroundings(), room);
            let Some(reply) = reply else { continue };
            // A searcher looks at the port where the answer arrives, not at its source. So one socket has room for
            // descriptions.
            let (from_handle, port) = match reply.port {
                Some(port) => (self.discovery, port),
                None => (handle, from.endpoint.port),
            };
            let to = IpEndpoint::new(from.endpoint.addr, port);
            // A reply that finds no room is asked for again.
            let _ = self.sockets.get_mut::<udp::Socket<'_>>(from_handle).send_slice(&out[..reply.len], to);
        }
    }

    /// Gives the outlet what a link's socket has received.
    ///
    /// Not part of its caller, and neither are the others. So their frames lie on the stack one after the
    /// other.
    #[inline(never)]
    fn hear<const RX: usize, const TX: usize>(
        &mut self,
        outlet: &mut Outlet<'_, LINKS, RX, TX>,
        link: usize,
        board: &mut impl Board,
    ) {
        let (socket, open) =
            (self.sockets.get_mut::<tcp::Socket<'_>>(self.links[link]), &mut self.open[link]);
        if !socket.is_open() {
            if core::mem::take(open) {
                outlet.ended(link);
            }
            // Fails for a port of 0 alone.
            let _ = socket.listen(self.data_port);
            return;
        }
        let connected = matches!(socket.state(), tcp::State::Established | tcp::State::CloseWait);
        if connected && !*open {
            *open = true;
            outlet.accept(link, board.now());
        }
        while *open && socket.can_recv() {
            let taken = socket.recv(|bytes| {
                let count = outlet.receive(link, bytes, &mut board.surroundings());
                (count, count)
            });
            if taken.unwrap_or(0) == 0 {
                break;
            }
        }
        // A peer that has closed its side takes no more samples. If it waits for an answer, it gets that
        // first.
        if *open && socket.state() == tcp::State::CloseWait && outlet.subscribers() > 0 && !socket.can_recv()
        {
            if outlet.state(link) == LinkState::Open {
                outlet.ended(link);
                *open = false;
            }
            socket.close();
        }
    }

    /// Gives a link's socket what the outlet has to send.
    #[inline(never)]
    fn speak<const RX: usize, const TX: usize>(
        &mut self,
        outlet: &mut Outlet<'_, LINKS, RX, TX>,
        link: usize,
        board: &mut impl Board,
    ) {
        let (socket, open) =
            (self.sockets.get_mut::<tcp::Socket<'_>>(self.links[link]), &mut self.open[link]);
        while *open && socket.can_send() && !outlet.transmit(link).is_empty() {
            let count = socket.send_slice(outlet.transmit(link)).unwrap_or(0);
            if count == 0 {
                break;
            }
            outlet.sent(link, count, board.now());
            outlet.poll(board.now());
        }
        match outlet.state(link) {
            LinkState::Broken => socket.abort(),
            LinkState::Closing if outlet.transmit(link).is_empty() => socket.close(),
            _ => return,
        }
        outlet.ended(link);
        *open = false;
    }
}

impl Server<'_> {
    /// Lets go of a connection that is the network's alone; says when to look again.
    ///
    /// A peer that goes on talking to a closed link fills its window. Its own end then waits behind that for
    /// ever. A peer that acknowledges never runs into the socket's time limit. So what it says is dropped,
    /// and its time is short: a link serves no other peer meanwhile.
    #[inline(never)]
    fn see_off(&mut self, link: usize, now: Micros) -> Wait {
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.links[link]);
        if self.open[link] || socket.is_listening() || !socket.is_open() {
            self.loose_since[link] = None;
            return Wait::ForEvent;
        }
        let until = self.loose_since[link].get_or_insert(now).after(LOOSE);
        while socket.can_recv() && socket.recv(|bytes| (bytes.len(), bytes.len())).is_ok_and(|len| len > 0) {}
        if now < until {
            return Wait::Until(until);
        }
        socket.abort();
        Wait::Until(now)
    }
}

fn stream_socket<'a>(rx: &'a mut [u8], tx: &'a mut [u8]) -> tcp::Socket<'a> {
    let mut socket = tcp::Socket::new(tcp::SocketBuffer::new(rx), tcp::SocketBuffer::new(tx));
    socket.set_nagle_enabled(false);
    socket.set_keep_alive(Some(Duration::from_secs(5)));
    socket.set_timeout(Some(Duration::from_secs(15)));
    socket
}

/// The board's time as smoltcp counts it.
#[must_use]
pub fn instant(now: Micros) -> Instant {
    Instant::from_micros(i64::try_from(now.0).unwrap_or(i64::MAX))
}

/// Connections at a time: three that receive samples, and one that asks.
pub const LINKS: usize = 4;
/// Sockets of a server: one per connection, and two for datagrams; a board adds its own.
pub const SOCKETS: usize = LINKS + 2;

/// How long a connection may take to be made, and to be closed, in microseconds. A lost segment is sent again once.
const LOOSE: u64 = 2_000_000;
/// The groups in which the original library searches.
const GROUPS: [[u8; 4]; 2] = [[224, 0, 0, 183], [239, 255, 172, 215]];
/// Bytes that a connection may receive before the outlet takes them, which it does at once. A request or a message
/// of a handshake then comes in two or three segments, and nothing else comes.
const RECEIVED_LEN: usize = 256;
/// Longest datagram that is looked at, in bytes.
const QUERY_LEN: usize = 512;
/// Room for replies about time, in bytes: four of them, sealed.
const TIME_LEN: usize = 640;
/// Longest reply, in bytes: a sealed description.
const REPLY_LEN: usize = 1400;
