//! What is done to one record.

use crate::wire::{HEADER_LEN, TAG_LEN};

/// A generator that can be repeated: xorshift64* (Vigna 2016).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }

    pub(crate) fn byte(&mut self) -> u8 {
        (self.next() >> 56) as u8
    }
}

/// What is done, and to whose record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Attack {
    BitFlipped,
    ConnectionCut,
    Dropped,
    HandshakeChanged,
    Lengthened,
    LengthRewritten,
    MadeUp,
    Reflected,
    Repeated,
    ReplayedFromEarlier,
    Shortened,
    SplicedFromAnotherSession,
    SwappedWithTheNext,
    TagChanged,
    TypeChanged,
    RequestFlipped,
    RequestHeaderRewritten,
    RequestMadeUp,
    RequestReplaced,
    RequestSplicedFromAnotherSession,
}

impl Attack {
    pub(crate) const ALL: [Self; 20] = [
        Self::BitFlipped,
        Self::ConnectionCut,
        Self::Dropped,
        Self::HandshakeChanged,
        Self::Lengthened,
        Self::LengthRewritten,
        Self::MadeUp,
        Self::Reflected,
        Self::Repeated,
        Self::ReplayedFromEarlier,
        Self::Shortened,
        Self::SplicedFromAnotherSession,
        Self::SwappedWithTheNext,
        Self::TagChanged,
        Self::TypeChanged,
        Self::RequestFlipped,
        Self::RequestHeaderRewritten,
        Self::RequestMadeUp,
        Self::RequestReplaced,
        Self::RequestSplicedFromAnotherSession,
    ];

    /// Whether it is the inlet's record that is attacked.
    pub(crate) fn is_on_the_request(self) -> bool {
        self as usize >= Self::RequestFlipped as usize
    }
}

/// What the attacker has besides the record itself.
pub(crate) struct Loot<'a> {
    /// Records of this direction that went before in this session.
    pub(crate) earlier: &'a [Vec<u8>],
    /// The record in its place in another session.
    pub(crate) elsewhere: &'a [u8],
    /// A record of the other direction.
    pub(crate) opposite: &'a [u8],
}

impl Loot<'_> {
    pub(crate) const NONE: Self = Self { earlier: &[], elsewhere: &[], opposite: &[] };
}

/// What goes on in the record's place. Some need no more than this: see `records::Lane`.
pub(crate) fn forged(attack: Attack, record: &[u8], loot: &Loot<'_>, random: &mut Random) -> Vec<u8> {
    let (mut wire, len) = (record.to_vec(), record.len());
    match attack {
        Attack::BitFlipped | Attack::RequestFlipped => flip(&mut wire, HEADER_LEN..len, random),
        Attack::ConnectionCut => wire.truncate(random.below(len)),
        Attack::Dropped | Attack::SwappedWithTheNext => wire.clear(),
        Attack::Lengthened => {
            wire.insert(random.below(len), random.byte());
            flood(&mut wire, random);
        }
        Attack::HandshakeChanged => {
            flip(&mut wire, 0..len, random);
            flood(&mut wire, random);
        }
        Attack::LengthRewritten => {
            flip(&mut wire, 1..HEADER_LEN, random);
            flood(&mut wire, random);
        }
        Attack::MadeUp | Attack::RequestMadeUp => {
            wire[HEADER_LEN..].iter_mut().for_each(|byte| *byte = random.byte());
        }
        Attack::Reflected | Attack::RequestReplaced => wire = loot.opposite.to_vec(),
        Attack::Repeated => wire.extend_from_within(..),
        Attack::ReplayedFromEarlier => wire.clone_from(&loot.earlier[random.below(loot.earlier.len())]),
        Attack::Shortened => {
            wire.remove(random.below(len));
            flood(&mut wire, random);
        }
        Attack::SplicedFromAnotherSession | Attack::RequestSplicedFromAnotherSession => {
            wire = loot.elsewhere.to_vec();
        }
        Attack::TagChanged => flip(&mut wire, len - TAG_LEN..len, random),
        Attack::TypeChanged => flip(&mut wire, 0..1, random),
        Attack::RequestHeaderRewritten => {
            flip(&mut wire, 0..HEADER_LEN, random);
            flood(&mut wire, random);
        }
    }
    wire
}

/// Changes one byte in `range`; often a single bit.
pub(crate) fn flip(wire: &mut [u8], range: core::ops::Range<usize>, random: &mut Random) {
    let place = range.start + random.below(range.len());
    let bits = if random.below(2) == 0 { 1 << random.below(8) } else { 1 + random.below(255) as u8 };
    wire[place] ^= bits;
}

fn flood(wire: &mut Vec<u8>, random: &mut Random) {
    wire.extend((0..FLOOD_LEN / 8).flat_map(|_| random.next().to_le_bytes()));
}

/// Made-up bytes behind a record that pretends to be longer: as many as the longest may have, and some.
const FLOOD_LEN: usize = 17_000;
