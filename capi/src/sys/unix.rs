//! Linux, macOS and the BSDs.

/// Lets handles know, from the first one on, when they come into another process by a fork.
pub(super) fn prepare_process() {
    #[cfg(target_os = "linux")]
    super::linux::prepare_process();
    note_forks();
}

fn note_forks() {
    extern "C" fn in_child() {
        schwann::note_fork();
    }
    // SAFETY: the handler lives as long as the library, and does nothing that a fork's child must not do. If
    // the system has no memory for it, inherited handles are recognised when they are destroyed at the latest.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}
