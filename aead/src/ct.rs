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
    let mut difference = 0;
    for (x, y) in a.iter().zip(b) {
        // The optimiser must not learn that the loop could stop at the first difference.
        difference = black_box(difference | (x ^ y));
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
}
