//! Servers: a conversation for each client, on a thread of its own.

mod listen;

use core::time::Duration;
use std::io::{self, IoSlice};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

pub use listen::{Server, Stats};

use crate::buffer::Begun;
use crate::conversation::{Conversation, Progress, Step};
use crate::socket::{Input, Socket};
use crate::store::Refused;
use crate::wait::{Signal, Sink, WaitEnd};
use crate::wire::{ByteOrder, Definition, Family, WaitRequest};

/// A byte stream to a client: a socket, or a tunnel through something else.
///
/// The optional methods make waits end sooner when the client goes; without them everything works.
pub trait Stream {
    /// Reads some bytes; none means that the client has gone.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize>;

    /// Writes all of `parts`, in this order.
    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> io::Result<()>;

    /// Is called when the first part of a request has arrived and the rest is awaited.
    fn hurry(&mut self) {}

    /// Whether the client has gone, as far as can be known without reading.
    fn is_gone(&mut self) -> bool {
        false
    }
}

/// Serves one client over any byte stream until it goes.
///
/// - Errors: those of the stream. A client that breaks the protocol is not an error; its service ends.
pub fn serve_stream<S: Stream>(stream: &mut S, mut conversation: Conversation) -> io::Result<()> {
    converse(stream, &mut conversation, |stream, conversation, wait| wait_asleep(stream, conversation, wait))
}

/// Serves one client over a socket until it goes.
pub(crate) fn serve_socket(socket: &Arc<Socket>, conversation: &mut Conversation) -> io::Result<()> {
    let mut stream = SocketStream { socket: Arc::clone(socket) };
    converse(&mut stream, conversation, wait_watching)
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Client {
    Gone,
    Here,
}

fn converse<S: Stream>(
    stream: &mut S,
    conversation: &mut Conversation,
    mut wait_for: impl FnMut(&mut S, &mut Conversation, WaitRequest) -> io::Result<Client>,
) -> io::Result<()> {
    let mut is_drained = false;
    loop {
        match conversation.poll() {
            Step::Close => return Ok(()),
            Step::Read(progress) => {
                // Asked for only when the rest is not there yet. On every read it would halve the throughput of
                // big blocks.
                if progress == Progress::Within && is_drained {
                    stream.hurry();
                }
                let space = conversation.space();
                let room = space.len();
                let count = stream.read(space)?;
                if count == 0 {
                    return Ok(());
                }
                is_drained = count < room;
                conversation.filled(count);
            }
            Step::Send => {
                stream.write(&mut conversation.parts())?;
                if conversation.has_readers_to_tell() {
                    // The writer may be waking up on this processor: it goes on before its readers do. In the
                    // everyday run this gains 36 % of a put (35 to 41; UNIX sockets, two readers). It gains 12 % of
                    // put to got (11 to 23; TCP, one reader).
                    thread::yield_now();
                }
                conversation.sent();
            }
            Step::Wait(wait) => {
                if wait_for(stream, conversation, wait)? == Client::Gone {
                    return Ok(());
                }
            }
        }
    }
}

/// Waits without looking at the stream more than now and then.
fn wait_asleep<S: Stream>(
    stream: &mut S,
    conversation: &mut Conversation,
    wait: WaitRequest,
) -> io::Result<Client> {
    let told = Arc::new(Told::new(None));
    let Some(waiting) = begin(conversation, wait, &told) else { return Ok(Client::Here) };
    loop {
        if let Some(end) = told.end.get() {
            conversation.finish_wait(*end);
            return Ok(Client::Here);
        }
        let left = waiting.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            time_out(conversation, &told, &waiting);
            return Ok(Client::Here);
        }
        if !told.signal.sleep(left.min(LOOK_EVERY)) && stream.is_gone() {
            // The wait may have ended already.
            let _ = conversation.buffer().cancel_wait(waiting.id);
            return Ok(Client::Gone);
        }
    }
}

/// Waits with an eye on the socket, so that the wait ends with the client. The writer's own thread ends the wait
/// with its data and sends the reply. In the everyday run this gains 18 % of the server's processor time (16 to 20;
/// two readers). It gains 7 % of put to got (5 to 13; one reader). See docs/decisions/fieldtrip-waking.md.
fn wait_watching(
    stream: &mut SocketStream,
    conversation: &mut Conversation,
    wait: WaitRequest,
) -> io::Result<Client> {
    // Where sending could block, this thread has to do it.
    if conversation.has_input() || !stream.can_be_answered_by_others() {
        return wait_asleep(stream, conversation, wait);
    }
    let told = Arc::new(Told::new(Some((Arc::clone(&stream.socket), conversation.wait_order()))));
    let Some(waiting) = begin(conversation, wait, &told) else { return Ok(Client::Here) };
    let outcome = watch_client(stream, conversation, &told, &waiting);
    if !matches!(outcome, Ok(Client::Here)) {
        // However the client went: a wait that is left behind keeps the socket until data are put.
        let _ = conversation.buffer().cancel_wait(waiting.id);
    }
    outcome
}

fn watch_client(
    stream: &mut SocketStream,
    conversation: &mut Conversation,
    told: &Told,
    waiting: &Waiting,
) -> io::Result<Client> {
    loop {
        let left = waiting.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            time_out(conversation, told, waiting);
            return Ok(Client::Here);
        }
        if stream.socket.await_input(Some(left))? == Input::TimedOut {
            continue;
        }
        let count = stream.socket.read(conversation.space())?;
        if count == 0 {
            return Ok(Client::Gone);
        }
        conversation.filled(count);
        // Either the client has its reply and goes on, or it sends on without waiting for it.
        while !told.signal.sleep(waiting.deadline.saturating_duration_since(Instant::now()).min(LOOK_EVERY)) {
            if stream.is_gone() {
                return Ok(Client::Gone);
            }
            if Instant::now() >= waiting.deadline {
                time_out(conversation, told, waiting);
                return Ok(Client::Here);
            }
        }
        conversation.wait_was_told();
        return Ok(Client::Here);
    }
}

/// A wait that is under way.
struct Waiting {
    id: crate::wait::WaitId,
    deadline: Instant,
}

fn begin(conversation: &mut Conversation, wait: WaitRequest, told: &Arc<Told>) -> Option<Waiting> {
    let deadline = Instant::now() + Duration::from_millis(wait.timeout_ms.into());
    let begun = conversation.buffer().begin_wait(wait, || Arc::clone(told));
    match begun {
        Ok(Begun::Waiting(id)) => Some(Waiting { id, deadline }),
        Ok(Begun::Over(totals)) => {
            conversation.finish_wait(Ok(totals));
            None
        }
        Err(refused) => {
            conversation.finish_wait(Err(refused));
            None
        }
    }
}

fn time_out(conversation: &mut Conversation, told: &Told, waiting: &Waiting) {
    let cancelled = conversation.buffer().cancel_wait(waiting.id);
    if let Some(end) = cancelled {
        conversation.finish_wait(end);
        return;
    }
    // A thread is telling it at this moment.
    while !told.signal.sleep(LOOK_EVERY) {}
    match told.end.get() {
        Some(end) if told.courier.is_none() => conversation.finish_wait(*end),
        _ => conversation.wait_was_told(),
    }
}

/// Is told the end of a client's wait; with a courier it sends the reply itself.
struct Told {
    signal: Signal,
    end: OnceLock<WaitEnd>,
    courier: Option<(Arc<Socket>, ByteOrder)>,
}

impl Told {
    fn new(courier: Option<(Arc<Socket>, ByteOrder)>) -> Self {
        Self { signal: Signal::for_current_thread(), end: OnceLock::new(), courier }
    }
}

impl Sink for Told {
    fn finished(&self, end: WaitEnd) {
        if let Some((socket, order)) = &self.courier {
            send_wait_reply(socket, *order, end);
        }
        // A wait is in its set once and taken out once, so this is the first and only end.
        let _ = self.end.set(end);
        self.signal.raise();
    }
}

fn send_wait_reply(socket: &Socket, order: ByteOrder, end: Result<crate::wire::Totals, Refused>) {
    match end {
        Ok(totals) => {
            let mut reply = [0; 16];
            let (definition, payload) = reply.split_at_mut(8);
            definition
                .copy_from_slice(&Definition { code: Family::Wait.ok(), order, payload_bytes: 8 }.encode());
            payload.copy_from_slice(&totals.encode(order));
            socket.send_or_shut(&reply);
        }
        Err(_) => {
            let reply = Definition { code: Family::Wait.refused(), order, payload_bytes: 0 };
            socket.send_or_shut(&reply.encode());
        }
    }
}

struct SocketStream {
    socket: Arc<Socket>,
}

impl SocketStream {
    fn can_be_answered_by_others(&self) -> bool {
        self.socket.is_writable()
    }
}

impl Stream for SocketStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.socket.read(out)
    }

    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.socket.write_parts(parts)
    }

    fn hurry(&mut self) {
        self.socket.acknowledge();
    }

    fn is_gone(&mut self) -> bool {
        self.socket.is_peer_gone()
    }
}

/// How often a wait that cannot watch its client looks whether it is still there.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::set_socket_linger;

    use super::*;
    use crate::buffer::Buffer;
    use crate::policy::{PeerId, Policy};
    use crate::wire::{Command, DataType, Header, NEVER};

    #[test]
    fn a_wait_does_not_outlive_a_client_that_resets_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
        let socket = Arc::new(Socket::Tcp(listener.accept().expect("the connection").0));
        let buffer = Buffer::default();
        buffer.put_header(Header::new(1, 250.0, DataType::Float32)).expect("a header");
        let mut conversation = Conversation::new(buffer.clone(), Arc::new(Policy::default()), PeerId(1));
        let served = Arc::clone(&socket);
        let serving = thread::spawn(move || serve_socket(&served, &mut conversation).is_err());

        let order = ByteOrder::Little;
        let definition = Definition { code: Command::Wait.code(), order, payload_bytes: 12 };
        let mut request = definition.encode().to_vec();
        [1, NEVER, 3_600_000].iter().for_each(|number: &u32| request.extend(number.to_le_bytes()));
        client.write_all(&request).expect("a request");
        // Ours, the thread's, the stream's, and the one of the writer that ends the wait.
        while Arc::strong_count(&socket) < 4 {
            thread::yield_now();
        }
        set_socket_linger(&client, Some(Duration::ZERO)).expect("an option");
        drop(client);
        assert!(serving.join().expect("no panic"), "the connection was reset");
        assert_eq!(Arc::strong_count(&socket), 1, "what is left keeps the descriptor open");
    }
}
