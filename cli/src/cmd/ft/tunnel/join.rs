//! `schwann ft tunnel join`: the end at the programs.

use core::time::Duration;
use std::io::{self, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use schwann_fieldtrip::{Address, BadAddress};
use schwann_session::{Refusal, Roles};

use super::hello::{Answer, HELLO};
use super::inbox::Inbox;
use super::keys::Keys;
use super::plain::{Plain, PlainListener, must_be_here};
use super::relay::{ReadOnly, RelayError, relay};
use super::sealed::{SealError, Sealed};
use super::share::{explain, keep_alive};
use super::{HANDSHAKE_STACK_BYTES, PAUSE, PORT};
use crate::cmd::ft::door::Company;
use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;

/// Use the buffer that another computer shares as if it were here, until Ctrl-C.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft tunnel join meg                            meg's buffer at buffer://localhost:1972
  schwann ft tunnel join meg:11973 localhost:1973       another port at either end
  schwann ft tunnel join meg /tmp/meg                   a UNIX socket

Programs need no change: they connect to this computer. Each connection has a sealed session of its own. So a
program that connects for each request pays for a handshake each time. Programs of other users are refused, because
they would use this user's key. --others admits them. If the other computer goes away, programs see a closed
connection, and the next one tries again.")]
pub(super) struct Arguments {
    /// The computer that shares.
    #[arg(value_name = "HOST[:PORT]", value_parser = place)]
    there: (String, u16),
    /// Where programs of this computer find it.
    #[arg(value_name = "ADDRESS", default_value_t)]
    here: Address,
    #[command(flatten)]
    company: Company,
}

/// Joins.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    must_be_here(&arguments.here, "name localhost:PORT, or the path of a UNIX socket")?;
    let door = arguments.company.door(&arguments.here)?;
    let stop = stop::on_signals()?;
    let keys = Keys::load(&lab::config(), Roles::SUBSCRIBE)?;
    let (host, port) = &arguments.there;
    let shared = Arc::new(Joining { keys, host: host.clone(), port: *port, said: Mutex::default() });
    // Once now, so that what is wrong is said before a program waits for it.
    let (probe, _, answer) = shared.connect().map_err(|error| Problem::with(shared.name(), error))?;
    let peer = probe.peer().identity().statement.name;
    // Otherwise the other end would have to report a connection that was cut.
    probe.finish_sending();
    let bound = PlainListener::bind(&arguments.here, door);
    let (listeners, here) = bound.map_err(|error| Problem::with(&arguments.here, explain(&error)))?;
    writeln!(io::stdout(), "{here}")?;
    let only = if answer == Answer::JoinedToRead { ", to read only" } else { "" };
    writeln!(io::stdout(), "joined to {} at {}{only}", peer.as_str(), shared.name())?;
    for listener in listeners {
        let shared = Arc::clone(&shared);
        thread::Builder::new().spawn(move || accept_all(&listener, &shared))?;
    }
    while !stop.wait(Duration::from_secs(3600)) {}
    if let Address::Unix(path) = &here {
        // The file may be gone already.
        let _ = std::fs::remove_file(path);
    }
    Ok(Exit::Good)
}

/// Why the buffer there cannot be used.
#[derive(Debug)]
enum JoinError {
    NoBuffer,
    Sealed(SealError),
    Unreachable(io::Error),
}

impl core::fmt::Display for JoinError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoBuffer => f.write_str("no buffer runs there; start one with `schwann ft serve`"),
            Self::Sealed(error) => {
                error.fmt(f)?;
                let SealError::Refused(refusal) = error else { return Ok(()) };
                mending(*refusal).map_or(Ok(()), |mending| write!(f, "; {mending}"))
            }
            Self::Unreachable(error) => {
                write!(f, "{error}; `schwann ft tunnel share` has to run there, and the port to be open")
            }
        }
    }
}

impl From<SealError> for JoinError {
    fn from(error: SealError) -> Self {
        Self::Sealed(error)
    }
}

/// What helps against a refusal.
fn mending(refusal: Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::Closed | Refusal::PlainPeer => "is that the port of `schwann ft tunnel share`?",
        Refusal::Expired => "run `schwann keys join` on that device, with the words of `schwann keys invite`",
        Refusal::WrongRole => {
            "issue it anew, without --publish-only and --subscribe-only: `schwann keys issue`"
        }
        Refusal::NotYetValid => "compare the clocks of both computers",
        Refusal::PeerTooNew | Refusal::PeerTooOld => "install the same version of Schwann at both ends",
        Refusal::RefusedByPeer => "`schwann keys status` at both ends shows whether they are of one lab",
        Refusal::Revoked => "see `schwann keys status`",
        Refusal::WrongLab => "let one end join the other's lab: `schwann keys join`",
        _ => return None,
    })
}

struct Joining {
    keys: Keys,
    host: String,
    port: u16,
    /// What was said last about the other end, which every connection would say again.
    said: Mutex<String>,
}

impl Joining {
    fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Connects, and returns what the other end permits.
    fn connect(&self) -> Result<(Arc<Sealed>, Inbox, Answer), JoinError> {
        let socket = self.reach().map_err(JoinError::Unreachable)?;
        let (sealed, mut inbox) = Sealed::join(socket, self.keys.member())?;
        self.keys.look_after(&sealed);
        sealed.send(&HELLO)?;
        let answer = Answer::parse(sealed.receive_hello(&mut inbox)?);
        match answer.ok_or(SealError::Refused(Refusal::PeerTooNew))? {
            Answer::NoBuffer => Err(JoinError::NoBuffer),
            answer => Ok((sealed, inbox, answer)),
        }
    }

    fn reach(&self) -> io::Result<TcpStream> {
        let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(socket) => return keep_alive(&socket).map(|()| socket),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Says what happened, unless it was the last thing said.
    fn say(&self, what: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if *said != what {
            eprintln!("schwann: {}: {what}", self.name());
            *said = what;
        }
    }
}

fn accept_all(listener: &PlainListener, shared: &Arc<Joining>) {
    loop {
        let Ok(plain) = listener.accept() else {
            // Out of descriptors: waiting connections are served when others have gone.
            thread::sleep(PAUSE);
            continue;
        };
        let shared = Arc::clone(shared);
        // Without a thread the program sees a closed connection, and has to come again.
        let _ =
            thread::Builder::new().stack_size(HANDSHAKE_STACK_BYTES).spawn(move || serve(&plain, &shared));
    }
}

fn serve(plain: &Plain, shared: &Joining) {
    match shared.connect() {
        Ok((sealed, mut inbox, answer)) => {
            *shared.said.lock().unwrap_or_else(PoisonError::into_inner) = String::new();
            // The other end would stop it too, but cannot tell the person here.
            let read_only = if answer == Answer::JoinedToRead { ReadOnly::Plain } else { ReadOnly::Neither };
            if let Err(error) = relay(&sealed, &mut inbox, plain, read_only) {
                shared.say(match error {
                    RelayError::Sealed(error) => JoinError::Sealed(error).to_string(),
                    error => error.to_string(),
                });
            }
        }
        Err(error) => shared.say(error.to_string()),
    }
}

/// Reads `HOST` or `HOST:PORT`, with the port of sealed buffers unless another is given.
pub(super) fn place(text: &str) -> Result<(String, u16), BadAddress> {
    let Address::Tcp { host, port } = text.parse()? else { return Err(BadAddress) };
    let is_bare = !text.contains("]:") && text.matches(':').count() != 1;
    Ok((host, if is_bare { PORT } else { port }))
}

/// How long to try an address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_port_of_sealed_buffers_unless_it_names_one() {
        for (text, host, port) in [
            ("meg", "meg", PORT),
            ("meg:1", "meg", 1),
            ("192.0.2.7", "192.0.2.7", PORT),
            ("[::1]", "::1", PORT),
            ("::1", "::1", PORT),
            ("[::1]:7", "::1", 7),
        ] {
            assert_eq!(place(text), Ok((host.to_owned(), port)), "{text}");
        }
        assert!(place("/tmp/ft").is_err() && place("meg:many").is_err());
    }
}
