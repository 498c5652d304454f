//! The same streams over nothing but sockets. This is the cost of the cipher alone, without a session, a library or
//! another thread.
//!
//! Every sealed stream pays at least this: one call seals a record more, and one call opens it. It takes the place
//! of an outlet and an inlet. So the schedule, the processes and the judgement are those of the streams.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use schwann_aead::Kernel;

use crate::Reason;
use crate::aead::{Contender, Workload, engine};
use crate::ffi::slices;
use crate::worker::link::{Pulled, Receiving, Sending};
use crate::workload::Workload as Of;

mod ahead;

use ahead::MadeAhead;

/// The sealers: ourselves, called when the sample is there or with the key stream made before. Then the leading
/// built-in peers (`--features peers`).
pub(crate) fn names() -> Vec<String> {
    let leading = |name: &String| LEADING.iter().any(|word| name == word);
    let ours: Vec<String> = ours().map(|one| one.name()).into();
    contenders().map(|one| one.name()).filter(|name| ours.contains(name) || leading(name)).collect()
}

fn contenders() -> impl Iterator<Item = Box<dyn Contender>> {
    #[cfg(feature = "peers")]
    let peers = crate::aead::peers();
    #[cfg(not(feature = "peers"))]
    let peers = Vec::new();
    ours().into_iter().chain(peers)
}

pub(super) fn ours() -> [Box<dyn Contender>; 2] {
    [Box::<MadeAhead>::default(), engine(Kernel::best(), 1)]
}

/// One sample as it goes through a socket, and the cipher that seals it there, if one does.
struct Record {
    cipher: Option<Box<dyn Contender>>,
    work: Workload,
    /// Bytes on the wire: the text, and a tag if it is sealed.
    len: usize,
}

impl Record {
    fn new(cipher: Option<&str>, workload: &Of) -> Result<Self, Reason> {
        let find = |name| contenders().find(|one| one.name() == name).ok_or("no such cipher");
        let cipher = cipher.map(find).transpose()?;
        let text = STAMP_LEN + workload.sample_bytes();
        let len = if cipher.is_some() { text + TAG_LEN } else { text };
        Ok(Self { cipher, work: Workload::new([text], HEADER_LEN), len })
    }

    /// Does what can be done before the next sample is there.
    fn prepare(&mut self) {
        if let Some(cipher) = &mut self.cipher {
            cipher.prepare(&self.work);
        }
    }

    /// The bytes of the next sample, to send.
    fn make(&mut self, sample: &[u8]) -> &[u8] {
        self.values().copy_from_slice(sample);
        if let Some(cipher) = &mut self.cipher {
            cipher.seal(&mut self.work);
        }
        &self.work.data[..self.len]
    }

    /// Where the bytes of the next sample are received.
    fn room(&mut self) -> &mut [u8] {
        &mut self.work.data[..self.len]
    }

    /// Reads the sample that was received.
    fn read(&mut self, sample: &mut [u8]) -> Result<(), Reason> {
        if self.cipher.as_mut().is_some_and(|cipher| !cipher.open(&mut self.work)) {
            return Err("a record did not verify".into());
        }
        sample.copy_from_slice(self.values());
        Ok(())
    }

    fn values(&mut self) -> &mut [u8] {
        let text = self.work.places[0].clone();
        &mut self.work.data[STAMP_LEN..text.end]
    }
}

/// Where receivers are awaited, and then their sockets.
pub(crate) struct Outlet {
    listener: UnixListener,
    /// One for each receiver.
    records: Vec<Record>,
    sockets: Vec<UnixStream>,
}

impl Outlet {
    pub(crate) fn new(cipher: Option<&str>, workload: &Of, name: &str) -> Result<Self, Reason> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        let records = (0..workload.consumers).map(|_| Record::new(cipher, workload));
        Ok(Self { listener, records: records.collect::<Result<_, _>>()?, sockets: Vec::new() })
    }
}

impl Sending for Outlet {
    fn connected(&mut self, consumers: usize) -> Result<(), Reason> {
        while self.sockets.len() < consumers {
            self.sockets.push(self.listener.accept()?.0);
        }
        Ok(())
    }

    fn push(&mut self, sample: &[u8]) -> Result<(), Reason> {
        for (socket, record) in self.sockets.iter_mut().zip(&mut self.records) {
            socket.write_all(record.make(sample))?;
        }
        self.records.iter_mut().for_each(Record::prepare);
        Ok(())
    }

    fn end(&self) -> Result<(), Reason> {
        Ok(self.sockets.iter().try_for_each(|socket| socket.shutdown(Shutdown::Write))?)
    }
}

/// The receiving end.
pub(crate) struct Inlet {
    socket: UnixStream,
    record: Record,
}

impl Inlet {
    pub(crate) fn new(cipher: Option<&str>, workload: &Of, name: &str) -> Result<Self, Reason> {
        slices::ask();
        let socket = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        Ok(Self { socket, record: Record::new(cipher, workload)? })
    }
}

impl Receiving for Inlet {
    fn pull(&mut self, sample: &mut [u8]) -> Result<Pulled, Reason> {
        self.record.prepare();
        match self.socket.read_exact(self.record.room()) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Pulled::End),
            other => other?,
        }
        self.record.read(sample)?;
        Ok(Pulled::Samples(1))
    }
}

/// Hands on what comes for `source`, a stream's source id, until its sender has ended: the least that a program on the
/// way does. Its receiver connects to the session whose name ends with [`FORWARDED`].
pub(crate) fn forward(source: &str) -> Result<(), Reason> {
    let (session, stream) = source.rsplit_once('-').ok_or("no source id of a stream")?;
    let name = format!("{session}{FORWARDED}-{stream}");
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    let mut from = UnixStream::connect_addr(&SocketAddr::from_abstract_name(source)?)?;
    std::thread::spawn(move || -> std::io::Result<()> {
        slices::ask();
        let (mut to, _) = listener.accept()?;
        let mut room = [0; 1 << 16];
        loop {
            match from.read(&mut room)? {
                0 => return Ok(()),
                len => to.write_all(&room[..len])?,
            }
        }
    });
    Ok(())
}

/// What the session's name ends with for receivers behind [`forward`].
pub(crate) const FORWARDED: &str = "-forwarded";
/// The fastest others of all records of `schwann-bench aead`.
const LEADING: [&str; 2] = ["aws-lc-rs", "ring"];
/// What a sample has before its values in LSL: a tag and a stamp.
const STAMP_LEN: usize = 9;
/// Bytes that a tag covers besides: as a record's header.
const HEADER_LEN: usize = 4;
const TAG_LEN: usize = 16;
