//! What sealing and opening must reach, as ratios to the best other library in the same run.

use super::measure::{DIRECTIONS, Figure};
use crate::record::Reading;

/// The goals of every engine among the figures of one size; none without other libraries to hold them against.
pub(super) fn goals(step: &str, size: usize, figures: &[Figure]) -> Vec<Reading> {
    let is_peer = |figure: &&Figure| !figure.name.starts_with(ENGINE) && figure.name != RING_AGAIN;
    let peers = || figures.iter().filter(is_peer);
    let best = [0, 1].map(|direction| peers().min_by(|a, b| a.ns[direction].total_cmp(&b.ns[direction])));
    let portable = peers().find(|figure| figure.name == RUSTCRYPTO_PORTABLE);
    let mut goals = Vec::new();
    for figure in figures {
        let Some((kernel, batch)) = engine(&figure.name) else { continue };
        for (direction, verb) in DIRECTIONS.into_iter().enumerate() {
            let (peer, whose, least) = match kernel {
                "portable" => (portable, "RustCrypto's portable code", 1.0),
                _ => (best[direction], "the best peer", at_least(kernel, size, batch)),
            };
            let Some(peer) = peer else { continue };
            let ratio = peer.ns[direction] / figure.ns[direction];
            // Half an interquartile range each.
            let spread = figure.spread + peer.spread;
            let name = format!("goal: {verb}, against {whose}");
            let reading = Reading::one(step, &figure.name, &name, "times", ratio);
            let reading = Reading { low: ratio * (1.0 - spread), high: ratio * (1.0 + spread), ..reading };
            goals.push(reading.limited(format!(">= {least}")));
        }
    }
    goals
}

/// The kernel and the batch in an engine's name.
fn engine(name: &str) -> Option<(&str, usize)> {
    let (kernel, batch) = name.strip_prefix(ENGINE)?.trim().split_once(" x")?;
    Some((kernel, batch.parse().ok()?))
}

/// What is demanded of a kernel for messages of a size in batches of so many.
fn at_least(kernel: &str, size: usize, batch: usize) -> f64 {
    let row = ROWS.iter().find(|row| row.size == size || (size > 16_384 && row.size == 16_384));
    let Some(row) = row else { return NEVER_BELOW };
    match (kernel, batch) {
        ("avx2", 8..) => row.avx2,
        ("avx512" | "avx512ifma", 16..) => row.avx512[0],
        ("avx512" | "avx512ifma", 8..) => row.avx512[1],
        ("avx512" | "avx512ifma", 4..) => row.avx512[2],
        ("avx512" | "avx512ifma", _) => row.avx512[3],
        _ => NEVER_BELOW,
    }
}

/// The goals of one size.
struct Row {
    size: usize,
    /// In batches of 16, 8, 4, and alone.
    avx512: [f64; 4],
    /// In batches of 8 and more.
    avx2: f64,
}

const ROWS: &[Row] = &[
    Row { size: 64, avx512: [4.0, 3.0, 2.0, 1.25], avx2: 2.4 },
    Row { size: 264, avx512: [2.3, 2.0, 1.5, 1.1], avx2: 1.3 },
    Row { size: 512, avx512: [2.2, 1.8, 1.5, 1.0], avx2: 1.35 },
    Row { size: 1024, avx512: [1.65, 1.4, 1.2, 1.0], avx2: 1.2 },
    Row { size: 4096, avx512: [1.2, 1.05, 1.0, 1.0], avx2: 1.0 },
    Row { size: 16_384, avx512: [1.0; 4], avx2: 1.0 },
];

/// Nothing may be slower than this, at any size and shape.
const NEVER_BELOW: f64 = 0.97;
/// What an engine's name begins with.
const ENGINE: &str = "schwann";
/// Ring a second time, which no engine is held against.
pub(super) const RING_AGAIN: &str = "ring, again";
/// RustCrypto's name where it was compiled without vector code.
pub(super) const RUSTCRYPTO_PORTABLE: &str = "rustcrypto portable";

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, seal: f64, open: f64) -> Figure {
        Figure { name: name.into(), ns: [seal, open], spread: 0.01, accepted: 6 }
    }

    fn met(figures: &[Figure]) -> Vec<(f64, Option<bool>)> {
        goals("64 B", 64, figures).iter().map(|goal| (goal.median, goal.met)).collect()
    }

    #[test]
    fn an_engine_is_held_against_the_best_peer_of_each_direction() {
        let figures = [
            figure("ring", 100.0, 130.0),
            figure("libsodium", 150.0, 110.0),
            figure("schwann avx2 x8", 40.0, 50.0),
            figure("schwann avx2 x1", 104.0, 100.0),
        ];
        let expected =
            [(2.5, Some(true)), (2.2, Some(false)), (100.0 / 104.0, Some(false)), (1.1, Some(true))];
        assert_eq!(met(&figures), expected);
    }

    #[test]
    fn without_peers_nothing_is_judged() {
        assert!(met(&[figure("schwann avx2 x8", 40.0, 50.0)]).is_empty());
    }

    #[test]
    fn the_portable_kernel_is_held_against_portable_code_only() {
        let ours = || figure("schwann portable x1", 90.0, 90.0);
        assert!(met(&[figure("rustcrypto", 80.0, 80.0), ours()]).is_empty());
        let judged = met(&[figure(RUSTCRYPTO_PORTABLE, 99.0, 81.0), ours()]);
        assert_eq!(judged, [(1.1, Some(true)), (0.9, Some(false))]);
    }
}
