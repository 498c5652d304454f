//! The door of buffers with sealed data: other users of this computer stay out unless the person lets them in.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use schwann_fieldtrip::door::{self, Stranger};

/// Whom a command lets in.
#[derive(clap::Args, Debug)]
pub(super) struct Company {
    /// Let programs of other users in, too, and those of other computers if ADDRESS is one that they reach.
    #[arg(long)]
    others: bool,
}

impl Company {
    /// The door to put in front of sealed data; none if others are let in.
    pub(super) fn door(&self) -> Option<Arc<Door>> {
        (!self.others).then(Arc::default)
    }
}

/// Tells the person who is kept out; the same once in a while, as programs try again and again.
#[derive(Debug, Default)]
pub(super) struct Door(Mutex<Option<(Stranger, Instant)>>);

impl door::Door for Door {
    fn turned_away(&self, stranger: Stranger) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some_and(|(who, at)| who == stranger && at.elapsed() < SILENCE) {
            return;
        }
        *told = Some((stranger, Instant::now()));
        eprintln!(
            "schwann: turned away: {stranger}; this buffer is sealed data, for your own programs alone; to let all \
             others in, start it with --others"
        );
    }
}

/// Before the same is told again.
const SILENCE: Duration = Duration::from_secs(10);
