//! Branches and addresses must not depend on secrets.
//!
//! Under valgrind's memcheck, keys and plaintexts are marked undefined; memcheck then reports every branch
//! and every address that they decide. `checks/45-aead.sh` runs this test under it. Elsewhere the marks do
//! nothing and the test shows that the shapes work.

use core::arch::asm;

use super::*;

#[test]
fn secrets_steer_nothing() {
    for subject in Subject::all() {
        for &(lengths, aad) in SHAPES {
            let mut batch = Batch::new(lengths, aad);
            secret(&mut batch.key);
            for buffer in &mut batch.buffers {
                secret(buffer.as_mut_slice());
            }
            batch.run(subject, Direction::Seal);
            for (buffer, tag) in batch.buffers.iter_mut().zip(&mut batch.tags) {
                declassify(buffer.as_mut_slice());
                declassify(tag);
            }
            batch.tags[0].0[0] ^= u8::from(lengths.len() % 2 == 0);
            batch.run(subject, Direction::Open);
            for buffer in &mut batch.buffers {
                declassify(buffer.as_mut_slice());
                let text = if buffer.first() == Some(&0) { 0 } else { 0xff };
                assert!(buffer.iter().all(|&byte| byte == text));
            }
        }
    }
}

#[test]
fn secrets_steer_nothing_where_the_key_stream_was_made_ahead() {
    for kernel in Kernel::available() {
        let mut ahead = Ahead::new();
        for (length, forged) in [(0, 0), (9, 1), (41, 0), (265, 1), (1033, 0)] {
            let mut key = Key::new(&[0xa7; 32]);
            let mut buffer = vec![0xff; length];
            secret(&mut key);
            secret(buffer.as_mut_slice());
            ahead.prepare(kernel, &key, Nonce([5; 12]), length);
            let mut message = Message::plain(&key, Nonce([5; 12]), &[3; 4], &mut buffer);
            let sealed = ahead.seal(&mut message);
            assert_eq!(sealed, kernel != Kernel::Portable);
            let mut tag = message.tag;
            declassify(&mut tag);
            tag.0[0] ^= forged;
            ahead.prepare(kernel, &key, Nonce([5; 12]), length);
            declassify(buffer.as_mut_slice());
            let mut message = Message::sealed(&key, Nonce([5; 12]), &[3; 4], &mut buffer, tag);
            assert_eq!(ahead.open(&mut message), sealed);
            assert_eq!(message.outcome.is_err(), sealed && forged == 1);
        }
    }
}

/// The check itself must be able to fail: run under valgrind, this test makes it report an error.
#[test]
#[ignore = "fails on purpose, under valgrind only"]
fn a_branch_on_a_secret_is_reported() {
    let mut byte = 1_u8;
    secret(&mut byte);
    if core::hint::black_box(byte) == 1 {
        std::println!("branched");
    }
}

/// Tells whether memcheck is watching.
pub(in crate::kernel) fn watched() -> bool {
    // RUNNING_ON_VALGRIND
    request(0x1001, 0, 0) != 0
}

/// Returns `verdict` as a value that may steer.
pub(in crate::kernel) fn public(mut verdict: bool) -> bool {
    declassify(&mut verdict);
    verdict
}

fn secret<T: ?Sized>(value: &mut T) {
    // MAKE_MEM_UNDEFINED of the tool MC
    request(0x4d43_0001, core::ptr::from_mut(value).cast::<u8>() as usize, size_of_val(value));
}

fn declassify<T: ?Sized>(value: &mut T) {
    // MAKE_MEM_DEFINED of the tool MC
    request(0x4d43_0002, core::ptr::from_mut(value).cast::<u8>() as usize, size_of_val(value));
}

/// Valgrind's client request: an instruction sequence that does nothing elsewhere.
///
/// Source: valgrind.h, `VALGRIND_DO_CLIENT_REQUEST_EXPR` for amd64.
fn request(code: usize, address: usize, length: usize) -> usize {
    let arguments = [code, address, length, 0, 0, 0];
    let mut result = 0;
    if cfg!(miri) {
        return result;
    }
    // SAFETY: the rotations add up to 128, so rdi ends as it was; nothing else is written but rdx. Under
    // valgrind only its own record of what is defined changes.
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") arguments.as_ptr(), inout("rdx") result, options(nostack),
        );
    }
    result
}
