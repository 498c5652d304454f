//! The door of buffers with sealed data: other users of this computer stay out unless the person lets them in.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use schwann_fieldtrip::Address;
use schwann_fieldtrip::door::{self, Stranger};

use crate::exit::Problem;

/// The programs that a command admits.
#[derive(clap::Args, Debug)]
pub(super) struct Company {
    /// Also admit programs of other users, and of other computers if they reach ADDRESS.
    #[arg(long)]
    others: bool,
}

impl Company {
    /// The door to put in front of sealed data at an address; none if others are let in.
    ///
    /// - Errors: it would admit no program, because this system does not tell whose program
    ///   connects.
    pub(super) fn door(&self, address: &Address) -> Result<Option<Arc<Door>>, Problem> {
        match (self.others, address) {
            (true, _) => Ok(None),
            (false, Address::Tcp { .. }) if !door::TELLS_USERS => Err(Problem::with(
                address,
                "it would refuse every program: the buffer is for your own programs, and this system does not tell which user \
                 connects; start it with --others, which admits every user of this computer",
            )),
            (false, _) => Ok(Some(Arc::default())),
        }
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
