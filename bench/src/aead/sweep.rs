//! One 128 KiB block, whole and in chunks: what cutting it costs.

use schwann_aead::Kernel;

use super::{Contender, Engine, Figure, Plan, Probe, Workload, measure};

/// Measures and prints the sweep: MB/s, share of the own and of the best peer's speed on the whole block,
/// and the fixed cost of a call by a linear fit over the chunk sizes.
pub fn print() {
    let mut probe = Probe::new();
    let mut contenders = contenders();
    let columns: Vec<(usize, Vec<Figure>)> = SIZES
        .iter()
        .map(|&size| {
            let mut work = Workload::new((0..BLOCK / size).map(|_| size), 0);
            (size, measure(&mut contenders, &mut work, Plan { rounds: 9, passes: 8 }, &mut probe))
        })
        .collect();
    let whole = &columns.last().expect("the whole block is the last size").1;
    let peak = |figure: &Figure| BLOCK as f64 * 1e3 / figure.seal;
    let best_peer =
        whole.iter().filter(|figure| !figure.name.starts_with("schwann")).map(peak).fold(0.0, f64::max);
    println!("MB/s sealing {BLOCK} B in chunks (% of own whole block / % of best peer's whole block)");
    for (index, peak_figure) in whole.iter().enumerate() {
        print!("{:24}", peak_figure.name);
        for (size, figures) in &columns {
            let speed = *size as f64 * 1e3 / figures[index].seal;
            print!(
                " {size}: {speed:.0} ({:.0}/{:.0})",
                100.0 * speed / peak(peak_figure),
                100.0 * speed / best_peer
            );
        }
        let points: Vec<(f64, f64)> =
            columns.iter().map(|(size, figures)| (*size as f64, figures[index].seal)).collect();
        let (fixed, per_byte) = fit(&points);
        println!("  call {fixed:.0} ns + {per_byte:.4} ns/B");
    }
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
