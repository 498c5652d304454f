//! The node's identity, its peers, and what it needs from outside for that.

use schwann_session::{
    Calendar, ClassicSuite, Context, Credentials, Entropy, Lab, RevocationList, discovery::DiscoveryKey,
    provision::Keys,
};

use crate::time::Micros;

/// A device's membership in a lab, as its key store holds it.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    /// What the device proves itself with. Limit its records to what the links' memory holds
    /// ([`Credentials::limit_records`]).
    pub credentials: &'a Credentials,
    /// The lab.
    pub lab: &'a Lab,
    /// The revoked devices.
    pub revoked: RevocationList<&'a [u8]>,
    /// The lab's discovery key.
    pub discovery: &'a DiscoveryKey,
    /// The searchers that find a node that requires sealing.
    pub visible: Visible,
}

impl<'a> Member<'a> {
    /// The membership that a device's keys make, found by members alone.
    #[must_use]
    pub fn of(keys: &'a Keys<'_>) -> Self {
        let Keys { lab, credentials, revoked, discovery } = keys;
        Self { credentials, lab, revoked: *revoked, discovery, visible: Visible::Members }
    }
}

/// The searchers that find a node that requires sealing. Samples and full descriptions go to members alone
/// in either case.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Visible {
    /// Also searchers in the clear: for programs that cannot seal their queries.
    Everybody,
    /// Members of the lab.
    #[default]
    Members,
}

/// What may go in the clear.
#[derive(Clone, Copy, Default)]
pub enum Security<'a> {
    /// Everything: plain LSL.
    #[default]
    Off,
    /// Sealed with members of the lab, plain with others.
    Prefer(Member<'a>),
    /// Nothing: who does not seal is refused.
    Require(Member<'a>),
}

impl<'a> Security<'a> {
    /// The membership to seal connections with.
    pub(crate) fn member(&self) -> Option<&Member<'a>> {
        match self {
            Self::Off => None,
            Self::Prefer(member) | Self::Require(member) => Some(member),
        }
    }

    /// Whether a query in the clear is answered.
    pub(crate) fn is_visible(&self) -> bool {
        self.permits_plain() || self.member().is_some_and(|member| member.visible == Visible::Everybody)
    }

    /// Whether anything may go in the clear.
    pub(crate) fn permits_plain(&self) -> bool {
        !matches!(self, Self::Require(_))
    }
}

/// What a node is told with every call that may need it.
pub struct Surroundings<'a> {
    /// The device's clock.
    pub now: Micros,
    /// The date, for certificates and sealed queries. A device without a calendar says so, and gives the date of
    /// its image, or 1970. The node knows later dates from its own certificate, its list, and members that it has
    /// met.
    pub calendar: Calendar,
    /// Unpredictable randomness; on a chip, its hardware generator with the radio on.
    pub entropy: &'a mut dyn Entropy,
}

impl Surroundings<'_> {
    /// The date, as far as `member` can prove it.
    pub(crate) fn calendar(&self, member: &Member<'_>) -> Calendar {
        let own = member.credentials.certificate().statement.not_before;
        self.calendar.after(own).after(member.revoked.issued())
    }

    /// Runs one step of a handshake with everything that it needs.
    pub(crate) fn with_context<R>(
        &mut self,
        member: &Member<'_>,
        step: impl FnOnce(&mut Context<'_>) -> R,
    ) -> R {
        step(&mut Context {
            // A node is what the flag in a certificate is for; the peer decides whether it permits it.
            calendar: self.calendar,
            classic: ClassicSuite::Certified,
            credentials: member.credentials,
            entropy: self.entropy,
            lab: member.lab,
            revoked: member.revoked,
        })
    }
}
