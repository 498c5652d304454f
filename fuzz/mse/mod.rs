//! One end of an MSE handshake, fed by a fuzz target.

use schwann_mse::{Draw, Group, Handshake, InfoHash, KeyPair, Status};

pub(crate) fn draw(exponent: u8, crypto_pad: usize) -> Draw {
    let key = KeyPair::from_exponent(Group::Mse768, [exponent; 20]);
    Draw { key, key_pad: vec![9; 40], crypto_pad }
}

/// Gives the bytes in pieces of this size, and returns what is sent meanwhile.
pub(crate) fn give(machine: &mut dyn Handshake, bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        let mut input = piece;
        loop {
            let status = machine.handle_input(&mut input);
            sent.extend(machine.poll_output().unwrap_or_default());
            if !matches!(status, Ok(Status::Wait)) {
                return sent;
            }
            if input.is_empty() {
                break;
            }
        }
    }
    sent
}

pub(crate) const TORRENT: InfoHash = InfoHash([7; 20]);
