//! Batches whose messages differ in length, against batches of equal ones.

use schwann_aead::Kernel;

use super::{Contender, Engine, Plan, Probe, Restless, Workload, measure};

/// How fast mixed lengths are, as a share of the speed of equal ones with as many bytes and no header.
#[derive(Clone, Debug)]
pub(crate) struct Mixed {
    /// Name of the engine.
    pub(crate) subject: String,
    /// Bytes of header per message.
    pub(crate) aad: usize,
    /// Shares of sealing, a round each, in ascending order.
    pub(crate) seal: Vec<f64>,
    /// Shares of opening, a round each, in ascending order.
    pub(crate) open: Vec<f64>,
}

impl Mixed {
    /// Says whether this is what the goal is for, and was measured well enough.
    pub(crate) fn is_judged(&self) -> bool {
        self.aad > 0 && self.seal.len() >= FEWEST
    }
}

/// Fewer undisturbed rounds are not judged.
const FEWEST: usize = 3;

/// The least that mixed lengths with a header must reach.
pub(crate) const AT_LEAST: f64 = 0.85;

/// 192 lengths from 64 to 1,500 bytes, in no order; any 16 of them differ.
pub(crate) fn lengths() -> Vec<usize> {
    (0..192).map(|i| 64 + i * 911 % 1437).collect()
}

/// Measures a kernel in batches of 16, without and with a header of 13 bytes; equal and mixed lengths take turns.
///
/// # Errors
///
/// [`Restless`] if the machine does not let it.
pub(crate) fn shares(kernel: Kernel, rounds: usize) -> Result<Vec<Mixed>, Restless> {
    let mut engines: Vec<Box<dyn Contender>> = vec![Box::new(Engine::new(kernel, 16))];
    let subject = engines[0].name();
    let lengths = lengths();
    let mean = lengths.iter().sum::<usize>() / lengths.len();
    let mut equal = Workload::new(lengths.iter().map(|_| mean), 0);
    let mut mixed = [0, 13].map(|aad| Workload::new(lengths.iter().copied(), aad));
    let mut shares = [0, 13].map(|aad| Mixed { subject: subject.clone(), aad, seal: vec![], open: vec![] });
    let mut probe = Probe::new();
    let plan = Plan { rounds: 1, passes: 8 };
    for _ in 0..rounds {
        let Ok(base) = measure(&mut engines, &mut equal, plan, &mut probe) else { continue };
        for (share, work) in shares.iter_mut().zip(&mut mixed) {
            let Ok(figure) = measure(&mut engines, work, plan, &mut probe) else { continue };
            let bytes = work.bytes() as f64 / equal.bytes() as f64;
            share.seal.push(bytes * base[0].seal / figure[0].seal);
            share.open.push(bytes * base[0].open / figure[0].open);
        }
    }
    for share in &mut shares {
        if share.seal.is_empty() {
            return Err(Restless { subject: format!("{subject} with mixed lengths"), accepted: (0, rounds) });
        }
        share.seal.sort_by(f64::total_cmp);
        share.open.sort_by(f64::total_cmp);
    }
    Ok(shares.into())
}
