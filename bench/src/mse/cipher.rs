//! Ciphers alone, next to OpenSSL's in the same process.

use core::hint::black_box;

use schwann_mse::{
    Accept, Cipher, Draw, Group, Handshake, InfoHash, Initiator, Method, Methods, Offer, Responder, Status,
};

use super::{count, figure, judged};
use crate::Reason;
use crate::clock;
use crate::libcrypto::{Encrypter, Libcrypto, StreamCipher};
use crate::record::Reading;
use crate::suite::Effort;

/// The block of BitTorrent transfers, and of `openssl speed`'s largest standard size.
const BLOCK: usize = 16 * 1024;
/// Blocks a sample: about a millisecond of RC4.
const BLOCKS: usize = 64;

/// Something that turns a buffer into ciphertext.
trait Contender {
    fn name(&self) -> String;
    fn apply(&mut self, data: &mut [u8]);
}

struct Ours(Cipher);

impl Contender for Ours {
    fn name(&self) -> String {
        format!("schwann {}", self.0.method())
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.apply(data);
    }
}

pub(super) fn run(effort: Effort) -> Result<Vec<Reading>, Reason> {
    let library = Libcrypto::load();
    match &library {
        Ok(library) => eprintln!("{}", library.version()),
        Err(error) => eprintln!("no OpenSSL 3 here, so no comparison: {error}"),
    }
    let mut outcomes = Vec::new();
    for method in [Method::Rc4, Method::Aes128Ctr, Method::Aes256Ctr] {
        let ours = Box::new(Ours(cipher(method)?));
        let mut contenders: Vec<Box<dyn Contender>> = vec![ours];
        contenders.extend(library.as_ref().ok().and_then(|library| openssl(library, method)));
        outcomes.extend(race(&mut contenders, method, count(effort, 400)));
    }
    Ok(outcomes)
}

/// The cipher of an agreed connection, as a real handshake makes it.
pub(super) fn cipher(method: Method) -> Result<Cipher, Reason> {
    let torrent = InfoHash([1; 20]);
    let methods = Methods::of(&[method]);
    let draw = || Draw::system(Group::Mse768);
    let mut a = Initiator::new(torrent, Offer::new(methods, Vec::new()), draw()?)?;
    let mut b = Responder::new(torrent, Accept::new(methods, method), draw()?);
    loop {
        carry(&mut a, &mut b)?;
        if let Status::Established(established) = carry(&mut b, &mut a)? {
            return Ok(established.outgoing);
        }
    }
}

/// Carries everything that `from` has to send to `to`.
pub(super) fn carry(from: &mut dyn Handshake, to: &mut dyn Handshake) -> Result<Status, Reason> {
    let step = from.poll_output().unwrap_or_default();
    let mut input = step.as_slice();
    let mut status = to.handle_input(&mut input)?;
    while matches!(status, Status::Wait) && !input.is_empty() {
        status = to.handle_input(&mut input)?;
    }
    Ok(status)
}

/// Lets all work in turn, round after round, so that the machine's moods meet them alike.
fn race(contenders: &mut [Box<dyn Contender>], method: Method, rounds: usize) -> Vec<Reading> {
    let mut data = vec![0; BLOCK];
    let mut speeds = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let turn = (turn + round) % contenders.len();
            speeds[turn].push(speed(contenders[turn].as_mut(), &mut data));
        }
    }
    let ratios = speeds.get(1).map(|theirs| {
        let pairs = speeds[0].iter().zip(theirs);
        pairs.map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>()
    });
    let mut outcomes: Vec<Reading> = contenders
        .iter()
        .zip(speeds)
        .map(|(contender, speeds)| figure(contender.name(), "MiB/s", speeds))
        .collect();
    if let Some(ratios) = ratios {
        let least = if method == Method::Rc4 { 1.0 } else { 0.95 };
        let ratio = figure(format!("{method}, schwann / openssl"), "x", ratios);
        outcomes.push(judged(ratio, format!(">= {least}"), |ratio| ratio >= least));
    }
    outcomes
}

/// MiB a second of processor time, so that a sample into which another program breaks counts like any other.
fn speed(contender: &mut dyn Contender, data: &mut [u8]) -> f64 {
    let began = clock::cpu_ns();
    for _ in 0..BLOCKS {
        contender.apply(black_box(data));
    }
    (BLOCK * BLOCKS) as f64 / f64::from(1 << 20) / ((clock::cpu_ns() - began) as f64 / 1e9)
}

struct OpenSsl {
    encrypter: Encrypter,
    method: Method,
}

impl Contender for OpenSsl {
    fn name(&self) -> String {
        format!("openssl {}", self.method)
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.encrypter.apply(data);
    }
}

/// OpenSSL's form of a method, where the library has it: RC4 is in a provider that some systems leave out.
fn openssl(library: &Libcrypto, method: Method) -> Option<Box<dyn Contender>> {
    let wanted = match method {
        Method::Rc4 => StreamCipher::Rc4,
        Method::Aes128Ctr => StreamCipher::Aes128Ctr,
        Method::Aes256Ctr => StreamCipher::Aes256Ctr,
        _ => return None,
    };
    let Some(encrypter) = library.encrypter(wanted) else {
        eprintln!("{} has no {method} here (its legacy provider?): no comparison", library.version());
        return None;
    };
    Some(Box::new(OpenSsl { encrypter, method }))
}
