//! Key stream made before its message serves that message alone, and as the portable kernel would.

use schwann_aead::{Ahead, Kernel, Key, Message, Nonce, OpenError, Tag};

const AAD: &[u8] = b"\0\x29\0\0 and more than a block";

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + length) as u8).collect()
}

fn nonce(number: usize) -> Nonce {
    Nonce(core::array::from_fn(|i| (number >> (8 * (i % 4))) as u8))
}

/// The kernels that it can be made with here.
fn kernels() -> impl Iterator<Item = Kernel> {
    Kernel::available().filter(|kernel| *kernel != Kernel::Portable)
}

fn sealed(key: &Key, number: usize, plain: &[u8], aad: &[u8]) -> (Vec<u8>, Tag) {
    let mut buffer = plain.to_vec();
    let tag = Kernel::Portable.seal_in_place(key, &nonce(number), aad, &mut buffer).expect("short");
    (buffer, tag)
}

#[test]
fn it_seals_and_opens_as_the_portable_kernel_does() {
    let key = Key::new(&[0x9d; 32]);
    for kernel in kernels() {
        let mut ahead = Ahead::new();
        for length in 0..=Ahead::LONGEST {
            let (plain, aad) = (text(length), &AAD[..length % (AAD.len() + 1)]);
            let (expected, tag) = sealed(&key, length, &plain, aad);
            let mut buffer = plain.clone();
            ahead.prepare(kernel, &key, nonce(length), length);
            let mut message = Message::plain(&key, nonce(length), aad, &mut buffer);
            assert!(ahead.seal(&mut message));
            assert!(message.tag.matches(&tag), "{length} with {}", kernel.name());
            assert_eq!(buffer, expected);
            // A longer stream serves as well.
            ahead.prepare(kernel, &key, nonce(length), (length + 100).min(Ahead::LONGEST));
            let mut message = Message::sealed(&key, nonce(length), aad, &mut buffer, tag);
            assert!(ahead.open(&mut message));
            assert_eq!(message.outcome, Ok(()));
            assert_eq!(buffer, plain);
        }
    }
}

#[test]
fn a_forged_message_is_refused_and_wiped() {
    let key = Key::new(&[0x9d; 32]);
    for kernel in kernels() {
        let mut ahead = Ahead::new();
        for length in [0, 1, 16, 41, 265, Ahead::LONGEST] {
            for bit in 0..128 {
                let (mut buffer, mut tag) = sealed(&key, bit, &text(length), AAD);
                tag.0[bit / 8] ^= 1 << (bit % 8);
                ahead.prepare(kernel, &key, nonce(bit), length);
                let mut message = Message::sealed(&key, nonce(bit), AAD, &mut buffer, tag);
                assert!(ahead.open(&mut message));
                assert_eq!(message.outcome, Err(OpenError::Forged));
                assert_eq!(buffer, vec![0; length]);
            }
        }
    }
}

/// Whether what was made for 41 bytes of message 5 serves another message, or the same for the second time.
fn serves(prepare: impl FnOnce(&mut Ahead), message: (&Key, usize, usize)) -> bool {
    let (key, number, length) = message;
    let mut ahead = Ahead::new();
    prepare(&mut ahead);
    let mut buffer = text(length);
    let before = buffer.clone();
    let served = ahead.seal(&mut Message::plain(key, nonce(number), AAD, &mut buffer));
    assert_eq!(served, buffer != before, "what is not served is not touched");
    served
}

#[test]
fn it_serves_the_one_message_that_it_was_made_for() {
    let (key, other) = (Key::new(&[1; 32]), Key::new(&[2; 32]));
    for kernel in kernels() {
        let made = |ahead: &mut Ahead| ahead.prepare(kernel, &key, nonce(5), 41);
        assert!(serves(made, (&key, 5, 41)));
        assert!(serves(made, (&key, 5, 64)), "the stream is made in whole blocks");
        assert!(!serves(made, (&key, 5, 65)), "too long");
        assert!(!serves(made, (&key, 6, 41)), "another nonce");
        assert!(!serves(made, (&other, 5, 41)), "another key");
        assert!(!serves(|_| (), (&key, 5, 41)), "never made");
        let used = |ahead: &mut Ahead| {
            made(ahead);
            assert!(ahead.seal(&mut Message::plain(&key, nonce(5), AAD, &mut text(41))));
        };
        assert!(!serves(used, (&key, 5, 41)), "a second time");
        let too_long = |ahead: &mut Ahead| {
            made(ahead);
            ahead.prepare(kernel, &key, nonce(5), Ahead::LONGEST + 1);
        };
        assert!(!serves(too_long, (&key, 5, 41)), "nothing is left of what was made before");
    }
    assert!(!serves(|ahead| ahead.prepare(Kernel::Portable, &key, nonce(5), 41), (&key, 5, 41)));
}
