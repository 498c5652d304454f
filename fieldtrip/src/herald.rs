use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::wait::Wake;

/// Tells many readers, on a thread of its own, that their waits are over. So they cost a writer in this
/// process no more than one reader does.
///
/// The thread is started when there are several readers for the first time, and ends with its buffer.
#[derive(Debug, Default)]
pub(crate) struct Herald(OnceLock<Option<Sender<Wake>>>);

impl Herald {
    /// Has everybody told: a single reader at once, because the thread would have to wake up first; several by one of
    /// them that is awake, so that the writer wakes no thread at all, or by the thread.
    #[inline]
    pub(crate) fn announce(&self, wake: Wake) {
        if wake.is_for_many()
            && let Some(wake) = wake.hand_over()
        {
            self.pass_on(wake);
        }
    }

    fn pass_on(&self, wake: Wake) {
        if let Some(sender) = self.0.get_or_init(start) {
            // What cannot be passed on comes back as an error, and is told when that is dropped here.
            let _passed_on_or_told = sender.send(wake);
        }
    }
}

/// Without a thread, when the system has none left, the writer tells every reader.
fn start() -> Option<Sender<Wake>> {
    let (sender, receiver): (_, Receiver<Wake>) = channel();
    let tell_all = move || receiver.into_iter().for_each(drop);
    let thread = thread::Builder::new().name(String::from("fieldtrip-herald")).stack_size(STACK_BYTES);
    thread.spawn(tell_all).ok().map(|_running| sender)
}

/// Telling takes a few small frames.
const STACK_BYTES: usize = 128 << 10;
