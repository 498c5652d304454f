//! Whether a stream comes from another device than before.

use schwann_session::PeerIdentity;

/// The device that served a stream last.
///
/// A lost stream is found again by its source id. Any member of the lab may give that id to a stream of its own.
#[derive(Debug, Default)]
pub struct LastPeer(Option<PeerIdentity>);

impl LastPeer {
    /// Notes the device that serves the stream now. Returns the former one, if that was
    /// another.
    ///
    /// `now` is none if the stream comes in the clear.
    pub fn replace(&mut self, now: Option<PeerIdentity>) -> Option<PeerIdentity> {
        let before = core::mem::replace(&mut self.0, now)?;
        let key = |peer: &PeerIdentity| peer.statement.device;
        (now.as_ref().map(key) != Some(key(&before))).then_some(before)
    }
}
