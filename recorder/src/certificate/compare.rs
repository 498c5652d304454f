//! How far a file is what its certificate says: whole, cut off, an excerpt, or changed.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

use schwann_xdf::{Proof, moved_pieces};

/// How a file stands to a certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Standing {
    /// It is the recording, bit by bit.
    Whole,
    /// It is the recording up to a place: so many bytes of it are proven.
    CutOff {
        /// Bytes from the beginning.
        proven: u64,
    },
    /// Parts of it are of the recording: from which byte of the file to which.
    Parts {
        /// What is proven.
        proven: Vec<(u64, u64)>,
        /// What is not, or is changed.
        changed: Vec<(u64, u64)>,
    },
}

/// Compares a file with the hashes of a recording. `progress` is told how many bytes were read.
///
/// - Errors: from the source.
pub fn compare<R: Read + Seek>(
    mut source: R,
    proof: &Proof,
    progress: impl FnMut(u64),
) -> io::Result<Standing> {
    source.seek(SeekFrom::Start(0))?;
    let found = Proof::of(&mut source, proof.pieces.iter().map(|piece| piece.bytes), progress)?;
    if found == *proof {
        return Ok(Standing::Whole);
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for (piece, known) in found.pieces.iter().zip(&proof.pieces) {
        parts.push((at, at + piece.bytes, piece == known));
        at += piece.bytes;
    }
    let whole = parts.iter().take_while(|(_, _, is_proven)| *is_proven).count();
    // Of a file that was cut off, the last piece is a part of one.
    if found.bytes < proof.bytes && whole > 0 && whole + 1 >= parts.len() {
        return Ok(Standing::CutOff { proven: parts.get(whole - 1).map_or(0, |(_, to, _)| *to) });
    }
    if parts.iter().skip(whole).all(|(_, _, is_proven)| !is_proven) {
        parts.extend(excerpt(&mut source, proof)?.into_iter().map(|(from, to)| (from, to, true)));
    }
    let mut proven: Vec<_> = parts.iter().filter(|part| part.2).map(|part| (part.0, part.1)).collect();
    proven.sort_unstable();
    Ok(Standing::Parts { changed: between(&proven, found.bytes), proven })
}

/// The parts of an excerpt that are of the recording. Each piece but the first begins with the checksum of the piece
/// before, which says where that was.
fn excerpt<R: Read + Seek>(source: &mut R, proof: &Proof) -> io::Result<Vec<(u64, u64)>> {
    let mut by_place = HashMap::new();
    let mut at = 0_u64;
    for piece in &proof.pieces {
        by_place.insert(at, piece);
        at = at.saturating_add(piece.bytes);
    }
    let mut proven = Vec::new();
    for (here, there) in moved_pieces(source)? {
        let Some(piece) = by_place.get(&there) else { continue };
        source.seek(SeekFrom::Start(here))?;
        let found = Proof::of((&mut *source).take(piece.bytes), [], |_| {})?;
        if found.pieces.first() == Some(*piece) {
            proven.push((here, here + piece.bytes));
        }
    }
    Ok(proven)
}

/// What lies between these stretches of a file.
fn between(stretches: &[(u64, u64)], bytes: u64) -> Vec<(u64, u64)> {
    let mut at = 0;
    let mut out = Vec::new();
    for (from, to) in stretches.iter().copied().chain([(bytes, bytes)]) {
        if from > at {
            out.push((at, from));
        }
        at = at.max(to);
    }
    out
}
