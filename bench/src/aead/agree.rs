//! Whether all contenders make the same bytes, on random messages.

use super::{Contender, Workload};

/// Seals and opens random batches with every contender, until each has had `cases` messages.
///
/// Lengths are 0 to 70,000 bytes, most of them short; headers 0 to 300. Returns how many messages there
/// were.
///
/// # Errors
///
/// A sentence that names the contender and the lengths, if one disagrees with the first.
pub(crate) fn agree(contenders: &mut [Box<dyn Contender>], cases: usize, seed: u64) -> Result<usize, String> {
    let mut random = Random(seed | 1);
    let mut done = 0;
    while done < cases {
        let lengths = random.lengths();
        let aad = if random.below(2) == 0 { 0 } else { random.below(301) };
        done += lengths.len();
        let mut expected: Option<Vec<u8>> = None;
        for contender in &mut *contenders {
            let mut work = Workload::new(lengths.iter().copied(), aad);
            contender.seal(&mut work);
            let sealed = work.data.clone();
            if !contender.open(&mut work) || !work.is_plain() {
                return Err(format!("{} does not open its own {lengths:?}, header {aad}", contender.name()));
            }
            match &expected {
                None => expected = Some(sealed),
                Some(expected) if *expected == sealed => {}
                Some(_) => return Err(format!("{} differs on {lengths:?}, header {aad}", contender.name())),
            }
        }
        done += forge(contenders, &lengths, aad, &mut random)?;
    }
    Ok(done)
}

/// One flipped bit in each of a batch's texts or tags in turn: every contender must refuse.
fn forge(
    contenders: &mut [Box<dyn Contender>],
    lengths: &[usize],
    aad: usize,
    random: &mut Random,
) -> Result<usize, String> {
    let mut sealed = Workload::new(lengths.iter().copied(), aad);
    contenders[0].seal(&mut sealed);
    let bad = random.below(lengths.len());
    let place = sealed.places[bad].clone();
    let bit = place.start * 8 + random.below((place.len() + 16) * 8);
    for contender in contenders {
        let mut work = Workload::new(lengths.iter().copied(), aad);
        work.data.copy_from_slice(&sealed.data);
        work.data[bit / 8] ^= 1 << (bit % 8);
        if contender.open(&mut work) {
            return Err(format!("{} opens a forged message {bad} of {lengths:?}", contender.name()));
        }
    }
    Ok(lengths.len())
}

/// Marsaglia's xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize % bound
    }

    /// A batch: many short messages, now and then a few long ones.
    fn lengths(&mut self) -> Vec<usize> {
        let (count, longest) = match self.below(100) {
            0 => (1 + self.below(3), 70_000),
            1..10 => (1 + self.below(20), 2_500),
            10..40 => (1 + self.below(40), 600),
            _ => (1 + self.below(40), 130),
        };
        let equal = self.below(3) == 0;
        let first = self.below(longest + 1);
        (0..count).map(|_| if equal { first } else { self.below(longest + 1) }).collect()
    }
}
