//! Whether secrets are gone from this process's memory once their owners are.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/thief.rs"]
#[allow(dead_code, reason = "this test derives keys alone")]
mod thief;

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    sync::{Mutex, PoisonError},
};

use common::{Seeded, authority, certify};
use schwann_session::{
    ClassicSuite, Context, Credentials, DeviceKey, Entropy, Established, Initiator, NoEntropy, Responder,
    RevocationList, Suite,
};
use thief::{Memory, Recording, traffic_keys};
use zeroize::{Zeroize as _, Zeroizing};

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

/// One search at a time: what one test reads of the other's memory, the other would find.
static SEARCHING: Mutex<()> = Mutex::new(());

#[test]
fn secrets_are_gone_when_their_owners_are() {
    let _alone = SEARCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut entropy = Remembering { source: Seeded(0xC0FFEE), given: Vec::new() };
    let established = talk(&mut entropy, &mut [Vec::new(), Vec::new()]);
    // Device seed and Noise key of both, ephemerals, ML-KEM's seed and randomness. Then the session id (which is
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

#[test]
fn traffic_keys_are_gone_after_a_rekey_and_after_the_end() {
    let _alone = SEARCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut entropy = Remembering { source: Seeded(0xBEEF), given: Vec::new() };
    let mut wire = [Vec::new(), Vec::new()];
    let mut established = talk(&mut entropy, &mut wire);
    let [forth, back] = derive(&entropy.given, &wire);
    scrub_stack();
    assert!(occurs(&forth) && occurs(&back), "the search finds keys that are in use");

    let (inlet, outlet) = &mut *established;
    let greeting = wire[1].len() - 93;
    assert!(inlet.session.open(&mut wire[1][greeting..]).is_ok());
    outlet.session.request_rekey();
    let mut record = [0; 128];
    let length = outlet.session.seal(b"under a new key", &mut record).unwrap();
    assert!(occurs(&back), "the inlet has not followed yet");
    let mut rest = &mut record[..length];
    // The new key's announcement, then the data.
    for _ in 0..2 {
        let Ok(schwann_session::Opened::Data { consumed, .. }) = inlet.session.open(rest) else { panic!() };
        rest = &mut rest[consumed..];
    }
    scrub_stack();
    assert!(!occurs(&back), "the key before the rekey is still in memory");

    // A forged record ends the session at once: its keys go without waiting for the owner to let go.
    assert!(inlet.session.open(&mut [0xFE; 64]).is_err());
    assert!(outlet.session.open(&mut [0xFE; 64]).is_err());
    scrub_stack();
    assert!(!occurs(&forth), "a failed session keeps its keys");
    drop(established);
}

#[test]
fn datagram_keys_are_gone_once_their_new_owner_is() {
    let _alone = SEARCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut entropy = Remembering { source: Seeded(0xFEED), given: Vec::new() };
    let mut established = talk(&mut entropy, &mut [Vec::new(), Vec::new()]);
    let keys = &entropy.given[9..];
    assert!(keys.iter().all(|key| occurs(key)), "the search finds keys that are in use");
    take_datagrams(&mut established.1);
    scrub_stack();
    assert!(!keys.iter().any(|key| occurs(key)), "the session keeps datagram keys that it has handed out");
}

/// Not part of the test, whose own frame cannot be scrubbed.
#[inline(never)]
fn take_datagrams(end: &mut Established) {
    assert!(end.session.take_datagrams().is_some());
}

/// Signing leaves parts of a device's key on the stack. A session moves several times before it comes to rest. Each
/// move may copy what lay in its unused bytes.
#[test]
fn a_session_takes_no_secret_along_from_the_stack() {
    let _alone = SEARCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut entropy = Remembering { source: Seeded(0xCAFE), given: Vec::new() };
    let established = talk(&mut entropy, &mut [Vec::new(), Vec::new()]);
    let mut bytes = vec![0; size_of_val(&*established)];
    let mut memory = File::open("/proc/self/mem").unwrap();
    memory.seek(SeekFrom::Start((&raw const *established).addr() as u64)).unwrap();
    memory.read_exact(&mut bytes).unwrap();
    let painted = bytes.windows(SHORTEST_PART).position(|part| part == [PAINT; SHORTEST_PART]);
    assert_eq!(painted, None, "where paint from the stack lies in two ends of {} bytes", bytes.len());
}

/// The keys of the two directions, masked, from everything that the two ends drew.
#[inline(never)]
fn derive(given: &[Vec<u8>], wire: &[Vec<u8>; 2]) -> [Vec<u8>; 2] {
    let drawn = |at: usize| given[at].iter().map(|byte| byte ^ MASK).collect::<Vec<u8>>();
    let memory = Memory {
        noise_static: drawn(1).try_into().unwrap(),
        noise_ephemeral: drawn(4).try_into().unwrap(),
        ml_kem_seed: drawn(5).try_into().unwrap(),
    };
    let keys = traffic_keys(&Recording::parse(&wire[0], &wire[1]).unwrap(), &memory).unwrap();
    keys.map(|key| key.iter().map(|byte| byte ^ MASK).collect())
}

/// Two devices meet; what they made themselves of goes, their session stays. `wire` gets what each end sent.
#[inline(never)]
fn talk(entropy: &mut Remembering, wire: &mut [Vec<u8>; 2]) -> Box<(Established, Established)> {
    let lab = authority().lab();
    let revoked = RevocationList::sign(&authority(), 1, common::NOW, &common::DISCOVERY_KEY, &[]).unwrap();
    let devices = [1, 2].map(|serial| {
        let key = DeviceKey::generate(entropy).unwrap();
        let certificate = certify(&authority(), &key, serial, |_| {});
        Credentials::new(key, certificate, entropy).unwrap()
    });
    let mut with = |at: usize, step: &mut dyn FnMut(&mut Context<'_>)| {
        paint_stack();
        step(&mut Context {
            calendar: common::NOW.into(),
            classic: ClassicSuite::Refused,
            credentials: &devices[at],
            entropy,
            lab: &lab,
            revoked: revoked.view(),
        });
        paint_stack();
    };
    let (mut initiator, mut responder) = (None, Responder::new());
    with(0, &mut |context| initiator = Some(Initiator::new(Suite::Hybrid, context).unwrap()));
    let mut initiator = initiator.unwrap();
    for _ in 0..2 {
        let forth = initiator.poll_output().to_vec();
        initiator.sent(forth.len());
        wire[0].extend_from_slice(&forth);
        with(1, &mut |context| assert!(responder.handle(&forth, context).is_ok()));
        let back = responder.poll_output().to_vec();
        responder.sent(back.len());
        wire[1].extend_from_slice(&back);
        with(0, &mut |context| assert!(initiator.handle(&back, context).is_ok()));
    }
    Box::new((initiator.finish().unwrap(), responder.finish().unwrap()))
}

/// Overwrites what returned functions left below this one's frame. The compiler may leave copies of moved values
/// there, and no library can reach them.
#[inline(never)]
fn scrub_stack() {
    core::hint::black_box([0xEE_u8; 256 * 1024]);
}

/// The same, with bytes that the search recognizes in every copy a move makes.
#[inline(never)]
fn paint_stack() {
    core::hint::black_box([PAINT; 256 * 1024]);
}

const PAINT: u8 = 0xA5;
/// Half a key: so many bytes of it tell nothing that helps.
const SHORTEST_PART: usize = 16;

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
    let mut piece = Zeroizing::new(vec![0; 1 << 16]);
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
        piece.as_mut_slice().zeroize();
        // Pieces overlap by less than a secret, so that no secret lies on the border.
        at += (length as u64).saturating_sub(63).max(1);
        if length < 1 << 16 {
            break;
        }
    }
    false
}
