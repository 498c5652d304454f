//! The window over the counters of datagrams, which refuses repeats.
//!
//! ```text
//!                  next - 1024                    next
//!   too old to tell     │ came, or may still come   │ new: moves the window
//!   ────────────────────┴───────────────────────────┴──────────────────────►  counter
//! ```
//!
//! It does not know which datagrams are genuine: mark only those that verified.
//!
//! - Source: secure-session §5; RFC 3711 §3.3.2.

/// Which of the last counters have come: bit `c % 1024` stands for counter `c`.
pub(super) struct Window {
    /// One above the highest counter that came.
    next: u64,
    seen: [u64; WORDS],
}

impl Default for Window {
    fn default() -> Self {
        Self { next: 0, seen: [0; WORDS] }
    }
}

impl Window {
    /// Tells whether `counter` is new and not too old to know.
    pub(super) fn permits(&self, counter: u64) -> bool {
        if counter >= self.next {
            return true;
        }
        let (word, bit) = place(counter);
        self.next - counter <= WINDOW && self.seen.get(word).is_some_and(|seen| seen & bit == 0)
    }

    /// Notes that `counter` came; forgets the oldest counters, which it pushes out.
    pub(super) fn mark(&mut self, counter: u64) {
        if counter >= self.next {
            let pushed = (counter - self.next).saturating_add(1);
            if pushed >= WINDOW {
                self.seen = [0; WORDS];
            } else {
                (self.next..=counter).for_each(|fresh| self.write(fresh, false));
            }
            self.next = counter.saturating_add(1);
        }
        self.write(counter, true);
    }

    fn write(&mut self, counter: u64, seen: bool) {
        let (word, bit) = place(counter);
        if let Some(word) = self.seen.get_mut(word) {
            *word = if seen { *word | bit } else { *word & !bit };
        }
    }
}

fn place(counter: u64) -> (usize, u64) {
    let index = counter % WINDOW;
    (usize::try_from(index / 64).unwrap_or(0), 1 << (index % 64))
}

/// How many counters back a late datagram may lie.
const WINDOW: u64 = 1024;
const WORDS: usize = 16;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_window_agrees_with_a_list_of_all_that_came() {
        let (mut window, mut came) = (Window::default(), BTreeSet::new());
        let mut random = 1_u64;
        for _ in 0..100_000 {
            // The generator of Knuth's MMIX.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let highest = came.last().copied().unwrap_or(0_u64);
            // Up to 1,100 back, mostly at most 40 ahead, and sometimes beyond all that the window holds.
            let reach = if random >> 58 == 0 { 4_000 } else { 1_140 };
            let counter = (highest + (random >> 33) % reach).saturating_sub(1_100);
            let is_new = !came.contains(&counter) && counter + WINDOW > highest;
            assert_eq!(window.permits(counter), is_new, "{counter} after {highest}");
            if is_new {
                window.mark(counter);
                came.insert(counter);
            }
        }
    }
}
