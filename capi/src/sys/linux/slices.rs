//! Threads that wait for samples, and the scheduler of Linux.
//!
//! Since version 6.12 a thread tells it how long it wants to run at a time. A thread that asks for less than
//! another may take the processor from it when it is woken. One that asks for as much waits, often until the other
//! sleeps. How much of a processor a thread gets in all is not touched by this.

/// What the system knows of a thread (`sched_setattr(2)`, first version).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// For an ordinary thread: how long it runs at a time, in nanoseconds.
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl Scheduling {
    const LEN: u32 = size_of::<Self>() as u32;

    /// The settings of this thread, if the system tells.
    fn get() -> Option<Self> {
        let mut scheduling = Self::default();
        // SAFETY: the system writes no more than the size that it is told.
        let failed =
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut scheduling, Self::LEN, 0) } != 0;
        (!failed).then_some(scheduling)
    }

    fn set(self) {
        // SAFETY: the system only reads the attributes, and changes nothing of this thread's memory. A refusal
        // changes nothing at all.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const self, 0) };
    }
}

/// Asks for the shortest slices there are for this thread. Does nothing for a thread with another policy, or with
/// such slices already. An older system tells of no slices, and then it does nothing, too.
pub(crate) fn ask_for_short_slices() {
    let ordinary = |scheduling: &Scheduling| scheduling.policy == libc::SCHED_OTHER as u32;
    if let Some(scheduling) = Scheduling::get().filter(ordinary)
        && scheduling.runtime > SHORTEST_NS
    {
        Scheduling { runtime: SHORTEST_NS, ..scheduling }.set();
    }
}

/// The least that the system grants, in nanoseconds.
const SHORTEST_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn in_a_thread<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
        std::thread::spawn(body).join().expect("no panic")
    }

    #[test]
    fn an_ordinary_thread_gets_short_slices_and_keeps_all_else() {
        let [before, after] = in_a_thread(|| {
            let before = Scheduling::get();
            ask_for_short_slices();
            [before, Scheduling::get()]
        });
        // A system that knows no slices leaves them at zero.
        let slice = |now: Option<Scheduling>| now.map_or(0, |now| now.runtime);
        assert_eq!(slice(after), slice(before).min(SHORTEST_NS));
        let rest = |now: Option<Scheduling>| now.map(|now| Scheduling { runtime: 0, ..now });
        assert_eq!(rest(after), rest(before));
    }

    #[test]
    fn a_thread_of_another_class_is_left_alone() {
        let [before, after] = in_a_thread(|| {
            let own = Scheduling::get().unwrap_or_default();
            Scheduling { policy: libc::SCHED_BATCH as u32, ..own }.set();
            let before = Scheduling::get();
            ask_for_short_slices();
            [before, Scheduling::get()]
        });
        assert_eq!(after, before);
    }
}
