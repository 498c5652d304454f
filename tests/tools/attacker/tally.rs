//! What was tried, and what came of it.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Mutex;
use std::time::Instant;

use crate::stage::Process;

/// Counts of attacks by kind, shared by the attacker's threads.
pub(crate) struct Tally {
    what: &'static str,
    names: Vec<String>,
    refused: Vec<AtomicU64>,
    breaches: Mutex<Vec<String>>,
    since: Instant,
}

impl Tally {
    pub(crate) fn new(what: &'static str, names: Vec<String>) -> Self {
        let refused = names.iter().map(|_| AtomicU64::new(0)).collect();
        Self { what, names, refused, breaches: Mutex::default(), since: Instant::now() }
    }

    /// Notes attacks of a kind that were refused.
    pub(crate) fn refused(&self, kind: usize, count: u64) {
        self.refused[kind].fetch_add(count, Ordering::Relaxed);
    }

    /// Notes what must not happen.
    pub(crate) fn breach(&self, what: String) {
        self.breaches.lock().expect("no panic").push(what);
    }

    /// Attacks that were refused so far.
    pub(crate) fn total(&self) -> u64 {
        self.refused.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Whether nothing happened that must not.
    pub(crate) fn is_clean(&self) -> bool {
        self.breaches.lock().expect("no panic").is_empty()
    }

    /// Prints all counts.
    pub(crate) fn print(&self) {
        for (name, count) in self.names.iter().zip(&self.refused) {
            println!("{:9} {name}", count.load(Ordering::Relaxed));
        }
        let breaches = self.breaches.lock().expect("no panic");
        breaches.iter().take(PRINTED).for_each(|breach| println!("BREACH: {breach}"));
        let (total, seconds) = (self.total(), self.since.elapsed().as_secs_f64());
        let what = self.what;
        println!("{total} {what} refused in {seconds:.0} s; {} not refused", breaches.len());
    }
}

/// Looks after the ends while they are attacked.
pub(crate) struct Watch<'a> {
    tally: &'a Tally,
    ends: Vec<(&'static str, &'a Process)>,
    /// Resident memory when a tenth was done, in KiB.
    early: Option<Vec<u64>>,
    told: Instant,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(tally: &'a Tally, ends: Vec<(&'static str, &'a Process)>) -> Self {
        Self { tally, ends, early: None, told: Instant::now() }
    }

    /// Looks at the processes, and tells now and then how far it is, of `goal` attacks.
    pub(crate) fn look(&mut self, goal: u64) {
        if self.early.is_none() && self.tally.total() >= goal / 10 {
            self.early = self.memory();
        }
        if self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            eprintln!("{} of {goal} {}; memory {:?} KiB", self.tally.total(), self.tally.what, self.memory());
        }
    }

    /// Compares their memory with what it was when a tenth was done.
    pub(crate) fn end(&self) {
        let Some(now) = self.memory() else {
            return self.tally.breach(String::from("one of the processes died"));
        };
        let early = self.early.as_ref().unwrap_or(&now);
        for (((name, _), early), now) in self.ends.iter().zip(early).zip(&now) {
            println!("memory of the {name}: {early} KiB after a tenth, {now} KiB at the end");
            if *now > early + GROWTH_KIB {
                self.tally.breach(format!("the {name}'s memory grew"));
            }
        }
    }

    fn memory(&self) -> Option<Vec<u64>> {
        self.ends.iter().map(|(_, process)| process.resident_kib()).collect()
    }
}

/// Growth of a process's memory that is permitted, in KiB: an allocator's habits, not a byte per attack.
const GROWTH_KIB: u64 = 8 * 1024;
/// Time between two lines about how far it is.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// Breaches that are printed.
const PRINTED: usize = 10;
