//! Finds the stream that an inlet lost among the found ones. lsl-wire §18.

/// What an inlet does with the outcome of a recovery search.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Recovery<T> {
    /// Several streams fit and none is the one we had: warn, and search again rather than guess.
    Ambiguous,
    /// Nothing was found: search again.
    NotFound,
    /// Connect to this stream from now on.
    Replace(T),
    /// The stream is still there: try to connect to it again.
    Unchanged,
}

impl<T> Recovery<T> {
    /// Decides, given the UID in use, whether its address is known, and the streams found with their UIDs.
    ///
    /// An inlet made from an outlet's own description knows the UID but no address. Then it needs the
    /// very same stream. (The original concludes "unchanged" and never connects.)
    pub fn decide<U: AsRef<str>>(
        current_uid: &str,
        address_known: bool,
        found: impl IntoIterator<Item = (U, T)>,
    ) -> Self {
        let mut only = None;
        let mut count = 0usize;
        for (uid, stream) in found {
            if uid.as_ref() == current_uid {
                return if address_known { Self::Unchanged } else { Self::Replace(stream) };
            }
            count += 1;
            only = Some(stream);
        }
        match only {
            None => Self::NotFound,
            Some(stream) if count == 1 => Self::Replace(stream),
            Some(_) => Self::Ambiguous,
        }
    }
}

/// Returns the shortest duration of a recovery search, in seconds; `round` counts from 0.
pub const fn recovery_search_time(round: usize) -> f64 {
    if round == 0 { 1.0 } else { 5.0 }
}

#[cfg(test)]
mod tests {
    use super::Recovery;

    #[test]
    fn the_right_stream_is_chosen_and_none_at_random() {
        let decide = |address_known, found: &[(&'static str, u8)]| {
            Recovery::decide("us", address_known, found.iter().copied())
        };
        assert_eq!(decide(true, &[]), Recovery::NotFound);
        assert_eq!(decide(true, &[("us", 1)]), Recovery::Unchanged);
        assert_eq!(decide(true, &[("other", 0), ("us", 1)]), Recovery::Unchanged);
        assert_eq!(decide(true, &[("other", 7)]), Recovery::Replace(7));
        assert_eq!(decide(true, &[("other", 7), ("third", 8)]), Recovery::Ambiguous);
        assert_eq!(decide(false, &[("other", 7), ("us", 1)]), Recovery::Replace(1));
    }
}
