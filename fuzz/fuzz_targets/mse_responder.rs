//! An MSE responder against an initiator that may say anything, also beyond the ciphers.
#![no_main]

#[path = "../mse/mod.rs"]
mod mse;

use libfuzzer_sys::fuzz_target;
use mse::{TORRENT, draw, give};
use schwann_mse::{Accept, Handshake, Initiator, Method, Methods, Offer, Responder};

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, piece], data)) = data.split_first_chunk() else { return };
    let all = Methods::of(&Method::ALL);
    let mut responder = Responder::new(TORRENT, Accept::new(all, Method::Rc4), draw(2, 0));
    if kind % 2 == 0 {
        give(&mut responder, data, usize::from(piece));
        return;
    }
    // A real initiator's key and mark, then the fuzzer's fields under the right keystream: a payload of zeros
    // shows it.
    let offer = Offer::new(Methods::RC4, vec![0; 4_096]);
    let Ok(mut initiator) = Initiator::new(TORRENT, offer, draw(1, 0)) else { return };
    let step1 = initiator.poll_output().unwrap_or_default();
    let step2 = give(&mut responder, &step1, 4_096);
    let mut step3 = give(&mut initiator, &step2, 4_096);
    let known = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x10, 0];
    for (n, byte) in step3.iter_mut().skip(40).enumerate() {
        *byte ^= known.get(n).unwrap_or(&0) ^ data.get(n).unwrap_or(&0);
    }
    give(&mut responder, &step3, usize::from(piece));
});
