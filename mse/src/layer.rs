//! An established connection as a [`Layer`], for code that does not ask what lies under its bytes.

use core::fmt;

use schwann_session::{Layer, LayerError, Opened};

use crate::cipher::Cipher;
use crate::handshake::Established;

/// The two ciphers of a connection. Bytes keep their number; there are no records and no end mark.
///
/// It obfuscates: a changed byte comes out changed and is not noticed, and a cut stream looks like a whole one.
pub struct ObfuscateLayer {
    outgoing: Cipher,
    incoming: Cipher,
}

impl ObfuscateLayer {
    /// Takes over after a handshake. The initial payload and what was read beyond the handshake come
    /// first: the former is in the clear already, the latter goes through [`Layer::open`].
    #[must_use]
    pub fn new(established: Established) -> Self {
        let Established { outgoing, incoming, .. } = established;
        Self { outgoing, incoming }
    }
}

impl Layer for ObfuscateLayer {
    fn sealed_len(&self, plain_len: usize) -> usize {
        plain_len
    }

    fn seal(&mut self, plain: &[u8], wire: &mut [u8]) -> Result<usize, LayerError> {
        let out = wire.get_mut(..plain.len()).ok_or(LayerError::NoSpace)?;
        out.copy_from_slice(plain);
        self.outgoing.apply(out);
        Ok(plain.len())
    }

    fn open(&mut self, wire: &mut [u8]) -> Result<Opened, LayerError> {
        if wire.is_empty() {
            return Ok(Opened::Incomplete);
        }
        self.incoming.apply(wire);
        Ok(Opened::Data { consumed: wire.len(), plain: 0..wire.len() })
    }

    fn close(&mut self, _: &mut [u8]) -> Result<usize, LayerError> {
        Ok(0)
    }
}

impl fmt::Debug for ObfuscateLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObfuscateLayer({:?})", self.outgoing.method())
    }
}
