//! An MSE initiator against a responder that may say anything, also beyond the ciphers.
#![no_main]

#[path = "../mse/mod.rs"]
mod mse;

use libfuzzer_sys::fuzz_target;
use mse::{TORRENT, draw, give};
use schwann_mse::{Accept, Handshake, Initiator, Method, Methods, Offer, Responder};

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, piece], data)) = data.split_first_chunk() else { return };
    let offer = Offer::new(Methods::of(&Method::ALL), Vec::new());
    let Ok(mut initiator) = Initiator::new(TORRENT, offer, draw(1, 0)) else { return };
    let step1 = initiator.poll_output().unwrap_or_default();
    if kind % 2 == 0 {
        give(&mut initiator, data, usize::from(piece));
        return;
    }
    // A real responder's key and mark, then the fuzzer's fields under the right keystream: padding of zeros
    // shows it.
    let mut responder = Responder::new(TORRENT, Accept::default(), draw(2, 512));
    let step2 = give(&mut responder, &step1, 4_096);
    let step3 = give(&mut initiator, &step2, 4_096);
    let mut step4 = give(&mut responder, &step3, 4_096);
    let known = [0, 0, 0, 2, 2, 0];
    for (n, byte) in step4.iter_mut().skip(8).enumerate() {
        *byte ^= known.get(n).unwrap_or(&0) ^ data.get(n).unwrap_or(&0);
    }
    give(&mut initiator, &step4, usize::from(piece));
});
