//! The messages of docs/spec/vectors/relay.json, for tests that read bytes and check no signature: miri runs these.

/// The message of that name.
pub(crate) fn message(name: &str) -> Vec<u8> {
    let file = include_str!("../../docs/spec/vectors/relay.json");
    let start = format!("  \"{name}\": \"");
    let digits = file.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
    let digits = digits.trim_end_matches([',', '"']);
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks_exact(2).map(byte).collect()
}

/// All that `bytes` begins with, and that is shorter; under miri some of it.
pub(crate) fn cut(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let step = if cfg!(miri) { 97 } else { 1 };
    (0..bytes.len()).step_by(step).map(|end| bytes.get(..end).unwrap())
}
