//! Threads that help with long blocks.
//!
//! ```
//! use schwann_aead::parallel::{Strategy, Workers};
//! use schwann_aead::{ChunkSize, ChunkedSealer, Key, Tag};
//!
//! let mut workers = Workers::new(Strategy::Pool, 2);
//! let size = ChunkSize::new(512).ok_or("out of range")?;
//! let mut sealer = ChunkedSealer::new(Key::new(&[3; 32]), size);
//! let mut block = vec![0; 1 << 20];
//! let mut tags = vec![Tag([0; 16]); size.count(block.len())];
//! sealer.seal_parallel(&mut workers, &mut block, &mut tags)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The calling thread is one of the workers. The caller alone does a block that would be done before a
//! helper is awake. [`Workers::new`] measures where that limit is.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::kernel::Kernel;
use crate::kernel::crew::Crew;
use crate::{Key, Message, Nonce};

/// How helpers come by their work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// Threads that live as long as the workers and wait for work, at first awake, then asleep. Allocates
    /// nothing after the start.
    Pool,
    /// Threads that are started for every block. Keeps nothing between blocks, but starting costs more than
    /// sealing 100 KiB.
    Spawn,
}

/// Threads that share the tiles of a block.
pub struct Workers {
    helpers: Helpers,
    shortest: usize,
}

enum Helpers {
    Crew(Crew),
    Spawn { count: usize },
}

impl Workers {
    /// Starts `count` workers, the caller among them, and measures from which length on they pay.
    #[must_use]
    pub fn new(strategy: Strategy, count: usize) -> Self {
        let count = count.saturating_sub(1);
        let helpers = match strategy {
            Strategy::Pool => Helpers::Crew(Crew::new(count)),
            Strategy::Spawn => Helpers::Spawn { count },
        };
        let mut workers = Self { helpers, shortest: 0 };
        workers.shortest = if count == 0 { usize::MAX } else { workers.break_even() };
        workers
    }

    /// As many workers as the machine has processors, in the strategy that measured best.
    #[must_use]
    pub fn for_this_machine() -> Self {
        Self::new(Strategy::Pool, thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// Shortest block that is shared, in bytes.
    #[must_use]
    pub fn shortest(&self) -> usize {
        self.shortest
    }

    /// Calls `each` with every item and its index, on all workers at once if `bytes` are enough.
    pub(crate) fn for_each<T: Send>(
        &mut self,
        bytes: usize,
        items: impl Iterator<Item = T> + Send,
        each: impl Fn(usize, T) + Sync,
    ) {
        if bytes < self.shortest {
            items.enumerate().for_each(|(index, item)| each(index, item));
            return;
        }
        let items = Mutex::new(items.enumerate());
        self.run(&|| {
            loop {
                // A poisoned lock means that another worker panicked between two items. The caller
                // gets that panic, and the data here is whole.
                let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((index, item)) = next else { return };
                each(index, item);
            }
        });
    }

    /// Calls `work` once on every worker and waits for all.
    fn run(&mut self, work: &(dyn Fn() + Sync)) {
        match &mut self.helpers {
            Helpers::Crew(crew) => crew.run(work),
            Helpers::Spawn { count } => thread::scope(|scope| {
                for _ in 0..*count {
                    scope.spawn(work);
                }
                work();
            }),
        }
    }

    /// Length from which on half the sealing takes longer than calling and awaiting the helpers.
    fn break_even(&mut self) -> usize {
        // Helpers that have slept are the slow case, and the usual one.
        let call = median(|| {
            thread::sleep(Duration::from_micros(200));
            let start = Instant::now();
            self.run(&|| ());
            start.elapsed()
        });
        let mut bytes = std::vec![0; PROBE * 512];
        let key = Key::new(&[0; 32]);
        let seal = median(|| {
            let mut messages: std::vec::Vec<_> = bytes
                .chunks_mut(512)
                .map(|buffer| Message::plain(&key, Nonce([0; Nonce::LEN]), &[], buffer))
                .collect();
            let start = Instant::now();
            let sealed = Kernel::best().seal_batch(&mut messages);
            let time = start.elapsed();
            sealed.expect("512 bytes are not too long");
            time
        });
        let per_byte = seal.as_secs_f64() / (PROBE * 512) as f64;
        (2.0 * call.as_secs_f64() / per_byte) as usize
    }
}

/// The median of a few runs.
fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times = [Duration::ZERO; 9];
    for time in &mut times {
        *time = run();
    }
    times.sort();
    times[times.len() / 2]
}

/// Messages that the speed of sealing is measured with.
const PROBE: usize = 16;
