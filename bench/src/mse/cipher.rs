//! Ciphers alone, next to OpenSSL's in the same process where it is built in (`--features peers`).

use core::hint::black_box;

#[cfg(feature = "peers")]
use openssl::{cipher_ctx::CipherCtx, provider::Provider};
use schwann_mse::{Cipher, Established, Group, Method};

use super::handshake::in_memory;
use super::{count, figure};
use crate::Reason;
use crate::clock;
use crate::record::Reading;
use crate::suite::Effort;

/// Something that turns a buffer into ciphertext.
trait Contender {
    fn name(&self) -> String;
    fn apply(&mut self, data: &mut [u8]);
}

impl Contender for Cipher {
    fn name(&self) -> String {
        format!("schwann {}", self.method())
    }

    fn apply(&mut self, data: &mut [u8]) {
        Self::apply(self, data);
    }
}

pub(super) fn run(effort: Effort) -> Result<Vec<Reading>, Reason> {
    let mut outcomes = Vec::new();
    for method in [Method::Rc4, Method::Aes128Ctr, Method::Aes256Ctr] {
        let mut contenders: Vec<Box<dyn Contender>> = vec![Box::new(cipher(method)?)];
        contenders.extend(openssl(method));
        outcomes.extend(race(&mut contenders, method, count(effort, 400)));
    }
    Ok(outcomes)
}

/// The cipher of an agreed connection, as a real handshake makes it.
pub(super) fn cipher(method: Method) -> Result<Cipher, Reason> {
    Ok(agreed(method)?.outgoing)
}

/// The responder's end of a connection in memory.
pub(super) fn agreed(method: Method) -> Result<Established, Reason> {
    Ok(in_memory(Group::Mse768, method, &[])?.1)
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
        outcomes.push(ratio.limited(format!(">= {least}")));
    }
    outcomes
}

/// MiB a second of processor time: a sample interrupted by another program counts like any other.
fn speed(contender: &mut dyn Contender, data: &mut [u8]) -> f64 {
    let began = clock::cpu_ns();
    for _ in 0..BLOCKS {
        contender.apply(black_box(data));
    }
    (BLOCK * BLOCKS) as f64 / f64::from(1 << 20) / ((clock::cpu_ns() - began) as f64 / 1e9)
}

/// OpenSSL's form of a method, if it is built in.
#[cfg(not(feature = "peers"))]
fn openssl(_: Method) -> Option<Box<dyn Contender>> {
    None
}

/// OpenSSL's form of a method, where the library has it: RC4 is in a provider that some systems leave out.
#[cfg(feature = "peers")]
fn openssl(method: Method) -> Option<Box<dyn Contender>> {
    // The default provider is loaded by itself only while no other is.
    // OpenSSL 3.0 frees one that was loaded and given back once more when the program ends. So they stay.
    core::mem::forget(["legacy", "default"].map(|name| Provider::try_load(None, name, true)));
    let (name, key_len) = match method {
        Method::Rc4 => ("RC4", 16),
        Method::Aes128Ctr => ("AES-128-CTR", 16),
        Method::Aes256Ctr => ("AES-256-CTR", 32),
        _ => return None,
    };
    let cipher = openssl::cipher::Cipher::fetch(None, name, None).ok()?;
    let mut context = CipherCtx::new().ok()?;
    let counter = (method != Method::Rc4).then_some(&[0x5b; 16][..]);
    context.encrypt_init(Some(&cipher), Some(&[0x5a; 32][..key_len]), counter).ok()?;
    Some(Box::new(OpenSsl { context, method }))
}

#[cfg(feature = "peers")]
struct OpenSsl {
    context: CipherCtx,
    method: Method,
}

#[cfg(feature = "peers")]
impl Contender for OpenSsl {
    fn name(&self) -> String {
        format!("openssl {}", self.method)
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.context.cipher_update_inplace(data, data.len()).expect("a stream cipher cannot fail");
    }
}

/// The block of BitTorrent transfers, and of `openssl speed`'s largest standard size.
const BLOCK: usize = 16 * 1024;
/// Blocks a sample: about a millisecond of RC4.
const BLOCKS: usize = 64;
