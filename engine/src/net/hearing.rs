//! Which queries an outlet has heard, and when: what its computer lets in shows in that.

use core::sync::atomic::{AtomicU64, Ordering};

use schwann_proto::wire::view::Heard;

use crate::local_clock;

/// The way by which a query came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ear {
    /// The port that all outlets of this computer share.
    Multicast,
    /// The outlet's own port.
    Unicast,
}

/// Counts queries, by the way by which they came.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    multicast: Tally,
    unicast: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    count: AtomicU64,
    /// When the latest came on the local clock, as bits.
    latest: AtomicU64,
}

impl Hearing {
    /// A query has come.
    pub(crate) fn note(&self, ear: Ear) {
        let tally = self.tally(ear);
        tally.latest.store(local_clock().to_bits(), Ordering::Relaxed);
        tally.count.fetch_add(1, Ordering::Relaxed);
    }

    /// What has come by one way.
    pub(crate) fn heard(&self, ear: Ear) -> Heard {
        let tally = self.tally(ear);
        let count = tally.count.load(Ordering::Relaxed);
        let age = local_clock() - f64::from_bits(tally.latest.load(Ordering::Relaxed));
        Heard { count, age: (count > 0).then_some(age.max(0.0)) }
    }

    fn tally(&self, ear: Ear) -> &Tally {
        match ear {
            Ear::Multicast => &self.multicast,
            Ear::Unicast => &self.unicast,
        }
    }
}
