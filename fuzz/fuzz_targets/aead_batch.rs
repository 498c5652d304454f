//! Batches of any shape: every kernel must make what the portable one makes, and open it again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schwann_aead::{Kernel, Key, Message, Nonce, Tag};

fuzz_target!(|input: &[u8]| {
    // The first byte counts the messages, two bytes each say how long it and its header are; the rest is
    // text, over and over.
    let Some((&count, input)) = input.split_first() else { return };
    let count = usize::from(count % 40) + 1;
    let Some((shapes, text)) = input.split_at_checked(count * 2) else { return };
    if text.is_empty() {
        return;
    }
    let keys = [Key::new(&[1; 32]), Key::new(&[2; 32])];
    let plain: Vec<Vec<u8>> = shapes
        .chunks(2)
        .enumerate()
        .map(|(i, shape)| text.iter().cycle().skip(i).take(usize::from(shape[0]) * 7).copied().collect())
        .collect();
    let run = |kernel: Kernel, buffers: &mut [Vec<u8>], tags: &mut [Tag], seal: bool| {
        let mut messages: Vec<Message<'_>> = Vec::new();
        for (i, (buffer, tag)) in buffers.iter_mut().zip(&*tags).enumerate() {
            let aad = &text[..text.len().min(usize::from(shapes[2 * i + 1]))];
            messages.push(Message::sealed(&keys[i % 2], Nonce([i as u8; 12]), aad, buffer, *tag));
        }
        if seal {
            kernel.seal_batch(&mut messages).unwrap();
        } else {
            kernel.open_batch(&mut messages).unwrap();
        }
        let after: Vec<Tag> = messages.iter().map(|message| message.tag).collect();
        tags.copy_from_slice(&after);
    };
    let mut expected = plain.clone();
    let mut expected_tags = vec![Tag([0; 16]); count];
    run(Kernel::Portable, &mut expected, &mut expected_tags, true);
    for kernel in Kernel::available() {
        let mut buffers = plain.clone();
        let mut tags = vec![Tag([0; 16]); count];
        run(kernel, &mut buffers, &mut tags, true);
        assert_eq!(buffers, expected);
        assert!(tags.iter().zip(&expected_tags).all(|(a, b)| a.matches(b)));
        run(kernel, &mut buffers, &mut tags, false);
        assert_eq!(buffers, plain);
    }
});
