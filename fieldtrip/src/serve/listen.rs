//! Listening, and the threads that do it.
//!
//! A few threads wait for connections at once. The thread that gets a connection serves it there and then. If
//! no other thread is left waiting, it starts a successor first. So a client with a single request is served
//! without any hand-over between threads.

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use super::serve_socket;
use crate::address::Address;
use crate::buffer::Buffer;
use crate::conversation::Conversation;
use crate::policy::{Budget, PeerId, Policy};
use crate::socket::{BLOCK_BYTES, Socket};
use crate::sys::{local, sockets};

/// A server of one buffer on one address. A program may hold any number of them, also on the same
/// buffer.
///
/// Dropping it stops it: it closes every connection and waits for their threads.
#[derive(Debug)]
pub struct Server {
    shared: Arc<ServerShared>,
    address: Address,
    socket_file: Option<PathBuf>,
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Stats {
    /// Connections now.
    pub peers: u32,
    /// Connections accepted since the start.
    pub accepted: u64,
    /// Connections closed at once because there were too many.
    pub turned_away: u64,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Local(local::Listener),
}

struct ServerShared {
    listeners: Vec<Listening>,
    buffer: Buffer,
    policy: Arc<Policy>,
    budget: Arc<Budget>,
    is_stopping: AtomicBool,
    next_peer: AtomicU64,
    turned_away: AtomicU64,
    peers: Mutex<HashMap<PeerId, Arc<Socket>>>,
    threads: Mutex<usize>,
    all_ended: Condvar,
}

#[derive(Debug)]
struct Listening {
    listener: Listener,
    idle: AtomicU32,
}

impl Server {
    /// Listens on `address` and serves `buffer` to every client that connects.
    ///
    /// A host name is listened on at all its addresses. `localhost` is IPv4 and IPv6, and nothing outside
    /// this machine. The path of a UNIX socket is taken over if no server answers there.
    ///
    /// - Errors: those of binding, among them [`io::ErrorKind::AddrInUse`].
    pub fn start(address: &Address, buffer: Buffer, policy: Policy) -> io::Result<Self> {
        let (listeners, address) = bind(address, policy.door.is_some())?;
        let listeners =
            listeners.into_iter().map(|listener| Listening { listener, idle: AtomicU32::new(0) }).collect();
        let shared = Arc::new(ServerShared {
            listeners,
            buffer,
            budget: Budget::new(policy.limits.unfinished_bytes),
            policy: Arc::new(policy),
            is_stopping: AtomicBool::new(false),
            next_peer: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            peers: Mutex::default(),
            threads: Mutex::default(),
            all_ended: Condvar::new(),
        });
        for index in 0..shared.listeners.len() {
            start_acceptor(&shared, index)?;
        }
        let socket_file = match &address {
            Address::Tcp { .. } => None,
            Address::Unix(path) => Some(path.clone()),
        };
        Ok(Self { shared, address, socket_file })
    }

    /// Where it listens, with the port it got.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The buffer it serves.
    pub fn buffer(&self) -> &Buffer {
        &self.shared.buffer
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        Stats {
            peers: u32::try_from(self.shared.peers().len()).unwrap_or(u32::MAX),
            accepted: self.shared.next_peer.load(Ordering::Relaxed),
            turned_away: self.shared.turned_away.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        for listening in &self.shared.listeners {
            listening.listener.wake();
        }
        for socket in self.shared.peers().values() {
            socket.shut();
        }
        let mut threads = self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner);
        while *threads > 0 {
            let woken = self.shared.all_ended.wait_timeout(threads, Duration::from_millis(50));
            threads = woken.unwrap_or_else(PoisonError::into_inner).0;
            // A wake-up can come before its thread listens; and a connection can come in between.
            for listening in &self.shared.listeners {
                listening.listener.wake();
            }
            for socket in self.shared.peers().values() {
                socket.shut();
            }
        }
        drop(threads);
        if let Some(path) = &self.socket_file {
            // The file may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl ServerShared {
    fn peers(&self) -> std::sync::MutexGuard<'_, HashMap<PeerId, Arc<Socket>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a connection; `None` if there are too many.
    fn admit(&self, socket: &Arc<Socket>) -> Option<PeerId> {
        let mut peers = self.peers();
        if peers.len() >= self.policy.limits.peers as usize {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let peer = PeerId(self.next_peer.fetch_add(1, Ordering::Relaxed));
        peers.insert(peer, Arc::clone(socket));
        Some(peer)
    }
}

impl core::fmt::Debug for ServerShared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ServerShared").field("listeners", &self.listeners).finish_non_exhaustive()
    }
}

/// Counts a thread for as long as it runs, however it ends.
struct Running(Arc<ServerShared>);

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.threads.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.all_ended.notify_all();
    }
}

fn start_acceptor(shared: &Arc<ServerShared>, index: usize) -> io::Result<()> {
    *shared.threads.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    let running = Running(Arc::clone(shared));
    let name = String::from("fieldtrip-server");
    thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(move || accept_loop(&running.0, index))?;
    Ok(())
}

fn accept_loop(shared: &Arc<ServerShared>, index: usize) {
    let Some(listening) = shared.listeners.get(index) else { return };
    loop {
        if listening.idle.fetch_add(1, Ordering::SeqCst) >= IDLE_THREADS {
            listening.idle.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let accepted = listening.listener.accept();
        let was_last = listening.idle.fetch_sub(1, Ordering::SeqCst) == 1;
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok(socket) => {
                // Without a successor new clients wait until this one goes: slow, but better than to end.
                let _ = was_last.then(|| start_acceptor(shared, index));
                serve_connection(shared, &Arc::new(socket));
            }
            // Out of descriptors or memory: waiting connections are served when others have gone.
            Err(error) if !is_of_one_connection(&error) => thread::sleep(PAUSE),
            Err(_) => {}
        }
    }
}

fn serve_connection(shared: &Arc<ServerShared>, socket: &Arc<Socket>) {
    if let Some(door) = &shared.policy.door
        && let Err(stranger) = socket.check_user()
    {
        return door.turned_away(stranger);
    }
    let Some(peer) = shared.admit(socket) else { return };
    let limits = &shared.policy.limits;
    let is_timed = limits.idle.is_some() || limits.stall.is_some();
    if !is_timed || socket.set_timeouts(limits.idle, limits.stall).is_ok() {
        let mut conversation = Conversation::with_budget(
            shared.buffer.clone(),
            Arc::clone(&shared.policy),
            peer,
            &shared.budget,
        );
        // However it ends, it ends this connection and nothing else.
        let _ = serve_socket(socket, &mut conversation);
    }
    shared.peers().remove(&peer);
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

impl Listener {
    fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => sockets::accept(listener).map(Socket::Tcp),
            Self::Local(listener) => sockets::accept_local(listener, BLOCK_BYTES).map(Socket::Local),
        }
    }

    /// Ends the accepting of one thread or more.
    fn wake(&self) {
        match self {
            Self::Tcp(listener) => {
                if let Ok(address) = listener.local_addr() {
                    // If nothing accepts, no thread has to be woken.
                    let _ = std::net::TcpStream::connect_timeout(&address, PAUSE);
                }
                sockets::stop_accepting(listener);
            }
            Self::Local(listener) => {
                local::wake(listener);
                sockets::stop_accepting(listener);
            }
        }
    }
}

fn bind(address: &Address, is_private: bool) -> io::Result<(Vec<Listener>, Address)> {
    match address {
        Address::Tcp { host, port } => bind_tcp(host, *port),
        Address::Unix(path) => Ok((vec![Listener::Local(local::bind(path, is_private)?)], address.clone())),
    }
}

fn bind_tcp(host: &str, wanted: u16) -> io::Result<(Vec<Listener>, Address)> {
    let mut listeners = Vec::new();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut port = wanted;
    for mut address in addresses_of(host)? {
        address.set_port(port);
        match TcpListener::bind(address) {
            Ok(listener) => {
                // The same free port at every address of the host.
                port = listener.local_addr()?.port();
                sockets::prepare(&listener, address)?;
                listeners.push(Listener::Tcp(listener));
            }
            // A port that is free at one address may be taken at the next. A machine may have a name but not the
            // protocol.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && wanted != 0 => return Err(error),
            Err(error) => failure = error,
        }
    }
    if listeners.is_empty() {
        return Err(failure);
    }
    Ok((listeners, Address::Tcp { host: host.into(), port }))
}

fn addresses_of(host: &str) -> io::Result<Vec<SocketAddr>> {
    if host == "localhost" {
        // Many machines know the name for IPv4 alone.
        return Ok(vec![(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()]);
    }
    Ok((host, 0).to_socket_addrs()?.collect())
}

/// Threads that wait for connections at a time, per address.
const IDLE_THREADS: u32 = 4;

/// A conversation's needs are small; big things are on the heap.
const STACK_BYTES: usize = 512 << 10;

/// How long to leave descriptors time to become free.
const PAUSE: Duration = Duration::from_millis(10);
