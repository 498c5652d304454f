//! Bytes from a plain connection to a sealed one and back, each way on a thread of its own.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::thread;

use schwann_fieldtrip::{Onlooker, Stopped};

use super::inbox::Inbox;
use super::plain::Plain;
use super::sealed::{SealError, Sealed};

/// Why a relay ended before both ends were done.
#[derive(Debug)]
pub(super) enum RelayError {
    /// The program, or the buffer, at the plain end went away.
    Plain(io::Error),
    /// The sealed connection failed.
    Sealed(SealError),
    /// A request may not be passed on.
    Stopped(Stopped),
}

impl core::fmt::Display for RelayError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Plain(error) => error.fmt(f),
            Self::Sealed(error) => error.fmt(f),
            Self::Stopped(stopped) => write!(f, "{stopped}, and this device may only read"),
        }
    }
}

impl From<SealError> for RelayError {
    fn from(error: SealError) -> Self {
        Self::Sealed(error)
    }
}

/// The end whose requests may only read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ReadOnly {
    /// From neither: everything passes.
    Neither,
    Plain,
    Sealed,
}

/// Passes bytes on in both directions until both have ended.
///
/// - Errors: why the sealed end failed, or was stopped. A plain end that goes is no error here.
pub(super) fn relay(
    sealed: &Sealed,
    inbox: &mut Inbox,
    plain: &Plain,
    read_only: ReadOnly,
) -> Result<(), RelayError> {
    let onlooker = |end| (read_only == end).then(Onlooker::default);
    let send = || {
        let sent = send_all(plain, sealed, onlooker(ReadOnly::Plain));
        match &sent {
            // A program that was killed has nothing more to say either.
            Ok(()) | Err(RelayError::Plain(_)) => sealed.finish_sending(),
            Err(RelayError::Sealed(_) | RelayError::Stopped(_)) => end(sealed, plain),
        }
        sent
    };
    let (sent, received) = thread::scope(|scope| -> Result<_, RelayError> {
        let sending = thread::Builder::new().spawn_scoped(scope, send).map_err(RelayError::Plain)?;
        let received = receive_all(sealed, inbox, plain, onlooker(ReadOnly::Sealed));
        match &received {
            Ok(()) => plain.shut(Shutdown::Write),
            Err(RelayError::Plain(_)) => plain.shut(Shutdown::Both),
            Err(RelayError::Sealed(_) | RelayError::Stopped(_)) => end(sealed, plain),
        }
        let sent = sending.join().unwrap_or(Ok(()));
        Ok((sent, received))
    })?;
    match (sent, received) {
        (Err(stopped @ RelayError::Stopped(_)), _) => Err(stopped),
        (_, Err(RelayError::Plain(_))) => Ok(()),
        (_, received) => received,
    }
}

fn send_all(mut plain: &Plain, sealed: &Sealed, mut onlooker: Option<Onlooker>) -> Result<(), RelayError> {
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let count = match plain.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count.map_err(RelayError::Plain)?,
        };
        if count == 0 {
            return Ok(());
        }
        if count < bytes.len() {
            plain.acknowledge();
        }
        let arrived = bytes.get(..count).unwrap_or_default();
        look(&mut onlooker, arrived)?;
        sealed.send(arrived)?;
    }
}

fn receive_all(
    sealed: &Sealed,
    inbox: &mut Inbox,
    mut plain: &Plain,
    mut onlooker: Option<Onlooker>,
) -> Result<(), RelayError> {
    sealed.receive_all(inbox, |bytes| {
        look(&mut onlooker, bytes)?;
        plain.write_all(bytes).map_err(RelayError::Plain)
    })
}

fn look(onlooker: &mut Option<Onlooker>, bytes: &[u8]) -> Result<(), RelayError> {
    onlooker.as_mut().map_or(Ok(()), |onlooker| onlooker.look(bytes)).map_err(RelayError::Stopped)
}

/// Ends both connections, so that the other thread's waiting is over.
fn end(sealed: &Sealed, plain: &Plain) {
    sealed.shut();
    plain.shut(Shutdown::Both);
}

/// Read at a time: four full records, which are sealed side by side.
const READ_BYTES: usize = 64 << 10;
