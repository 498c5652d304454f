//! Linux.

mod fork;
mod slices;

/// Lets handles know when they come into another process, and threads run soon once they are woken.
pub(super) fn prepare_process() {
    fork::word_for_this_process().into_iter().for_each(schwann::number_processes);
    schwann::before_first_wait(slices::ask_for_short_slices);
}
