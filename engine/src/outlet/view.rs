//! What a program tells the members of its lab of itself. Source: secure-session §11.

use core::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use schwann_proto::wire::view::View;

use super::Shared;
use crate::net::hearing::Ear;

/// An outlet of this program, for as long as it exists.
#[derive(Debug)]
pub(crate) struct Counted(());

impl Counted {
    /// Counts one more.
    pub(crate) fn new() -> Self {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The answer to a member; empty if this outlet has no keys.
pub(crate) fn encode(shared: &Shared) -> Vec<u8> {
    let mut answer = Vec::new();
    let Some(member) = &shared.terms.sealing else { return answer };
    let hearing = shared.advertisement.hearing();
    let view = View {
        version: env!("CARGO_PKG_VERSION"),
        policy: shared.terms.policy.word(),
        stream_count: COUNT.load(Ordering::Relaxed),
        wall_clock: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()),
        certificate_until: member.credentials().certificate().statement.not_after.0,
        revocation_number: member.revocation_number(),
        multicast: hearing.heard(Ear::Multicast),
        unicast: hearing.heard(Ear::Unicast),
        firewall: crate::firewall_manager().unwrap_or_default(),
    };
    // A vector takes whatever it is given.
    let _ = view.encode(&mut answer);
    answer
}

/// Outlets of this process.
static COUNT: AtomicU32 = AtomicU32::new(0);
