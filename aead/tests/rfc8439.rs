//! The vectors of RFC 8439 for the whole construction.

use schwann_aead::{Key, Nonce, OpenError, Tag, open_in_place, seal_in_place};

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// RFC 8439 §2.8.2: key, nonce, associated data, ciphertext, tag of [`SUNSCREEN`].
fn section_2_8_2() -> (Key, Nonce, Vec<u8>, Vec<u8>, Tag) {
    let key = hex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
    let sealed = hex("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
         3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
         92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
         3ff4def08e4b7a9de576d26586cec64b6116");
    (
        Key::new(&key.try_into().unwrap()),
        Nonce(hex("070000004041424344454647").try_into().unwrap()),
        hex("50515253c0c1c2c3c4c5c6c7"),
        sealed,
        Tag(hex("1ae10b594f09e26a7e902ecbd0600691").try_into().unwrap()),
    )
}

const SUNSCREEN: &[u8] = b"Ladies and Gentlemen of the class of '99: If I could offer you \
only one tip for the future, sunscreen would be it.";

#[test]
fn section_2_8_2_seals() {
    let (key, nonce, aad, sealed, tag) = section_2_8_2();
    let mut buffer = SUNSCREEN.to_vec();
    let ours = seal_in_place(&key, &nonce, &aad, &mut buffer).unwrap();
    assert_eq!(buffer, sealed);
    assert_eq!(ours.0, tag.0);
}

#[test]
fn section_2_8_2_opens() {
    let (key, nonce, aad, mut buffer, tag) = section_2_8_2();
    open_in_place(&key, &nonce, &aad, &mut buffer, &tag).unwrap();
    assert_eq!(buffer, SUNSCREEN);
}

#[test]
fn appendix_a_5_opens() {
    let key = hex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    let mut buffer = hex("64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb2
         4c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf
         332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855
         9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4
         b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e
         af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a
         0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a10
         49e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29
         a6ad5cb4022b02709b");
    let nonce = Nonce(hex("000000000102030405060708").try_into().unwrap());
    let tag = Tag(hex("eead9d67890cbb22392336fea1851f38").try_into().unwrap());
    open_in_place(
        &Key::new(&key.try_into().unwrap()),
        &nonce,
        &hex("f33388860000000000004e91"),
        &mut buffer,
        &tag,
    )
    .unwrap();
    assert!(buffer.starts_with(b"Internet-Drafts are draft documents valid for a maximum of six months"));
}

#[test]
fn any_flipped_bit_is_refused_and_leaves_zeros() {
    let (key, nonce, aad, sealed, tag) = section_2_8_2();
    let open = |key: &Key, nonce: &Nonce, aad: &[u8], mut buffer: Vec<u8>, tag: &Tag| {
        assert_eq!(open_in_place(key, nonce, aad, &mut buffer, tag), Err(OpenError::Forged));
        assert!(buffer.iter().all(|&byte| byte == 0));
    };
    for bit in 0..sealed.len() * 8 {
        let mut bad = sealed.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        open(&key, &nonce, &aad, bad, &tag);
    }
    for bit in 0..128 {
        let mut bad = tag;
        bad.0[bit / 8] ^= 1 << (bit % 8);
        open(&key, &nonce, &aad, sealed.clone(), &bad);
    }
    for bit in 0..96 {
        let (mut bad_nonce, mut bad_aad) = (nonce, aad.clone());
        bad_nonce.0[bit / 8] ^= 1 << (bit % 8);
        bad_aad[bit / 8] ^= 1 << (bit % 8);
        open(&key, &bad_nonce, &aad, sealed.clone(), &tag);
        open(&key, &nonce, &bad_aad, sealed.clone(), &tag);
    }
}
