//! Comparison and choice in constant time.
//!
//! For secrets and tags: the time taken depends on lengths alone. It does not hide lengths.

use core::hint::black_box;

/// Tells whether `a` and `b` hold the same bytes, without telling where they differ.
///
/// Slices of different lengths are different; lengths are public.
#[must_use]
#[inline(never)]
pub fn eq(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut difference = 0;
    // The optimiser must not learn that a loop could stop at the first difference. What it must not see goes through
    // memory, which takes longer than the rest: so four bytes at a time.
    for (x, y) in a.iter().zip(b) {
        difference = black_box(difference | (u32::from_ne_bytes(*x) ^ u32::from_ne_bytes(*y)));
    }
    for (x, y) in a_rest.iter().zip(b_rest) {
        difference = black_box(difference | u32::from(x ^ y));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::eq;

    #[test]
    fn equal_means_same_length_and_same_bytes() {
        assert!(eq(b"", b""));
        assert!(eq(b"abc", b"abc"));
        assert!(!eq(b"abc", b"abd"));
        assert!(!eq(b"bbc", b"abc"));
        assert!(!eq(b"abc", b"ab"));
    }

    #[test]
    fn no_bit_escapes() {
        for length in 0..14 {
            let a = [0x5a; 14];
            let mut b = a;
            assert!(eq(&a[..length], &b[..length]));
            for bit in 0..8 * length {
                b[bit / 8] ^= 1 << (bit % 8);
                assert!(!eq(&a[..length], &b[..length]), "bit {bit} of {length} bytes");
                b[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
