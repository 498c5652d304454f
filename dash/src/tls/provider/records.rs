//! Records of TLS 1.3 (RFC 8446 §5.2), sealed by ChaCha20-Poly1305.

use rustls::{
    ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion,
    crypto::cipher::{
        AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter, Nonce,
        OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm,
        UnsupportedOperationError, make_tls13_aad,
    },
};
use schwann_aead::{Key, Tag, open_in_place, seal_in_place};

/// ChaCha20-Poly1305 (RFC 8439).
pub(super) struct ChaCha20Poly1305;

impl Tls13AeadAlgorithm for ChaCha20Poly1305 {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Records { key: own_key(&key), iv })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Records { key: own_key(&key), iv })
    }

    fn key_len(&self) -> usize {
        Key::LEN
    }

    fn extract_keys(
        &self,
        _key: AeadKey,
        _iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Err(UnsupportedOperationError)
    }
}

fn own_key(key: &AeadKey) -> Key {
    Key::new(key.as_ref().try_into().expect("rustls gives a key of key_len"))
}

struct Records {
    key: Key,
    iv: Iv,
}

impl Records {
    fn nonce(&self, number: u64) -> schwann_aead::Nonce {
        schwann_aead::Nonce(Nonce::new(&self.iv, number).0)
    }
}

impl MessageEncrypter for Records {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        number: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let length = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(length);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        let header = make_tls13_aad(length);
        let tag = seal_in_place(&self.key, &self.nonce(number), &header, payload.as_mut());
        payload.extend_from_slice(tag.map_err(|_| Error::EncryptError)?.as_ref());
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + 1 + Tag::LEN
    }
}

impl MessageDecrypter for Records {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let header = make_tls13_aad(message.payload.len());
        let length = message.payload.len().checked_sub(Tag::LEN).ok_or(Error::DecryptError)?;
        let (sealed, tag) = message.payload.split_at_mut(length);
        let tag = Tag(<[u8; Tag::LEN]>::try_from(&*tag).map_err(|_| Error::DecryptError)?);
        open_in_place(&self.key, &self.nonce(number), &header, sealed, &tag)
            .map_err(|_| Error::DecryptError)?;
        message.payload.truncate(length);
        message.into_tls13_unpadded_message()
    }
}
