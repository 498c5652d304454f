//! What sealing and opening must reach, as ratios to the best other library in the same run.

use super::Figure;

/// One ratio and what it is held against.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Goal {
    /// Whose ratio.
    pub(crate) subject: String,
    /// What is compared with what.
    pub(crate) name: &'static str,
    /// How many times as fast as the other.
    pub(crate) ratio: f64,
    /// The least it must be.
    pub(crate) at_least: f64,
    /// By how much either side's samples spread, as shares summed: half an interquartile range each.
    pub(crate) spread: f64,
}

impl Goal {
    /// Says whether the ratio reaches its goal.
    pub(crate) fn is_met(&self) -> bool {
        self.ratio >= self.at_least
    }
}

/// The goals of every engine among the figures of one size; none without other libraries to hold them against.
pub(crate) fn goals(size: usize, figures: &[Figure]) -> Vec<Goal> {
    let peers =
        || figures.iter().filter(|figure| !figure.name.starts_with(ENGINE) && figure.name != RING_AGAIN);
    let best = |time: fn(&Figure) -> f64| peers().min_by(|a, b| time(a).total_cmp(&time(b)));
    let (Some(seal), Some(open)) = (best(|peer| peer.seal), best(|peer| peer.open)) else {
        return Vec::new();
    };
    let portable = peers().find(|figure| figure.name == RUSTCRYPTO_PORTABLE);
    let mut goals = Vec::new();
    for figure in figures {
        let Some((kernel, batch)) = engine(&figure.name) else { continue };
        let against = |name, ratio, at_least, peer: &Figure| Goal {
            subject: figure.name.clone(),
            name,
            ratio,
            at_least,
            spread: figure.spread + peer.spread,
        };
        if kernel == "portable" {
            goals.extend(portable.into_iter().flat_map(|peer| {
                let (seal, open) = (peer.seal / figure.seal, peer.open / figure.open);
                [
                    against("seal, against RustCrypto's portable code", seal, 1.0, peer),
                    against("open, against RustCrypto's portable code", open, 1.0, peer),
                ]
            }));
        } else {
            let least = at_least(kernel, size, batch);
            goals.push(against("seal, against the best peer", seal.seal / figure.seal, least, seal));
            goals.push(against("open, against the best peer", open.open / figure.open, least, open));
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

/// Nothing may be slower than this, whatever its size and shape.
const NEVER_BELOW: f64 = 0.97;

/// What an engine's name begins with.
const ENGINE: &str = "schwann";

/// Ring a second time, which no engine is held against.
pub(crate) const RING_AGAIN: &str = "ring, again";

/// RustCrypto's name where it was compiled without vector code.
pub(crate) const RUSTCRYPTO_PORTABLE: &str = "rustcrypto portable";

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, seal: f64, open: f64) -> Figure {
        Figure { name: name.into(), seal, open, spread: 0.01, accepted: (6, 6) }
    }

    #[test]
    fn an_engine_is_held_against_the_best_peer_of_each_direction() {
        let figures = [
            figure("ring", 100.0, 130.0),
            figure("libsodium", 150.0, 110.0),
            figure("schwann avx2 x8", 40.0, 50.0),
            figure("schwann avx2 x1", 104.0, 100.0),
        ];
        let goals = goals(64, &figures);
        let ratios: Vec<f64> = goals.iter().map(|goal| goal.ratio).collect();
        assert_eq!(ratios, [2.5, 2.2, 100.0 / 104.0, 1.1]);
        assert_eq!(goals.iter().map(Goal::is_met).collect::<Vec<_>>(), [true, false, false, true]);
    }

    #[test]
    fn without_peers_nothing_is_judged() {
        assert!(goals(64, &[figure("schwann avx2 x8", 40.0, 50.0)]).is_empty());
    }

    #[test]
    fn the_portable_kernel_is_held_against_portable_code_only() {
        let ours = figure("schwann portable x1", 90.0, 90.0);
        assert!(goals(64, &[figure("rustcrypto", 80.0, 80.0), ours.clone()]).is_empty());
        let judged = goals(64, &[figure(RUSTCRYPTO_PORTABLE, 99.0, 81.0), ours]);
        assert_eq!(judged.iter().map(Goal::is_met).collect::<Vec<_>>(), [true, false]);
    }
}
