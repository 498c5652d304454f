//! Plays an outlet knowing only what everybody can learn: `impostor VICTIM_PORT`, prints its own port.
//!
//! For every inlet that connects, it asks the real outlet for its certificate and a genuine signature. Any stranger gets
//! these (`docs/threat-model.md`). It then runs the handshake with them by another Noise library. The certificate comes
//! with three signatures in turn: by a key of its own, the overheard one, and zeros. Prints a line per attempt;
//! `accepted` would mean that an inlet went on. `tests/system/test_attacker_ends.py` runs it.

use core::net::Ipv4Addr;
use std::io::{Error, Read, Write};
use std::net::{TcpListener, TcpStream};

use ed25519_dalek::{Signer, SigningKey};
use ml_kem::KeyExport;
use ml_kem::ml_kem_768::{DecapsulationKey, EncapsulationKey};

fn main() -> Result<(), Error> {
    let victim: u16 =
        std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("impostor VICTIM_PORT");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());
    for attempt in 0.. {
        let (inlet, _) = listener.accept()?;
        let overheard = ask(victim)?;
        assert!(overheard.starts_with(b"SCC\x01"), "the outlet's certificate");
        let how = ["own signature", "overheard signature", "no signature"][attempt % 3];
        match deceive(inlet, &overheard, attempt % 3) {
            Ok(answer) if answer.first() == Some(&0xFF) => println!("refused: {how}"),
            Ok(answer) if answer.is_empty() => println!("closed: {how}"),
            Ok(_) => println!("accepted: {how}"),
            Err(error) => println!("closed: {how}: {error}"),
        }
    }
    Ok(())
}

/// What any stranger learns from an outlet: its proof, good for that one handshake.
fn ask(port: u16) -> Result<Vec<u8>, Error> {
    let mut outlet = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let mut noise = noise().build_initiator().expect("a stranger's own key");
    let offered = DecapsulationKey::from_seed([0x44; 64].into()).encapsulation_key().to_bytes();
    let mut buffer = [0; 4096];
    let length = noise.write_message(&offered, &mut buffer).expect("room");
    outlet.write_all(LINE)?;
    send(&mut outlet, &buffer[..length])?;
    let message = receive(&mut outlet)?;
    let length = noise.read_message(&message, &mut buffer).expect("an outlet of the lab");
    Ok(buffer[length - PROOF_LEN..length].to_vec())
}

/// Runs the handshake as the outlet, and returns what the inlet says to message 2.
fn deceive(mut inlet: TcpStream, overheard: &[u8], way: usize) -> Result<Vec<u8>, Error> {
    let mut line = vec![0; LINE.len()];
    inlet.read_exact(&mut line)?;
    let mut noise = noise().build_responder().expect("an impostor's own key");
    let mut buffer = [0; 4096];
    let length = noise.read_message(&receive(&mut inlet)?, &mut buffer).expect("an inlet's message 1");
    let key = EncapsulationKey::new(buffer[..length].try_into().expect("1,184 bytes")).expect("a proper key");
    let (ciphertext, shared) = key.encapsulate_deterministic(&[0x55; 32].into());
    let shared: [u8; 32] = shared.into();
    noise.set_psk(3, &shared).expect("psk3");
    let mut proof = overheard.to_vec();
    match way {
        0 => {
            // The statement is signed for the right handshake, by a key that the certificate does not name.
            let own = noise_static();
            let bound = [b"schwann/1 bind\0".as_slice(), &[2], &own, noise.get_handshake_hash()].concat();
            let signature = SigningKey::from_bytes(&[0x66; 32]).sign(&bound).to_bytes();
            proof[192..256].copy_from_slice(&signature);
        }
        1 => {}
        _ => proof[192..256].fill(0),
    }
    let payload = [ciphertext.as_slice(), &proof].concat();
    let length = noise.write_message(&payload, &mut buffer).expect("room");
    send(&mut inlet, &buffer[..length])?;
    let mut answer = vec![0; 4096];
    let count = inlet.read(&mut answer)?;
    answer.truncate(count);
    Ok(answer)
}

fn noise() -> snow::Builder<'static> {
    let builder = snow::Builder::new("Noise_XXpsk3_25519_ChaChaPoly_SHA256".parse().expect("a pattern"));
    let builder = builder.prologue(LINE).expect("a prologue");
    builder.local_private_key(&[0x77; 32]).expect("a key")
}

/// The public half of the impostor's Noise key.
fn noise_static() -> [u8; 32] {
    x25519_dalek::PublicKey::from(&x25519_dalek::StaticSecret::from([0x77; 32])).to_bytes()
}

fn send(to: &mut TcpStream, message: &[u8]) -> Result<(), Error> {
    to.write_all(&u16::try_from(message.len()).expect("short").to_be_bytes())?;
    to.write_all(message)
}

fn receive(from: &mut TcpStream) -> Result<Vec<u8>, Error> {
    let mut length = [0; 2];
    from.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    from.read_exact(&mut message)?;
    Ok(message)
}

const LINE: &[u8] = b"LSL:secure/1 hybrid\r\n";
/// Certificate, signature and limits, at the end of payload 2.
const PROOF_LEN: usize = 272;
