//! What a batch promises, with every kernel.

use schwann_aead::{Key, Message, Nonce, OpenError, Tag, open_batch, seal_batch, seal_in_place};

const KEYS: [[u8; 32]; 3] = [[1; 32], [2; 32], [3; 32]];

fn nonce(index: usize) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&(index as u64).to_le_bytes());
    Nonce(bytes)
}

/// A ciphertext and its tag.
type Sealed = (Vec<u8>, Tag);

/// Messages of mixed lengths, with what sealing each alone makes of it.
fn samples(count: usize) -> (Vec<Vec<u8>>, Vec<Sealed>) {
    let plain: Vec<Vec<u8>> = (0..count).map(|i| vec![i as u8; i * 37 % 700]).collect();
    let sealed = plain.iter().enumerate().map(|(i, plain)| {
        let mut buffer = plain.clone();
        let tag = seal_in_place(
            &Key::new(&KEYS[i % 3]),
            &nonce(i),
            &plain[..i % 20 % (plain.len() + 1)],
            &mut buffer,
        );
        (buffer, tag.unwrap())
    });
    let sealed = sealed.collect();
    (plain, sealed)
}

#[test]
fn a_batch_seals_as_its_messages_alone() {
    let keys = KEYS.map(|key| Key::new(&key));
    for count in 0..40 {
        let (plain, sealed) = samples(count);
        let mut buffers = plain.clone();
        let mut messages: Vec<_> = buffers
            .iter_mut()
            .enumerate()
            .map(|(i, buffer)| {
                let aad = &plain[i][..i % 20 % (plain[i].len() + 1)];
                Message::plain(&keys[i % 3], nonce(i), aad, buffer)
            })
            .collect();
        seal_batch(&mut messages).unwrap();
        for (message, (expected, tag)) in messages.iter().zip(&sealed) {
            assert_eq!(message.buffer, expected);
            assert_eq!(message.tag.0, tag.0);
        }
    }
}

#[test]
fn a_bad_tag_is_named_and_leaves_the_others_open() {
    let keys = KEYS.map(|key| Key::new(&key));
    for bad in 0..33 {
        let (plain, sealed) = samples(33);
        let mut buffers: Vec<_> = sealed.iter().map(|(buffer, _)| buffer.clone()).collect();
        let mut messages: Vec<_> = buffers
            .iter_mut()
            .enumerate()
            .map(|(i, buffer)| {
                let aad = &plain[i][..i % 20 % (plain[i].len() + 1)];
                let mut tag = sealed[i].1;
                tag.0[i % 16] ^= u8::from(i == bad);
                Message::sealed(&keys[i % 3], nonce(i), aad, buffer, tag)
            })
            .collect();
        let refused = open_batch(&mut messages).unwrap_err();
        assert_eq!((refused.first, refused.count), (bad, 1));
        for (i, message) in messages.iter().enumerate() {
            if i == bad {
                assert_eq!(message.outcome, Err(OpenError::Forged));
                assert!(message.buffer.iter().all(|&byte| byte == 0));
            } else {
                assert_eq!(message.outcome, Ok(()));
                assert_eq!(message.buffer, &plain[i]);
            }
        }
    }
}

#[test]
fn a_message_that_was_refused_can_be_used_again() {
    let key = Key::new(&KEYS[0]);
    for length in [20, 300, 5000] {
        let plain = vec![9; length];
        let mut buffer = plain.clone();
        let mut messages = [Message::plain(&key, nonce(0), b"", &mut buffer)];
        assert!(open_batch(&mut messages).is_err());
        messages[0].buffer.copy_from_slice(&plain);
        seal_batch(&mut messages).unwrap();
        assert_ne!(messages[0].buffer, plain, "what was sealed is not left in clear");
        open_batch(&mut messages).unwrap();
        assert_eq!(messages[0].buffer, plain);
    }
}
