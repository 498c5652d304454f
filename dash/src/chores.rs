//! Work for one page that takes longer than a frame: in threads beside the one that serves the page.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::{
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use serde_json::Value;

/// What is being worked on for a page, and what came of it.
#[derive(Debug)]
pub(super) struct Chores {
    done: Sender<Value>,
    answers: Receiver<Value>,
    running: [Arc<AtomicUsize>; 3],
}

/// Which work it is; each has a limit of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Chore {
    /// Spectra of a view.
    Analysis,
    /// An order to the recorder.
    Order,
    /// How good the channels of all views are.
    Quality,
}

/// Another one of these is at work still.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Busy;

impl Chores {
    /// Begins without work.
    pub(super) fn new() -> Self {
        let (done, answers) = channel();
        Self { done, answers, running: Default::default() }
    }

    /// Does a chore, whose answers [`answer`](Self::answer) gives later.
    ///
    /// - Errors: [`Busy`], also if the system refuses a thread.
    pub(super) fn begin(
        &self,
        chore: Chore,
        work: impl FnOnce() -> Vec<Value> + Send + 'static,
    ) -> Result<(), Busy> {
        let [analyses, orders, qualities] = &self.running;
        let (running, most) = match chore {
            Chore::Analysis => (analyses, 1),
            Chore::Order => (orders, MOST_ORDERS),
            Chore::Quality => (qualities, 1),
        };
        // Only this thread begins chores, so that none comes between the question and the answer.
        if running.load(Ordering::Acquire) >= most {
            return Err(Busy);
        }
        let place = Running::take(running);
        let done = self.done.clone();
        let run = move || {
            // Who has closed the page hears no answer.
            work().into_iter().for_each(|answer| _ = done.send(answer));
            drop(place);
        };
        thread::Builder::new().name("dash-chore".to_owned()).spawn(run).map(drop).map_err(|_| Busy)
    }

    /// The next answer that has not been given yet.
    pub(super) fn answer(&self) -> Option<Value> {
        self.answers.try_recv().ok()
    }
}

/// Counts as one running chore for as long as it lives, also if the work panics or never begins.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn take(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Orders of one page that wait for each other.
const MOST_ORDERS: usize = 8;

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use serde_json::json;

    use super::*;

    fn next(chores: &Chores) -> Value {
        chores.answers.recv().expect("the sender lives in the chores")
    }

    #[test]
    fn an_answer_comes_while_another_chore_is_at_work() {
        let (chores, gate) = (Chores::new(), Arc::new(Barrier::new(2)));
        let held = Arc::clone(&gate);
        let slow = move || {
            held.wait();
            vec![json!("slow")]
        };
        assert_eq!(chores.begin(Chore::Analysis, slow), Ok(()));
        assert_eq!(chores.begin(Chore::Analysis, Vec::new), Err(Busy), "one at a time");
        assert_eq!(chores.begin(Chore::Order, || vec![json!("quick")]), Ok(()));
        assert_eq!(next(&chores), json!("quick"));
        gate.wait();
        assert_eq!(next(&chores), json!("slow"));
    }

    #[test]
    fn a_chore_that_fails_gives_its_place_back() {
        let chores = Chores::new();
        assert_eq!(chores.begin(Chore::Quality, || panic!("as a test")), Ok(()));
        while chores.running[2].load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        assert_eq!(chores.begin(Chore::Quality, || vec![json!(1)]), Ok(()));
        assert_eq!(next(&chores), json!(1));
    }
}
