//! The hashes that name the torrent and make the ciphers (mse §3).

use alloc::boxed::Box;

use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

use crate::cipher::{Cipher, Ctr, Rc4};
use crate::dh::SharedSecret;
use crate::method::Method;
use crate::skey::InfoHash;

/// One of the two directions, named by who sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Direction {
    FromInitiator,
    FromResponder,
}

/// `HASH("req1" || S)`: ends PadA, so that the responder finds the rest.
pub(crate) fn req1(secret: &SharedSecret) -> [u8; 20] {
    hash(&[b"req1", secret.as_bytes()])
}

/// `HASH("req2" || SKEY)`: names the torrent; the same in every handshake.
pub(crate) fn req2(info_hash: &InfoHash) -> [u8; 20] {
    hash(&[b"req2", &info_hash.0])
}

/// `HASH("req3" || S)`: covers the torrent's name.
pub(crate) fn req3(secret: &SharedSecret) -> [u8; 20] {
    hash(&[b"req3", secret.as_bytes()])
}

/// `a XOR b`.
pub(crate) fn covered(mut a: [u8; 20], b: &[u8; 20]) -> [u8; 20] {
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= b;
    }
    a
}

/// The RC4 state of one direction, which also carries the handshake's own fields.
pub(crate) fn rc4(direction: Direction, secret: &SharedSecret, info_hash: &InfoHash) -> Rc4 {
    let label: &[u8] = match direction {
        Direction::FromInitiator => b"keyA",
        Direction::FromResponder => b"keyB",
    };
    let key = Zeroizing::new(hash(&[label, secret.as_bytes(), &info_hash.0]));
    Rc4::with_discard(&*key)
}

/// The payload's cipher. `handshake` is the direction's RC4 state as the handshake left it.
pub(crate) fn payload(
    method: Method,
    handshake: Rc4,
    direction: Direction,
    secret: &SharedSecret,
    info_hash: &InfoHash,
) -> Cipher {
    match method {
        Method::Plaintext => Cipher::Plain,
        Method::Rc4 => Cipher::Rc4(handshake),
        Method::Aes128Ctr => {
            let material = private::<Sha256, 32>(b"aes128ctr", direction, secret, info_hash);
            let (key, counter) = split::<16>(&*material);
            Cipher::Aes128(Box::new(Ctr::new(new_aes(&key), counter)))
        }
        Method::Aes256Ctr => {
            let material = private::<Sha512, 64>(b"aes256ctr", direction, secret, info_hash);
            let (key, counter) = split::<32>(&*material);
            Cipher::Aes256(Box::new(Ctr::new(new_aes(&key), counter)))
        }
    }
}

/// Key and first counter of a private method: a hash over labels, `S` and SKEY (mse §9.1).
fn private<D: Digest, const N: usize>(
    method: &[u8],
    direction: Direction,
    secret: &SharedSecret,
    info_hash: &InfoHash,
) -> Zeroizing<[u8; N]>
where
    [u8; N]: From<sha2::digest::Output<D>>,
{
    let label: &[u8] = match direction {
        Direction::FromInitiator => b"mseA",
        Direction::FromResponder => b"mseB",
    };
    let mut digest = D::new();
    for part in [label, method, secret.as_bytes(), &info_hash.0] {
        digest.update(part);
    }
    Zeroizing::new(digest.finalize().into())
}

fn new_aes<A: aes::cipher::KeyInit, const N: usize>(key: &Zeroizing<[u8; N]>) -> A
where
    aes::cipher::Key<A>: From<[u8; N]>,
{
    A::new(&(**key).into())
}

/// The first `N` bytes and the 16 after them; no digest here is shorter than both.
fn split<const N: usize>(material: &[u8]) -> (Zeroizing<[u8; N]>, [u8; 16]) {
    let (mut key, mut counter) = (Zeroizing::new([0; N]), [0; 16]);
    key.copy_from_slice(&material[..N]);
    counter.copy_from_slice(&material[N..N + 16]);
    (key, counter)
}

fn hash(parts: &[&[u8]]) -> [u8; 20] {
    let mut digest = Sha1::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dh::{Group, KeyPair, PublicKey};
    use crate::testing::{array, hex, kat};

    #[test]
    fn names_and_keys_equal_the_known_answers() {
        let kat = kat();
        let pair = KeyPair::from_exponent(Group::Mse768, array(&kat["dh"]["xa"]));
        let secret = pair
            .shared_secret(&PublicKey::parse(Group::Mse768, &hex(&kat["dh"]["yb"])).expect("in range"))
            .expect("one group");
        let skey = InfoHash(array(&kat["skey"]));
        assert_eq!(req1(&secret).as_slice(), hex(&kat["req1"]));
        assert_eq!(req2(&skey).as_slice(), hex(&kat["req2"]));
        assert_eq!(req3(&secret).as_slice(), hex(&kat["req3"]));
        let covered = covered(req2(&skey), &req3(&secret));
        assert_eq!(covered.as_slice(), hex(&kat["req2_xor_req3"]));
        for (direction, name) in [
            (Direction::FromInitiator, "encrypted_vc_from_initiator"),
            (Direction::FromResponder, "encrypted_vc_from_responder"),
        ] {
            let mut zeros = [0; 8];
            rc4(direction, &secret, &skey).apply(&mut zeros);
            assert_eq!(zeros.as_slice(), hex(&kat[name]));
        }
    }
}
