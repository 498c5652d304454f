//! A connection used as a session layer.
#![cfg(feature = "session")]

mod support;

use schwann_mse::{Accept, Draw, Group, Initiator, ObfuscateLayer, Offer, Responder};
use schwann_session::{Layer, LayerError, Opened};
use support::{End, Random, exchange};

fn pair() -> [ObfuscateLayer; 2] {
    let mut random = Random(13);
    let torrent = random.info_hash();
    let mut draw = || Draw::random(Group::Mse768, |out| random.fill(out));
    let mut a = Initiator::new(torrent, Offer::default(), draw()).expect("no IA");
    let mut b = Responder::new(torrent, Accept::default(), draw());
    let (mut a, mut b) = (End::new(&mut a), End::new(&mut b));
    exchange(&mut a, &mut b, || 100).expect("both follow the rules");
    [a, b].map(|end| ObfuscateLayer::new(*end.done.expect("done")))
}

#[test]
fn bytes_sealed_at_one_end_open_at_the_other_in_any_pieces() {
    let [mut a, mut b] = pair();
    let plain: Vec<u8> = (0..=255).cycle().take(5_000).collect();
    let mut wire = vec![0; a.sealed_len(plain.len())];
    assert_eq!(a.seal(&plain, &mut wire), Ok(5_000));
    assert_ne!(wire, plain);
    for piece in wire.chunks_mut(777) {
        let len = piece.len();
        assert_eq!(b.open(piece), Ok(Opened::Data { consumed: len, plain: 0..len }));
    }
    assert_eq!(wire, plain);
    assert_eq!(b.open(&mut []), Ok(Opened::Incomplete));
    assert_eq!(a.close(&mut []), Ok(0));
}

#[test]
fn a_buffer_that_is_too_short_does_not_move_the_keystream() {
    let [mut a, mut b] = pair();
    assert_eq!(a.seal(b"text", &mut [0; 3]), Err(LayerError::NoSpace));
    let mut wire = [0; 4];
    a.seal(b"text", &mut wire).expect("room");
    b.open(&mut wire).expect("bytes");
    assert_eq!(wire, *b"text");
}
