//! Whether secrets are gone from this process's memory once their owners are.
#![cfg(target_os = "linux")]

mod common;

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
};

use common::{Seeded, authority, certify};
use schwann_session::{
    ClassicSuite, Context, Credentials, DeviceKey, Entropy, Established, Initiator, NoEntropy, Responder,
    RevocationList, Suite,
};

/// What a secret is remembered as here, so that the search does not find its own question.
const MASK: u8 = 0x5A;

/// Remembers, masked, all that it gave out.
struct Remembering {
    source: Seeded,
    given: Vec<Vec<u8>>,
}

impl Entropy for Remembering {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        self.source.fill(out)?;
        self.given.push(out.iter().map(|byte| byte ^ MASK).collect());
        Ok(())
    }
}

#[test]
fn secrets_are_gone_when_their_owners_are() {
    let mut entropy = Remembering { source: Seeded(0xC0FFEE), given: Vec::new() };
    let established = talk(&mut entropy);
    // Device seed and Noise key of both, ephemerals, ML-KEM's seed and randomness; then the session id (which is
    // public) and two datagram keys.
    assert_eq!(entropy.given.len(), 11);
    scrub_stack();
    let (once, alive) = entropy.given.split_at(8);
    assert!(alive[1..].iter().any(|key| occurs(key)), "the search finds what is there");
    let left: Vec<_> =
        once.iter().enumerate().filter(|(_, secret)| occurs(secret)).map(|(at, _)| at).collect();
    assert!(left.is_empty(), "secrets {left:?} of the handshake are still in memory");

    drop(established);
    scrub_stack();
    assert!(!alive[1..].iter().any(|key| occurs(key)), "datagram keys are still in memory");
}

/// Two devices meet; what they made themselves of goes, their session stays.
#[inline(never)]
fn talk(entropy: &mut Remembering) -> Box<(Established, Established)> {
    let lab = authority().lab();
    let revoked = RevocationList::sign(&authority(), 1, common::NOW, &common::DISCOVERY_KEY, &[]).unwrap();
    let devices = [1, 2].map(|serial| {
        let key = DeviceKey::generate(entropy).unwrap();
        let certificate = certify(&authority(), &key, serial, |_| {});
        Credentials::new(key, certificate, entropy).unwrap()
    });
    let mut with = |at: usize, step: &mut dyn FnMut(&mut Context<'_>)| {
        step(&mut Context {
            classic: ClassicSuite::Refused,
            credentials: &devices[at],
            entropy,
            lab: &lab,
            now: common::NOW,
            revoked: revoked.view(),
        });
    };
    let (mut initiator, mut responder) = (None, Responder::new());
    with(0, &mut |context| initiator = Some(Initiator::new(Suite::Hybrid, context).unwrap()));
    let mut initiator = initiator.unwrap();
    for _ in 0..2 {
        let forth = initiator.poll_output().to_vec();
        initiator.sent(forth.len());
        with(1, &mut |context| assert!(responder.handle(&forth, context).is_ok()));
        let back = responder.poll_output().to_vec();
        responder.sent(back.len());
        with(0, &mut |context| assert!(initiator.handle(&back, context).is_ok()));
    }
    Box::new((initiator.finish().unwrap(), responder.finish().unwrap()))
}

/// Overwrites what returned functions left below this one's frame: the compiler may leave copies of moved values
/// there, which no library can reach.
#[inline(never)]
fn scrub_stack() {
    core::hint::black_box([0xEE_u8; 256 * 1024]);
}

/// Tells whether the bytes behind a masked secret lie anywhere in this process's writable memory.
fn occurs(masked: &[u8]) -> bool {
    let maps = BufReader::new(File::open("/proc/self/maps").unwrap());
    let mut memory = File::open("/proc/self/mem").unwrap();
    for line in maps.lines().map(Result::unwrap) {
        let mut fields = line.split_whitespace();
        let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
        if !rights.starts_with("rw") {
            continue;
        }
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).unwrap());
        if search(&mut memory, start, end, masked) {
            return true;
        }
    }
    false
}

/// Searches in pieces, masked at once, so that the search leaves no copy.
fn search(memory: &mut File, start: u64, end: u64, masked: &[u8]) -> bool {
    let mut piece = vec![0; 1 << 16];
    let mut at = start;
    while at < end {
        let length = usize::try_from((end - at).min(1 << 16)).unwrap();
        if memory.seek(SeekFrom::Start(at)).is_err() || memory.read_exact(&mut piece[..length]).is_err() {
            return false;
        }
        piece.iter_mut().for_each(|byte| *byte ^= MASK);
        if piece[..length].windows(masked.len()).any(|part| part == masked) {
            return true;
        }
        piece.fill(0);
        // Pieces overlap by less than a secret, lest one lie on the border.
        at += (length as u64).saturating_sub(63).max(1);
        if length < 1 << 16 {
            break;
        }
    }
    false
}
