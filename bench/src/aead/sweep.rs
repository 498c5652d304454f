//! One 128 KiB block, whole and in chunks: what cutting it costs.

use schwann_aead::Kernel;

use super::{Contender, Engine, Figure, Plan, Probe, Restless, Workload, measure};

/// One contender's sweep.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Name of the contender.
    pub(crate) name: String,
    /// MB/s by size of chunk in bytes; the last is the whole block.
    pub(crate) speeds: Vec<(usize, f64)>,
    /// The whole block's speed of the best other library, in MB/s, if others were built in.
    pub(crate) best_peer: Option<f64>,
    /// Fixed cost of a call in nanoseconds, by a linear fit over the sizes.
    pub(crate) call_ns: f64,
    /// What a byte costs besides, in nanoseconds.
    pub(crate) byte_ns: f64,
}

impl Line {
    /// The contender's own speed on the whole block, in MB/s.
    pub(crate) fn peak(&self) -> f64 {
        self.speeds.last().map_or(f64::NAN, |&(_, speed)| speed)
    }
}

/// Measures the sweep: sealing one block, whole and in chunks.
///
/// # Errors
///
/// [`Restless`] if the machine does not let it.
pub(crate) fn lines(rounds: usize) -> Result<Vec<Line>, Restless> {
    let mut probe = Probe::new();
    let mut contenders = contenders();
    let columns: Vec<(usize, Vec<Figure>)> = SIZES
        .iter()
        .map(|&size| {
            let mut work = Workload::new((0..BLOCK / size).map(|_| size), 0);
            let figures = measure(&mut contenders, &mut work, Plan { rounds, passes: 8 }, &mut probe)?;
            Ok((size, figures))
        })
        .collect::<Result<_, Restless>>()?;
    let line = |index: usize| {
        let seal = |(size, figures): &(usize, Vec<Figure>)| (*size, figures[index].seal);
        let points: Vec<(f64, f64)> = columns.iter().map(seal).map(|(size, ns)| (size as f64, ns)).collect();
        let (call_ns, byte_ns) = fit(&points);
        let speeds = columns.iter().map(seal).map(|(size, ns)| (size, size as f64 * 1e3 / ns)).collect();
        Line { name: contenders[index].name(), speeds, best_peer: None, call_ns, byte_ns }
    };
    let mut lines: Vec<Line> = (0..contenders.len()).map(line).collect();
    let peers = lines.iter().filter(|line| !line.name.starts_with("schwann"));
    let best_peer = peers.map(Line::peak).fold(0.0, f64::max);
    lines.iter_mut().for_each(|line| line.best_peer = (best_peer > 0.0).then_some(best_peer));
    Ok(lines)
}

/// The peers, the widest kernel message by message, and by sixteen.
fn contenders() -> Vec<Box<dyn Contender>> {
    #[cfg(feature = "peers")]
    let mut contenders = super::peers();
    #[cfg(not(feature = "peers"))]
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    let engines =
        [1, 16, 256].map(|batch| Box::new(Engine::new(Kernel::best(), batch)) as Box<dyn Contender>);
    contenders.extend(engines);
    contenders
}

/// The line through the points, weighted so that every size counts by its share: intercept and slope.
fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    let weighted = points.iter().map(|&(x, y)| (1.0 / (x * x), x, y));
    let [w, wx, wy, wxx, wxy] = weighted.fold([0.0; 5], |sums, (w, x, y)| {
        [sums[0] + w, sums[1] + w * x, sums[2] + w * y, sums[3] + w * x * x, sums[4] + w * x * y]
    });
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    ((wy - slope * wx) / w, slope)
}

const BLOCK: usize = 131_072;
const SIZES: [usize; 9] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, BLOCK];

#[cfg(test)]
mod tests {
    #[test]
    fn the_fit_finds_a_line() {
        let points: Vec<(f64, f64)> =
            [512.0, 4096.0, 65_536.0].iter().map(|&x| (x, 20.0 + 0.2 * x)).collect();
        let (fixed, per_byte) = super::fit(&points);
        assert!((fixed - 20.0).abs() < 1e-6 && (per_byte - 0.2).abs() < 1e-9);
    }
}
