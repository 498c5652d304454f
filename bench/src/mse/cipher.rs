//! Ciphers alone, next to OpenSSL's in the same process.

use core::hint::black_box;
use std::time::Instant;

use schwann_mse::{
    Accept, Cipher, Draw, Group, Handshake, InfoHash, Initiator, Method, Methods, Offer, Responder, Status,
};

use super::{Effort, Error, Outcome};

/// The block of BitTorrent transfers, and of `openssl speed`'s largest standard size.
const BLOCK: usize = 16 * 1024;
/// Blocks a sample: about a millisecond of RC4.
const BLOCKS: usize = 64;

/// Something that turns a buffer into ciphertext.
pub(super) trait Contender {
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

pub(super) fn run(effort: Effort) -> Result<Vec<Outcome>, Error> {
    let _loaded = openssl_providers()?;
    let mut outcomes = Vec::new();
    for method in [Method::Rc4, Method::Aes128Ctr, Method::Aes256Ctr] {
        let ours = Box::new(Ours(cipher(method)?));
        let mut contenders: Vec<Box<dyn Contender>> = vec![ours];
        contenders.extend(openssl(method)?);
        outcomes.extend(race(&mut contenders, method, effort.count(400)));
    }
    Ok(outcomes)
}

/// The cipher of an agreed connection, as a real handshake makes it.
pub(super) fn cipher(method: Method) -> Result<Cipher, Error> {
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
pub(super) fn carry(from: &mut dyn Handshake, to: &mut dyn Handshake) -> Result<Status, Error> {
    let step = from.poll_output().unwrap_or_default();
    let mut input = step.as_slice();
    let mut status = to.handle_input(&mut input)?;
    while matches!(status, Status::Wait) && !input.is_empty() {
        status = to.handle_input(&mut input)?;
    }
    Ok(status)
}

/// Lets all work in turn, round after round, so that the machine's moods meet them alike.
fn race(contenders: &mut [Box<dyn Contender>], method: Method, rounds: usize) -> Vec<Outcome> {
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
    let mut outcomes: Vec<Outcome> = contenders
        .iter()
        .zip(speeds)
        .map(|(contender, speeds)| Outcome::new(contender.name(), "MiB/s", speeds))
        .collect();
    if let Some(ratios) = ratios {
        let least = if method == Method::Rc4 { 1.0 } else { 0.95 };
        outcomes.push(
            Outcome::new(format!("{method}, schwann / openssl"), "x", ratios)
                .held_against(format!(">= {least}"), |ratio| ratio >= least),
        );
    }
    outcomes
}

/// MiB a second.
fn speed(contender: &mut dyn Contender, data: &mut [u8]) -> f64 {
    let began = Instant::now();
    for _ in 0..BLOCKS {
        contender.apply(black_box(data));
    }
    (BLOCK * BLOCKS) as f64 / f64::from(1 << 20) / began.elapsed().as_secs_f64()
}

/// CPU seconds that one pass of the cipher over a GiB takes, on this machine now.
pub(super) fn seconds_per_gib(method: Method) -> Result<f64, Error> {
    let mut ours = Ours(cipher(method)?);
    let mut data = vec![0; BLOCK];
    let samples = (0..40).map(|_| 1024.0 / speed(&mut ours, &mut data)).collect();
    Ok(Outcome::new("", "s", samples).median())
}

/// RC4 is among OpenSSL's broken ciphers, in a provider of their own; loading that turns the default one off,
/// unless it is loaded by name too. Both go when the result is dropped.
#[cfg(feature = "openssl")]
fn openssl_providers() -> Result<impl Sized, Error> {
    use openssl::provider::Provider;
    Ok((Provider::load(None, "legacy")?, Provider::load(None, "default")?))
}

#[cfg(not(feature = "openssl"))]
#[expect(clippy::unnecessary_wraps, reason = "the shape of the function that the feature brings")]
fn openssl_providers() -> Result<impl Sized, Error> {
    Ok(())
}

#[cfg(feature = "openssl")]
fn openssl(method: Method) -> Result<Option<Box<dyn Contender>>, Error> {
    use openssl::symm::{Cipher, Crypter, Mode};

    struct OpenSsl {
        crypter: Crypter,
        out: Vec<u8>,
        method: Method,
    }

    impl Contender for OpenSsl {
        fn name(&self) -> String {
            format!("openssl {}", self.method)
        }

        fn apply(&mut self, data: &mut [u8]) {
            self.crypter.update(data, &mut self.out).expect("the buffer is long enough");
        }
    }

    let (cipher, key, counter): (_, &[u8], Option<&[u8]>) = match method {
        Method::Rc4 => (Cipher::rc4(), &[1; 16], None),
        Method::Aes128Ctr => (Cipher::aes_128_ctr(), &[1; 16], Some(&[2; 16])),
        Method::Aes256Ctr => (Cipher::aes_256_ctr(), &[1; 32], Some(&[2; 16])),
        _ => return Ok(None),
    };
    let crypter = Crypter::new(cipher, Mode::Encrypt, key, counter)?;
    let out = vec![0; BLOCK + 16];
    Ok(Some(Box::new(OpenSsl { crypter, out, method })))
}

#[cfg(not(feature = "openssl"))]
#[expect(clippy::unnecessary_wraps, reason = "the shape of the function that the feature brings")]
fn openssl(_: Method) -> Result<Option<Box<dyn Contender>>, Error> {
    Ok(None)
}
