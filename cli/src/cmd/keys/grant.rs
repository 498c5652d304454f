//! What a certificate grants, and for how long.

use schwann_session::{Flags, LabId, PublicKey, Roles, Statement, UnixSeconds};

use super::authority::Granted;
use super::{device_name, now};
use crate::exit::Problem;

/// What a certificate grants.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Grant {
    /// Days that the certificate is valid.
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=MOST_DAYS))]
    days: u64,
    /// The device may only offer streams.
    #[arg(long, conflicts_with = "subscribe_only")]
    publish_only: bool,
    /// The device may only receive streams.
    #[arg(long)]
    subscribe_only: bool,
    /// Certify the device's key although it was revoked.
    #[arg(long)]
    again: bool,
}

impl Grant {
    /// The same as its authority takes it; `yes` to what it would ask.
    pub(super) fn granted(self, yes: bool) -> Granted {
        let roles = match (self.publish_only, self.subscribe_only) {
            (true, _) => Roles::PUBLISH,
            (_, true) => Roles::SUBSCRIBE,
            _ => Roles::BOTH,
        };
        Granted { days: self.days, roles, again: self.again, yes }
    }
}

/// What the lab's key signs for a device. The authority enters its lab.
pub(super) fn statement(
    device: PublicKey,
    name: &str,
    serial: u64,
    days: u64,
    roles: Roles,
) -> Result<Statement, Problem> {
    Ok(Statement {
        device,
        flags: Flags::default(),
        lab: LabId([0; 16]),
        name: device_name(name)?,
        not_after: UnixSeconds(now().0 + days * DAY),
        // A clock that is a little behind must not refuse a new certificate.
        not_before: UnixSeconds(now().0 - DAY),
        roles,
        serial,
    })
}

/// Days that a certificate may be valid at most: a century.
pub(super) const MOST_DAYS: u64 = 36_500;
pub(super) const DAY: u64 = 86_400;
