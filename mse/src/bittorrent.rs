//! The 68 bytes with which every BitTorrent connection begins (BEP 3, "peer protocol").

use crate::skey::InfoHash;

/// The handshake of the protocol above MSE. It names the torrent, so a proxy learns SKEY from it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BtHandshake {
    /// Extension bits.
    pub reserved: [u8; 8],
    /// The torrent.
    pub info_hash: InfoHash,
    /// The sender's name for itself.
    pub peer_id: [u8; 20],
}

impl BtHandshake {
    /// Length on the wire, in bytes; also the longest initial payload that every client accepts.
    pub const LEN: usize = 68;

    /// Parses a handshake; `None` if the bytes do not begin as one does.
    #[must_use]
    pub fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (prefix, rest) = bytes.split_first_chunk()?;
        let (reserved, rest) = rest.split_first_chunk()?;
        let (info_hash, rest) = rest.split_first_chunk()?;
        let (peer_id, _) = rest.split_first_chunk()?;
        (*prefix == PREFIX).then_some(Self {
            reserved: *reserved,
            info_hash: InfoHash(*info_hash),
            peer_id: *peer_id,
        })
    }

    /// Encodes the handshake.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        let parts = [&PREFIX[..], &self.reserved, &self.info_hash.0, &self.peer_id];
        let mut bytes = [0; Self::LEN];
        for (out, byte) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *out = *byte;
        }
        bytes
    }
}

/// What a plain connection begins with.
pub const PREFIX: [u8; 20] = *b"\x13BitTorrent protocol";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_survives_its_encoding_and_others_are_refused() {
        let ours = BtHandshake { reserved: [1; 8], info_hash: InfoHash([2; 20]), peer_id: [3; 20] };
        let mut bytes = ours.encode();
        assert_eq!(BtHandshake::parse(&bytes), Some(ours));
        bytes[19] ^= 1;
        assert_eq!(BtHandshake::parse(&bytes), None);
    }
}
