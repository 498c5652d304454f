//! `schwann ft tunnel share`: the end at the buffer.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::Address;
use schwann_session::{Refusal, Roles};

use super::crowd::{Crowd, Seat};
use super::hello::{Answer, HELLO};
use super::inbox::Inbox;
use super::keys::Keys;
use super::plain::{Plain, must_be_here};
use super::relay::{ReadOnly, RelayError, relay};
use super::sealed::{SealError, Sealed};
use super::{HANDSHAKE_STACK_BYTES, PAUSE, PORT};
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;

/// Let other computers of the lab use a buffer of this one, sealed, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft tunnel share                                       buffer://localhost:1972, at port 11972
  schwann ft tunnel share localhost:1973 --listen 192.0.2.7:11973
  schwann ft tunnel share /tmp/ft --read-only                   without write access

A joining computer proves with a key that it belongs to the lab. Strangers get one byte and learn nothing. A device
without the role \"publish\" in its certificate may only read. A device that is revoked, here or at any member
within reach, is disconnected and cannot join again. The buffer may be started later.")]
pub(super) struct Arguments {
    /// The buffer, on this computer.
    #[arg(value_name = "ADDRESS", default_value_t)]
    buffer: Address,
    /// Where to listen for other computers; by default at every address of this one.
    #[arg(long, value_name = "HOST:PORT", value_parser = super::join::place)]
    listen: Option<(String, u16)>,
    /// Let no client change the buffer.
    #[arg(long)]
    read_only: bool,
}

/// Shares.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    must_be_here(&arguments.buffer, "run this command at the computer of the buffer")?;
    let stop = stop::on_signals()?;
    let keys = Keys::load(&lab::config(), Roles::PUBLISH)?;
    let listeners = bind(arguments.listen.as_ref())?;
    for listener in &listeners {
        writeln!(io::stdout(), "{} is shared at {}", arguments.buffer, listener.local_addr()?)?;
    }
    let shared = Arc::new(Sharing {
        keys,
        buffer: arguments.buffer.clone(),
        read_only: arguments.read_only,
        crowd: Arc::new(Crowd::new()),
        said: Said::default(),
    });
    for listener in listeners {
        let shared = Arc::clone(&shared);
        thread::Builder::new().spawn(move || accept_all(&listener, &shared))?;
    }
    while !stop.wait(Duration::from_secs(3600)) {}
    Ok(Exit::Good)
}

struct Sharing {
    keys: Keys,
    buffer: Address,
    read_only: bool,
    crowd: Arc<Crowd>,
    said: Said,
}

fn bind(listen: Option<&(String, u16)>) -> Result<Vec<TcpListener>, Problem> {
    let Some((host, port)) = listen else {
        // One socket for both protocols, or for the older one where the newer is switched off.
        let both: [SocketAddr; 2] = [(Ipv6Addr::UNSPECIFIED, PORT).into(), ([0, 0, 0, 0], PORT).into()];
        let listener = TcpListener::bind(&both[..]);
        let wrong = |error| Problem::with(format_args!("port {PORT}"), explain(&error));
        return Ok(vec![listener.map_err(wrong)?]);
    };
    let place = format!("{host}:{port}");
    let addresses = (host.as_str(), *port).to_socket_addrs().map_err(|error| Problem::with(&place, error))?;
    addresses
        .map(|address| TcpListener::bind(address).map_err(|error| Problem::with(&place, explain(&error))))
        .collect()
}

/// Says what helps against an address that cannot be listened on.
pub(super) fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!("{error}; another program has it: name another port"),
        _ => error.to_string(),
    }
}

fn accept_all(listener: &TcpListener, shared: &Arc<Sharing>) {
    loop {
        let Ok((socket, peer)) = listener.accept() else {
            // Out of descriptors: waiting connections are served when others have gone.
            thread::sleep(PAUSE);
            continue;
        };
        let Ok(place) = shared.crowd.admit(&socket, peer.ip()) else { continue };
        let shared = Arc::clone(shared);
        let serve = move || serve(socket, peer.ip(), place, &shared);
        // Without a thread this one is turned away, and has to come again.
        let _ = thread::Builder::new().stack_size(HANDSHAKE_STACK_BYTES).spawn(serve);
    }
}

fn serve(socket: TcpStream, peer: IpAddr, place: Seat, shared: &Sharing) {
    let (sealed, mut inbox) = match admit(socket, &place, &shared.keys) {
        Ok(admitted) => admitted,
        Err(SealError::Refused(Refusal::Closed)) => return,
        Err(error) => return shared.said.say(format!("{peer}: {error}")),
    };
    place.is_known();
    let statement = sealed.peer().identity().statement;
    let name = format!("{} (serial {}, {peer})", statement.name.as_str(), statement.serial);
    if let Err(error) = converse(&sealed, &mut inbox, &name, shared) {
        shared.said.say(format!("{name}: {error}"));
    }
}

/// What was said in the last minute. Anybody may come again and again, and must not fill a log by it.
#[derive(Default)]
struct Said(Mutex<Vec<(Instant, String)>>);

impl Said {
    /// Says it, unless it was said a moment ago, or so much was.
    fn say(&self, what: String) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|(since, _)| since.elapsed() < SAID_AGAIN);
        if said.len() < SAID_MOST && !said.iter().any(|(_, before)| *before == what) {
            eprintln!("schwann: {what}");
            said.push((Instant::now(), what));
        }
    }
}

fn admit(socket: TcpStream, place: &Seat, keys: &Keys) -> Result<(Arc<Sealed>, Inbox), SealError> {
    keep_alive(&socket)?;
    let (sealed, inbox) = Sealed::admit(socket, place, keys.member())?;
    keys.look_after(&sealed);
    Ok((sealed, inbox))
}

fn converse(sealed: &Sealed, inbox: &mut Inbox, name: &str, shared: &Sharing) -> Result<(), RelayError> {
    if sealed.receive_hello(inbox)? != HELLO {
        eprintln!(
            "schwann: {name}: asks for another protocol or version; install the same version of Schwann at both ends"
        );
        return Ok(());
    }
    let plain = match Plain::connect(&shared.buffer) {
        Ok(plain) => plain,
        Err(error) => {
            eprintln!("schwann: {}: {error}; start one with `schwann ft serve`", shared.buffer);
            sealed.send(&Answer::NoBuffer.encode())?;
            sealed.finish_sending();
            return Ok(());
        }
    };
    let may_write = !shared.read_only && sealed.peer().identity().statement.roles.contain(Roles::PUBLISH);
    let (answer, read_only) = match may_write {
        true => (Answer::Joined, ReadOnly::Neither),
        false => (Answer::JoinedToRead, ReadOnly::Sealed),
    };
    sealed.send(&answer.encode())?;
    relay(sealed, inbox, &plain, read_only)
}

/// Notices a peer that was switched off, after some minutes of silence.
pub(super) fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    let often = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE);
    socket2::SockRef::from(socket).set_tcp_keepalive(&often)
}

/// When the same line is said once more.
const SAID_AGAIN: Duration = Duration::from_secs(60);
/// Lines in that time.
const SAID_MOST: usize = 32;
const KEEP_ALIVE: Duration = Duration::from_secs(60);
