//! The specification, written a second time over other libraries, against this crate in both roles.
//!
//! Noise is `snow`'s, the records' cipher is `chacha20poly1305`'s; framing, proofs and records are laid down here
//! from `docs/spec/secure-session.md` alone.

mod common;

use chacha20poly1305::{AeadInPlace, ChaCha20Poly1305, KeyInit};
use common::{Device, authority, certify, open_all, seal, small_pair};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use ml_kem::{
    Decapsulate, KeyExport,
    ml_kem_768::{DecapsulationKey, EncapsulationKey},
};
use schwann_session::{
    Certificate, DeviceKey, Flags, Initiator, LayerError, Opened, Progress, Responder, Secure, Suite,
};

const SUITES: [(Suite, &str); 2] =
    [(Suite::Hybrid, "LSL:secure/1 hybrid\r\n"), (Suite::Classic, "LSL:secure/1 classic\r\n")];

/// A device of the lab whose code is not this project's.
struct Other {
    key: SigningKey,
    certificate: [u8; 192],
    noise: snow::Keypair,
}

impl Other {
    fn new() -> Self {
        let key = DeviceKey::from_seed(&[0x33; 32]);
        let certificate = certify(&authority(), &key, 50, |s| s.flags = Flags::CLASSIC).encode();
        let noise = builder().generate_keypair().unwrap();
        Self { key: SigningKey::from_bytes(&[0x33; 32]), certificate, noise }
    }

    fn proof(&self, side: u8, hash: &[u8]) -> Vec<u8> {
        let bound = [b"schwann/1 bind\0".as_slice(), &[side], &self.noise.public, hash].concat();
        let signature = self.key.sign(&bound).to_bytes();
        [&self.certificate[..], &signature, &4096_u32.to_le_bytes(), &[0; 4], &7_u64.to_le_bytes()].concat()
    }
}

fn builder() -> snow::Builder<'static> {
    snow::Builder::new("Noise_XXpsk3_25519_ChaChaPoly_SHA256".parse().unwrap())
}

fn frame(message: &[u8]) -> Vec<u8> {
    [&u16::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat()
}

/// Checks the peer's proof as secure-session §3.6 says.
fn check(proof: &[u8], side: u8, noise_public: &[u8], hash: &[u8]) {
    assert_eq!(proof.len(), 272);
    let lab = VerifyingKey::from_bytes(&authority().lab().authority().0).unwrap();
    let signed = [b"schwann/1 certificate", &proof[..128]].concat();
    lab.verify_strict(&signed, &Signature::from_slice(&proof[128..192]).unwrap()).unwrap();
    let device = VerifyingKey::from_bytes(proof[48..80].try_into().unwrap()).unwrap();
    let bound = [b"schwann/1 bind\0".as_slice(), &[side], noise_public, hash].concat();
    device.verify_strict(&bound, &Signature::from_slice(&proof[192..256]).unwrap()).unwrap();
    assert_eq!(proof[256..272], [&16_384_u32.to_le_bytes()[..], &[0; 4], &1_u64.to_le_bytes()].concat());
}

fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

fn seal_record(key: &[u8; 32], counter: u64, kind: u8, plain: &[u8]) -> Vec<u8> {
    let length = u32::try_from(plain.len()).unwrap().to_le_bytes();
    let header = [kind, length[0], length[1], length[2]];
    let mut body = plain.to_vec();
    let cipher = ChaCha20Poly1305::new(key.into());
    let tag = cipher.encrypt_in_place_detached(&nonce(counter).into(), &header, &mut body).unwrap();
    [&header[..], &body, &tag].concat()
}

fn open_record(key: &[u8; 32], counter: u64, wire: &[u8]) -> (u8, Vec<u8>, usize) {
    let length = usize::from(wire[1]) | usize::from(wire[2]) << 8 | usize::from(wire[3]) << 16;
    let mut body = wire[4..4 + length].to_vec();
    let cipher = ChaCha20Poly1305::new(key.into());
    let tag = wire[4 + length..20 + length].into();
    cipher.decrypt_in_place_detached(&nonce(counter).into(), &wire[..4], &mut body, tag).unwrap();
    (wire[0], body, 20 + length)
}

/// Noise's `REKEY(k)`.
fn rekey(key: &[u8; 32]) -> [u8; 32] {
    let mut next = [0; 32];
    let cipher = ChaCha20Poly1305::new(key.into());
    cipher.encrypt_in_place_detached(&nonce(u64::MAX).into(), &[], &mut next).unwrap();
    next
}

#[test]
fn an_inlet_over_other_libraries_is_understood() {
    for (suite, line) in SUITES {
        let (other, (_, mut outlet)) = (Other::new(), small_pair());
        let mut noise = builder().prologue(line.as_bytes()).unwrap();
        noise = noise.local_private_key(&other.noise.private).unwrap();
        let mut noise = noise.build_initiator().unwrap();
        let kem = DecapsulationKey::from_seed([0x44; 64].into());
        let offered = kem.encapsulation_key().to_bytes();
        let offered: &[u8] = if suite == Suite::Hybrid { &offered } else { &[] };

        let mut buffer = [0; 4096];
        let length = noise.write_message(offered, &mut buffer).unwrap();
        let mut responder = Responder::new();
        let input = [line.as_bytes(), &frame(&buffer[..length])].concat();
        assert_eq!(responder.handle(&input, &mut outlet.context()), Ok(Progress::NeedsMore));

        let hash = noise.get_handshake_hash().to_vec();
        let answer = take(&mut responder);
        let length = noise.read_message(&answer[2..], &mut buffer).unwrap();
        let (ciphertext, proof) = buffer[..length].split_at(length - 272);
        let psk: [u8; 32] = match suite {
            Suite::Hybrid => kem.decapsulate(ciphertext.try_into().unwrap()).into(),
            Suite::Classic => [0; 32],
        };
        noise.set_psk(3, &psk).unwrap();
        check(proof, 2, noise.get_remote_static().unwrap(), &hash);

        let proof = other.proof(1, noise.get_handshake_hash());
        let length = noise.write_message(&proof, &mut buffer).unwrap();
        let input = frame(&buffer[..length]);
        assert!(matches!(responder.handle(&input, &mut outlet.context()), Ok(Progress::Done { .. })));
        let welcome = take(&mut responder);
        let mut established = responder.finish().unwrap();
        assert_eq!((established.peer.statement.serial, established.peer.revocation_number), (50, 7));

        let (sending, receiving) = noise.dangerously_get_raw_split();
        let (kind, text, _) = open_record(&receiving, 0, &welcome);
        assert_eq!((kind, text.len(), text[0]), (1, 73, 1));
        speak(&mut established.session, &sending, &receiving, 1);
    }
}

#[test]
fn an_outlet_over_other_libraries_is_understood() {
    for (suite, line) in SUITES {
        let (other, (mut inlet, _)) = (Other::new(), small_pair());
        let mut initiator = Initiator::new(suite, &mut inlet.context()).unwrap();
        let first = initiator.poll_output().to_vec();
        initiator.sent(first.len());
        let message = first.strip_prefix(line.as_bytes()).unwrap();

        let mut noise = builder().prologue(line.as_bytes()).unwrap();
        noise = noise.local_private_key(&other.noise.private).unwrap();
        let mut noise = noise.build_responder().unwrap();
        let mut buffer = [0; 4096];
        let length = noise.read_message(&message[2..], &mut buffer).unwrap();
        let (ciphertext, psk) = encapsulate(suite, &buffer[..length]);
        noise.set_psk(3, &psk).unwrap();
        let payload = [ciphertext, other.proof(2, noise.get_handshake_hash())].concat();
        let length = noise.write_message(&payload, &mut buffer).unwrap();
        let hash = noise.get_handshake_hash().to_vec();
        let input = frame(&buffer[..length]);
        assert!(matches!(initiator.handle(&input, &mut inlet.context()), Ok(Progress::Done { .. })));
        let answer = initiator.poll_output().to_vec();
        initiator.sent(answer.len());
        let length = noise.read_message(&answer[2..], &mut buffer).unwrap();
        check(&buffer[..length], 1, noise.get_remote_static().unwrap(), &hash);

        let mut established = initiator.finish().unwrap();
        let (receiving, sending) = noise.dangerously_get_raw_split();
        let welcome = seal_record(&sending, 0, 1, &[&[1][..], &[9; 72]].concat());
        assert!(open_all(&mut established.session, &welcome).unwrap().0.is_empty());
        assert_eq!(established.session.take_datagrams().unwrap().session().0, [9; 8]);
        speak_from(&mut established.session, &sending, &receiving, 1, 0);
    }
}

/// Data, a new key and the end, both ways; the other side has sent `sent` records, this one one.
fn speak(session: &mut Secure, sending: &[u8; 32], receiving: &[u8; 32], received: u64) {
    speak_from(session, sending, receiving, 0, received);
}

fn speak_from(session: &mut Secure, sending: &[u8; 32], receiving: &[u8; 32], sent: u64, received: u64) {
    let next = rekey(sending);
    let wire = [
        seal_record(sending, sent, 0, b"before"),
        seal_record(sending, sent + 1, 2, b""),
        seal_record(&next, sent + 2, 0, b"after"),
        seal_record(&next, sent + 3, 3, &(sent + 3).to_le_bytes()),
    ]
    .concat();
    assert_eq!(open_all(session, &wire), Ok((b"beforeafter".to_vec(), true)));

    // The peer said that it takes at most 4,096 bytes in a record.
    let wire = seal(session, &[5; 5000]);
    let (kind, first, length) = open_record(receiving, received, &wire);
    let (_, second, rest) = open_record(receiving, received + 1, &wire[length..]);
    assert_eq!((kind, first.len(), second.len(), length + rest), (0, 4096, 904, wire.len()));
    let mut end = [0; 64];
    let length = session.close(&mut end).unwrap();
    let (kind, count, _) = open_record(receiving, received + 2, &end[..length]);
    assert_eq!((kind, count), (3, (received + 2).to_le_bytes().to_vec()));
}

fn encapsulate(suite: Suite, offered: &[u8]) -> (Vec<u8>, [u8; 32]) {
    if suite == Suite::Classic {
        return (Vec::new(), [0; 32]);
    }
    let key = EncapsulationKey::new(offered.try_into().unwrap()).unwrap();
    let (ciphertext, shared) = key.encapsulate_deterministic(&[0x55; 32].into());
    (ciphertext.to_vec(), shared.into())
}

fn take(responder: &mut Responder) -> Vec<u8> {
    let bytes = responder.poll_output().to_vec();
    responder.sent(bytes.len());
    bytes
}

#[test]
fn keys_stolen_later_open_no_recording() {
    // Everything that is ever stored, of both ends and the authority, against a recording of the wire.
    let (mut inlet, mut outlet) = common::pair();
    let mut recorded = [Vec::new(), Vec::new()];
    let (_, mut to_inlet) =
        common::connect_through(Suite::Hybrid, &mut inlet, &mut outlet, |forth, bytes| {
            recorded[usize::from(forth)].extend_from_slice(bytes);
        })
        .unwrap();
    let record = seal(&mut to_inlet.session, b"CANARY");
    let stored = [device_seed(1), device_seed(2), *authority().seed(), common::DISCOVERY_KEY];

    // The ephemeral public keys lie open on the wire: after the first line and a length, and after a length.
    let ephemerals = [&recorded[1][23..55], &recorded[0][2..34]].map(|e| <[u8; 32]>::try_from(e).unwrap());
    let mut secrets = stored.to_vec();
    for seed in stored {
        // An Ed25519 seed also gives an X25519 secret.
        let scalar = SigningKey::from_bytes(&seed).to_scalar_bytes();
        for secret in [seed, scalar] {
            let secret = x25519_dalek::StaticSecret::from(secret);
            secrets.extend(ephemerals.map(|e| secret.diffie_hellman(&e.into()).to_bytes()));
        }
    }
    for secret in secrets {
        for counter in 0..3 {
            let mut body = record[4..record.len() - 16].to_vec();
            let tag = record[record.len() - 16..].into();
            let cipher = ChaCha20Poly1305::new((&secret).into());
            let header = &record[..4];
            assert!(
                cipher.decrypt_in_place_detached(&nonce(counter).into(), header, &mut body, tag).is_err()
            );
        }
    }

    // The same in the thief's own handshakes, as the very devices: the recorded messages are
    // useless.
    let mut thief = Device { entropy: common::Seeded(98), ..Device::of(&authority(), 2, |_| {}) };
    let mut responder = Responder::new();
    assert!(responder.handle(&recorded[1], &mut thief.context()).is_err());
    let mut thief = Device { entropy: common::Seeded(99), ..Device::of(&authority(), 1, |_| {}) };
    let mut initiator = Initiator::new(Suite::Hybrid, &mut thief.context()).unwrap();
    assert!(initiator.handle(&recorded[0], &mut thief.context()).is_err());
}

/// The seed that [`Device::of`] draws.
fn device_seed(seed: u64) -> [u8; 32] {
    *DeviceKey::generate(&mut common::Seeded(seed)).unwrap().seed()
}

#[test]
fn a_thief_with_a_certificate_but_another_key_is_refused() {
    // The certificate is genuine, the signature is the thief's.
    let (mut inlet, _) = common::pair();
    let victim = DeviceKey::from_seed(&[0x66; 32]);
    let certificate: [u8; Certificate::LEN] = certify(&authority(), &victim, 51, |_| {}).encode();
    let thief = Other { certificate, ..Other::new() };
    let mut initiator = Initiator::new(Suite::Hybrid, &mut inlet.context()).unwrap();
    let first = initiator.poll_output().to_vec();
    let line = SUITES[0].1.as_bytes();
    let mut noise = builder().prologue(line).unwrap();
    noise = noise.local_private_key(&thief.noise.private).unwrap();
    let mut noise = noise.build_responder().unwrap();
    let mut buffer = [0; 4096];
    let length = noise.read_message(&first[line.len() + 2..], &mut buffer).unwrap();
    let (ciphertext, psk) = encapsulate(Suite::Hybrid, &buffer[..length]);
    noise.set_psk(3, &psk).unwrap();
    let payload = [ciphertext, thief.proof(2, noise.get_handshake_hash())].concat();
    let length = noise.write_message(&payload, &mut buffer).unwrap();
    let refusal = initiator.handle(&frame(&buffer[..length]), &mut inlet.context());
    assert_eq!(refusal, Err(schwann_session::Refusal::Forged));
    assert_eq!(initiator.poll_output(), [schwann_session::ALERT]);
}

#[test]
fn a_record_counts_only_under_its_own_number() {
    let (_, mut outlet) = common::twins(5);
    let wire = seal(&mut outlet.session, b"x");
    let (mut inlet, _) = common::twins(5);
    assert!(matches!(inlet.session.open(&mut wire.clone()), Ok(Opened::Data { .. })));
    assert_eq!(inlet.session.open(&mut wire.clone()), Err(LayerError::Forged));
}
