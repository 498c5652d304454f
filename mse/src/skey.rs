//! Info hashes, and finding the one a peer means among any number of them.

use core::fmt;
use core::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;

use crate::keys;

/// A torrent's info hash, which is also the shared key of its peers ("SKEY"). Every holder of the torrent has
/// it.
///
/// - Shape: the 20 bytes of a v1 hash, or the first 20 of a v2 hash. A hybrid torrent has one of each.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct InfoHash(pub [u8; 20]);

impl InfoHash {
    /// Parses 40 hexadecimal digits (v1) or 64 (v2, then cut); `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if !matches!(digits.len(), 40 | 64) || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut hash = [0; 20];
        for (byte, pair) in hash.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for InfoHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for InfoHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InfoHash({self})")
    }
}

/// Where a responder looks up which torrent a peer means.
pub trait Lookup {
    /// The info hash whose `HASH("req2" || info hash)` is `req2`.
    fn info_hash(&self, req2: &[u8; 20]) -> Option<InfoHash>;
}

/// Any number of info hashes, looked up in constant time.
#[derive(Clone, Debug, Default)]
pub struct SkeyIndex {
    by_req2: HashMap<[u8; 20], InfoHash, BuildHasherDefault<FirstBytes>>,
}

impl SkeyIndex {
    /// An index of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a torrent; for a hybrid, call it with both hashes.
    pub fn insert(&mut self, info_hash: InfoHash) {
        self.by_req2.insert(keys::req2(&info_hash), info_hash);
    }

    /// Removes a torrent; says whether it was there.
    pub fn remove(&mut self, info_hash: &InfoHash) -> bool {
        self.by_req2.remove(&keys::req2(info_hash)).is_some()
    }

    /// How many info hashes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_req2.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_req2.is_empty()
    }
}

impl Lookup for SkeyIndex {
    fn info_hash(&self, req2: &[u8; 20]) -> Option<InfoHash> {
        self.by_req2.get(req2).copied()
    }
}

impl Extend<InfoHash> for SkeyIndex {
    fn extend<I: IntoIterator<Item = InfoHash>>(&mut self, hashes: I) {
        hashes.into_iter().for_each(|hash| self.insert(hash));
    }
}

impl FromIterator<InfoHash> for SkeyIndex {
    fn from_iter<I: IntoIterator<Item = InfoHash>>(hashes: I) -> Self {
        let mut index = Self::new();
        index.extend(hashes);
        index
    }
}

/// One torrent is the smallest index.
impl Lookup for InfoHash {
    fn info_hash(&self, req2: &[u8; 20]) -> Option<InfoHash> {
        (keys::req2(self) == *req2).then_some(*self)
    }
}

impl<L: Lookup + ?Sized> Lookup for &L {
    fn info_hash(&self, req2: &[u8; 20]) -> Option<InfoHash> {
        (**self).info_hash(req2)
    }
}

// Small microcontrollers have no atomic counters, and so no `Arc`.
#[cfg(target_has_atomic = "ptr")]
impl<L: Lookup + ?Sized> Lookup for alloc::sync::Arc<L> {
    fn info_hash(&self, req2: &[u8; 20]) -> Option<InfoHash> {
        (**self).info_hash(req2)
    }
}

/// An index that changes while connections come in. A poisoned lock finds nothing.
#[cfg(feature = "std")]
impl<L: Lookup> Lookup for std::sync::RwLock<L> {
    fn info_hash(&self, req2: &[u8; 20]) -> Option<InfoHash> {
        self.read().ok()?.info_hash(req2)
    }
}

/// Keys are SHA-1 digests already, so their first bytes are hash enough. Only the owner of the
/// index inserts, so no attacker can crowd a bucket.
#[derive(Clone, Debug, Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    // Arrays announce their length; it is the same for all.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_of_a_hundred_thousand_torrents_is_found_and_no_other() {
        let hash = |n: u32| InfoHash(core::array::from_fn(|i| (n >> (8 * (i % 4))) as u8 ^ i as u8));
        let mut index: SkeyIndex = (0..100_000).map(hash).collect();
        assert_eq!(index.len(), 100_000);
        for n in (0..100_000).step_by(997) {
            assert_eq!(index.info_hash(&keys::req2(&hash(n))), Some(hash(n)));
        }
        assert_eq!(index.info_hash(&keys::req2(&hash(100_000))), None);
        assert!(index.remove(&hash(7)));
        assert_eq!(index.info_hash(&keys::req2(&hash(7))), None);
    }

    #[test]
    fn hashes_parse_from_both_versions_and_refuse_the_rest() {
        let v1 = "318701809435a1d626488cec5dd7adfaca6a3c10";
        let hash = InfoHash::parse(v1).expect("40 digits");
        assert_eq!(alloc::format!("{hash}"), v1);
        let v2 = alloc::format!("{v1}{}", "00".repeat(12));
        assert_eq!(InfoHash::parse(&v2), Some(hash));
        for bad in ["", "31", &v1[..39], "+18701809435a1d626488cec5dd7adfaca6a3c10", &v2[..63]] {
            assert_eq!(InfoHash::parse(bad), None, "{bad}");
        }
    }
}
