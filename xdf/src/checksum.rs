//! Checksums of a recording: its pieces, the tree over them, and the chunks in the file that keep them.
//!
//! A piece is a run of whole chunks. A checksum chunk follows it, with the piece's place and hash. That
//! chunk belongs to the next piece, so a flipped bit in it is found, too. To other readers it is a
//! boundary chunk. SigViewer's reader loses its place at an unknown tag, and every reader skips a
//! boundary by its length.
//!
//! Source: xdf §6.

use std::io::{self, Read, Seek, SeekFrom};

use sha2::{Digest as _, Sha256};

use crate::wire::{BOUNDARY, Tag, put_chunk};

/// A SHA-256.
pub type Hash = [u8; 32];

/// A run of whole chunks of a recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece {
    /// How many bytes it has.
    pub bytes: u64,
    /// SHA-256 over a zero byte and its bytes: a leaf of the tree.
    pub hash: Hash,
}

/// What a checksum chunk says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Checksum {
    /// Where the chunk begins in the file, which is where its piece ends.
    pub at: u64,
    /// Where its piece begins.
    pub from: u64,
    /// The hash of the piece.
    pub hash: Hash,
}

/// The hash of a recording and of its pieces.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Proof {
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: Hash,
    /// Its pieces, from the first byte to the last.
    pub pieces: Vec<Piece>,
}

/// Where a file is not what its checksums say.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Comparison {
    /// Whether there are checksums at all.
    pub has_checksums: bool,
    /// Changed pieces: from which byte to which.
    pub changed: Vec<(u64, u64)>,
    /// Bytes at the end that no checksum covers, beside the last checksum itself.
    pub uncovered: u64,
    /// SHA-256 of the file.
    pub sha256: Hash,
}

impl Comparison {
    /// Whether every byte is what the recorder wrote, as far as checksums without a signature can say.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.has_checksums && self.changed.is_empty() && self.uncovered == 0
    }
}

/// Hashes a recording while it is written.
#[derive(Clone, Debug)]
pub struct Ledger {
    whole: Sha256,
    piece: Sha256,
    from: u64,
    at: u64,
    pieces: Vec<Piece>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { whole: Sha256::new(), piece: leaf(), from: 0, at: 0, pieces: Vec::new() }
    }
}

impl Ledger {
    /// Takes in bytes that were written.
    pub fn take_in(&mut self, bytes: &[u8]) {
        self.whole.update(bytes);
        self.piece.update(bytes);
        self.at += bytes.len() as u64;
    }

    /// Whether the piece has its full length.
    #[must_use]
    pub const fn is_due(&self) -> bool {
        self.at - self.from >= PIECE_BYTES
    }

    /// Ends the piece, if it has a byte; returns the content of a checksum chunk at this
    /// place.
    pub fn end_piece(&mut self) -> Option<Checksum> {
        let bytes = self.at - self.from;
        if bytes == 0 {
            return None;
        }
        let hash = core::mem::replace(&mut self.piece, leaf()).finalize().into();
        self.pieces.push(Piece { bytes, hash });
        Some(Checksum { at: self.at, from: core::mem::replace(&mut self.from, self.at), hash })
    }

    /// Ends the file.
    #[must_use]
    pub fn finish(mut self) -> Proof {
        self.end_piece();
        Proof { bytes: self.at, sha256: self.whole.finalize().into(), pieces: self.pieces }
    }
}

impl Proof {
    /// The head of the tree over the pieces.
    #[must_use]
    pub fn head(&self) -> Hash {
        tree_head(&self.pieces)
    }

    /// Hashes a file in one pass, with pieces of these lengths; what is left is the last one.
    ///
    /// - Errors: from the source.
    pub fn of<R: Read>(
        mut source: R,
        lengths: impl IntoIterator<Item = u64>,
        mut progress: impl FnMut(u64),
    ) -> io::Result<Self> {
        let mut ledger = Ledger::default();
        let mut buffer = vec![0; READ_BYTES];
        for length in lengths.into_iter().chain([u64::MAX]) {
            let mut left = length;
            while left > 0 {
                let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                let count = source.read(buffer.get_mut(..want).unwrap_or_default())?;
                if count == 0 {
                    break;
                }
                ledger.take_in(buffer.get(..count).unwrap_or_default());
                left -= count as u64;
                progress(ledger.at);
            }
            ledger.end_piece();
        }
        Ok(ledger.finish())
    }
}

impl Checksum {
    /// The chunk's content before the mark of a boundary.
    const BODY: usize = 8 + 8 + 8 + 32;
    /// Bytes of the whole chunk.
    pub(crate) const CHUNK_BYTES: usize = 4 + Self::BODY + BOUNDARY.len();
    pub(crate) const NAME: [u8; 8] = *b"schwann\x01";

    /// Appends the chunk.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let mut content = Self::NAME.to_vec();
        content.extend(self.from.to_le_bytes());
        content.extend(self.at.to_le_bytes());
        content.extend(self.hash);
        content.extend(BOUNDARY);
        put_chunk(out, Tag::Boundary, None, &content);
    }

    /// Reads a whole chunk at `at`; none if it is no checksum of this place.
    pub(crate) fn parse_chunk(at: u64, chunk: &[u8]) -> Option<Self> {
        let parsed = Self::parse(at, chunk.get(4..)?)?;
        let mut whole = Vec::with_capacity(Self::CHUNK_BYTES);
        parsed.put(&mut whole);
        (whole == chunk).then_some(parsed)
    }

    /// Reads the content of a chunk at `at`; none if it is no checksum, or one of another place.
    pub(crate) fn parse(at: u64, content: &[u8]) -> Option<Self> {
        let rest = content.strip_prefix(&Self::NAME)?.strip_suffix(&BOUNDARY)?;
        let (from, rest) = rest.split_first_chunk()?;
        let (stated, hash) = rest.split_first_chunk()?;
        let from = u64::from_le_bytes(*from);
        (u64::from_le_bytes(*stated) == at && from <= at).then_some(Self {
            at,
            from,
            hash: hash.try_into().ok()?,
        })
    }
}

/// Compares a file with the checksum chunks that were found in it.
///
/// - Errors: from the source.
pub fn compare<R: Read + Seek>(
    mut source: R,
    checksums: &[Checksum],
    progress: impl FnMut(u64),
) -> io::Result<Comparison> {
    source.seek(SeekFrom::Start(0))?;
    // Each piece follows the one before. A piece out of line lacks its checksum, and counts as changed.
    let mut spans: Vec<(&Checksum, u64)> = Vec::new();
    for checksum in checksums {
        let from = spans.last().map_or(0, |(last, _)| last.at);
        if checksum.at > from {
            spans.push((checksum, from));
        }
    }
    let proof = Proof::of(source, spans.iter().map(|(checksum, from)| checksum.at - from), progress)?;
    let mut changed = Vec::new();
    for ((checksum, from), piece) in spans.iter().zip(&proof.pieces) {
        if checksum.from != *from || checksum.hash != piece.hash {
            changed.push((*from, checksum.at));
        }
    }
    let end = spans.last().map_or(0, |(checksum, _)| checksum.at + Checksum::CHUNK_BYTES as u64);
    let uncovered = proof.bytes.saturating_sub(end);
    Ok(Comparison { has_checksums: !spans.is_empty(), changed, uncovered, sha256: proof.sha256 })
}

/// The places in a file where pieces may begin, each with its place in the original recording. Every
/// piece but the first begins with the checksum of the piece before, even in an excerpt.
///
/// - Errors: from the source.
pub fn moved_pieces<R: Read + Seek>(source: &mut R) -> io::Result<Vec<(u64, u64)>> {
    source.seek(SeekFrom::Start(0))?;
    let head: Vec<u8> = [&[1, (Checksum::CHUNK_BYTES - 2) as u8, 5, 0][..], &Checksum::NAME].concat();
    let mut found = Vec::new();
    let (mut window, mut base) = (Vec::new(), 0);
    loop {
        let count = source.take(READ_BYTES as u64).read_to_end(&mut window)?;
        let places =
            window.windows(head.len() + 16).enumerate().filter(|(_, bytes)| bytes.starts_with(&head));
        for (place, bytes) in places {
            let there = bytes.get(head.len() + 8..).and_then(|rest| rest.first_chunk()).copied();
            found.push((base + place as u64, u64::from_le_bytes(there.unwrap_or_default())));
        }
        if count == 0 {
            return Ok(found);
        }
        // What may begin here and end in what is read next.
        let done = window.len().saturating_sub(head.len() + 15);
        window.drain(..done);
        base += done as u64;
    }
}

/// The head of a tree over these pieces. Source: RFC 9162 §2.1.1.
#[must_use]
pub fn tree_head(pieces: &[Piece]) -> Hash {
    match pieces {
        [] => Sha256::digest([]).into(),
        [only] => only.hash,
        many => {
            let (left, right) = many.split_at(many.len().next_power_of_two() / 2);
            let node =
                Sha256::new().chain_update([1]).chain_update(tree_head(left)).chain_update(tree_head(right));
            node.finalize().into()
        }
    }
}

/// The hash of one piece.
#[must_use]
pub fn piece_hash(bytes: &[u8]) -> Hash {
    leaf().chain_update(bytes).finalize().into()
}

fn leaf() -> Sha256 {
    Sha256::new().chain_update([0])
}

/// A piece has so many bytes, or ends with a boundary.
pub(crate) const PIECE_BYTES: u64 = 256 << 10;
const READ_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_that_of_the_standard() {
        // RFC 9162 §2.1.5 has no digests; these follow from its definition by hand for three leaves.
        let pieces: Vec<_> =
            [&b"a"[..], b"b", b"c"].map(|bytes| Piece { bytes: 1, hash: piece_hash(bytes) }).to_vec();
        let node = |left: Hash, right: Hash| -> Hash {
            Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
        };
        let [a, b, c] = [0, 1, 2].map(|place: usize| pieces[place].hash);
        assert_eq!(tree_head(&pieces), node(node(a, b), c));
        assert_eq!(tree_head(&pieces[..1]), a);
        assert_ne!(piece_hash(&[&a[..], &b].concat()), node(a, b), "a leaf is no node");
    }

    #[test]
    fn a_ledger_and_a_pass_over_the_file_agree() {
        let file: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut ledger = Ledger::default();
        for part in file.chunks(100_000) {
            ledger.take_in(part);
            if ledger.is_due() {
                ledger.end_piece();
            }
        }
        let proof = ledger.finish();
        let lengths = proof.pieces.iter().map(|piece| piece.bytes);
        assert_eq!(Proof::of(io::Cursor::new(&file), lengths, |_| {}).expect("memory"), proof);
        assert!(proof.pieces.len() == 10 && proof.bytes == 3_000_000, "{}", proof.pieces.len());
    }

    #[test]
    fn one_flipped_bit_anywhere_is_found() {
        let path = std::env::temp_dir().join(format!("schwann-flip-{}.xdf", std::process::id()));
        let writer = crate::Writer::create(&path, crate::Options::default()).expect("a file");
        let stream = writer
            .add_stream(
                "<info><channel_count>1</channel_count><nominal_srate>100</nominal_srate>\
                 <channel_format>int16</channel_format></info>",
            )
            .expect("a stream");
        stream.push(&[1.0, 1.01, 1.02], &[1_i16, 2, 3]).expect("room");
        stream.clock_offset(1.0, 0.5).expect("room");
        drop(stream);
        let proof = writer.finish().expect("a disk").proof;
        let whole = std::fs::read(&path).expect("a file");
        std::fs::remove_file(path).expect("it is there");
        let is_whole = |file: &[u8]| {
            let survey = crate::Reader::new(io::Cursor::new(file))
                .and_then(|reader| crate::Survey::read(reader, |_, _| {}));
            let compared = |survey: &crate::Survey| {
                compare(io::Cursor::new(file), &survey.checksums, |_| {}).expect("memory").is_whole()
            };
            survey.is_ok_and(|survey| survey.is_sound() && compared(&survey))
        };
        assert!(is_whole(&whole));
        assert_eq!((proof.bytes, proof.sha256), (whole.len() as u64, Sha256::digest(&whole).into()));
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_whole(&flipped), "bit {} of byte {} of {}", bit % 8, bit / 8, whole.len());
        }
        for len in 0..whole.len() {
            assert!(!is_whole(&whole[..len]), "cut at {len}");
        }
    }
}
