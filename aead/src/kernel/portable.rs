//! Safe Rust for every CPU, and the definition of correct for all other kernels.

pub(crate) mod chacha20;
pub(crate) mod poly1305;

use super::Direction;
use super::frames::Frames;
use crate::{Key, Message, Nonce, OpenError, Tag};
use chacha20::ChaCha20;
use poly1305::Poly1305;

/// Seals or opens every message; opening sets each message's outcome.
#[inline(never)]
pub(super) fn batch(messages: &mut [Message<'_>], direction: Direction, frames: &Frames) {
    for message in messages {
        let Message { key, nonce, aad, buffer, tag, outcome } = message;
        match direction {
            Direction::Seal => *tag = seal(key, nonce, aad, buffer, frames),
            Direction::Open if open(key, nonce, aad, buffer, tag, frames) => *outcome = Ok(()),
            Direction::Open => {
                buffer.fill(0);
                *outcome = Err(OpenError::Forged);
            }
        }
    }
}

/// Overwrites the frames that were noted.
pub(super) fn wipe(frames: &Frames) {
    if !frames.are_watched() {
        frames.wipe_below();
    }
}

/// Encrypts `buffer` and returns its tag. Source: RFC 8439 §2.8.
fn seal(key: &Key, nonce: &Nonce, aad: &[u8], buffer: &mut [u8], frames: &Frames) -> Tag {
    let (mut cipher, mut mac) = start(key, nonce, frames);
    mac.update_padded(aad);
    cipher.apply(buffer);
    mac.update_padded(buffer);
    mac.finish(aad.len(), buffer.len())
}

/// Decrypts `buffer` if `tag` verifies, else leaves it as it is and returns `false`.
fn open(key: &Key, nonce: &Nonce, aad: &[u8], buffer: &mut [u8], tag: &Tag, frames: &Frames) -> bool {
    let (mut cipher, mut mac) = start(key, nonce, frames);
    mac.update_padded(aad);
    mac.update_padded(buffer);
    if !super::public(mac.finish(aad.len(), buffer.len()).matches(tag)) {
        return false;
    }
    cipher.apply(buffer);
    true
}

/// Keys the tag with block 0 (RFC 8439 §2.6) and leaves the cipher at block 1.
fn start<'f>(key: &Key, nonce: &Nonce, frames: &'f Frames) -> (ChaCha20<'f>, Poly1305<'f>) {
    frames.note();
    let mut cipher = ChaCha20::new(key, nonce, frames);
    let mac = Poly1305::new(&cipher.next_words(), frames);
    (cipher, mac)
}
