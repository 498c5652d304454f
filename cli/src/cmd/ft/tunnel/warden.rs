//! Holds the sessions that run against the lab's newest list of revoked devices.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use schwann::security::{Member, Watcher};

use super::sealed::Sealed;

/// Ends the sessions of devices that are revoked, and hands newer lists on to the others.
///
/// Sessions are relayed by threads that wait for bytes, so one thread looks after all of them.
pub(super) struct Warden {
    member: Arc<Member>,
    sessions: Mutex<Vec<Weak<Sealed>>>,
    /// A newer list came into force since the last look.
    has_changed: Mutex<bool>,
    woken: Condvar,
}

impl Warden {
    /// Begins to look after sessions, for as long as the process runs.
    ///
    /// - Errors: there is no thread for it.
    pub(super) fn start(member: Arc<Member>) -> io::Result<Arc<Self>> {
        let (sessions, has_changed, woken) = (Mutex::default(), Mutex::default(), Condvar::new());
        let warden = Arc::new(Self { member, sessions, has_changed, woken });
        let watcher: Weak<dyn Watcher> = Arc::<Self>::downgrade(&warden);
        warden.member.watch(watcher);
        let running = Arc::clone(&warden);
        thread::Builder::new().name(String::from("tunnel-warden")).spawn(move || running.run())?;
        Ok(warden)
    }

    /// Looks after a session until it is dropped.
    pub(super) fn look_after(&self, session: &Arc<Sealed>) {
        self.sessions().push(Arc::downgrade(session));
        // A list may have come between the handshake and now.
        look_at(session);
    }

    fn run(&self) {
        loop {
            let changed = self.has_changed.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.woken.wait_timeout_while(changed, LOOK_EVERY, |changed| !*changed);
            *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
            self.member.look();
            self.living().iter().for_each(look_at);
        }
    }

    fn living(&self) -> Vec<Arc<Sealed>> {
        let mut sessions = self.sessions();
        sessions.retain(|session| session.strong_count() > 0);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Weak<Sealed>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Warden {
    fn lab_changed(&self) {
        *self.has_changed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.woken.notify_all();
    }
}

/// Does what the newest list asks for. Each session has a thread for it: a peer that does not read delays no other.
fn look_at(session: &Arc<Sealed>) {
    let act = if let Some(refusal) = session.peer().dismissal() {
        if !session.bar(refusal) {
            return;
        }
        Sealed::part
    } else if session.has_news() {
        Sealed::send_news
    } else {
        return;
    };
    let acting = Arc::clone(session);
    // Without a thread, what is barred stays barred, and news wait for the next look.
    let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || act(&acting));
}

/// Between two looks whether another program of this computer, such as `schwann keys revoke`, stored a list.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Sealing and sending needs little.
const STACK_BYTES: usize = 128 << 10;
