//! Where a link's bytes wait until they are whole.

use schwann_session::LayerError;

use super::{Flow, Layer};

/// Bytes of a peer: where they are received, and opened once they are whole.
#[derive(Default)]
pub(crate) struct Opener {
    raw: Vec<u8>,
    filled: usize,
}

impl Opener {
    /// Where the next bytes of the peer go.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.room_for(RECEIVE_LEN)
    }

    fn room_for(&mut self, len: usize) -> &mut [u8] {
        if self.raw.len() < self.filled + len {
            self.raw.resize(self.filled + len, 0);
        }
        self.raw.get_mut(self.filled..).unwrap_or_default()
    }

    /// Whether nothing was received that is yet to be opened.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Keeps bytes that were received elsewhere, and are not whole.
    pub(crate) fn keep(&mut self, arrived: &[u8]) {
        self.put(arrived);
        self.filled += arrived.len();
    }

    fn put(&mut self, arrived: &[u8]) {
        if let Some(room) = self.room_for(arrived.len()).get_mut(..arrived.len()) {
            room.copy_from_slice(arrived);
        }
    }

    /// Opens what arrived on a link with this layer and appends the plain bytes to `plain`; as [`opened`](Self::opened).
    pub(crate) fn open(
        &mut self,
        layer: &Layer,
        arrived: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<Flow, LayerError> {
        self.put(arrived);
        self.opened(layer, arrived.len(), |bytes| plain.extend_from_slice(bytes))
    }

    /// Opens what `count` more bytes in the [`room`](Self::room) have made whole, and gives the plain bytes to `take`.
    ///
    /// - Errors: the bytes do not verify; the connection must end.
    pub(crate) fn opened(
        &mut self,
        layer: &Layer,
        count: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<Flow, LayerError> {
        self.filled += count;
        let wire = self.raw.get_mut(..self.filled).unwrap_or_default();
        let (done, flow) =
            layer.open(wire, &mut |opened, place| take(opened.get(place).unwrap_or_default()))?;
        if done < self.filled {
            self.raw.copy_within(done..self.filled, 0);
        }
        self.filled -= done;
        Ok(flow)
    }
}

/// Bytes received at a time.
pub(crate) const RECEIVE_LEN: usize = 64 * 1024;
