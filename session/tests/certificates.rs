//! Certificates: what they hold, and what is no certificate.

mod common;

use common::{Seeded, authority, certify};
use schwann_session::{
    AuthorityKey, Certificate, CertificateError, DeviceKey, DeviceName, Flags, Lab, Refusal, Roles,
};

fn certificate() -> Certificate {
    certify(&authority(), &DeviceKey::from_seed(&[8; 32]), 12, |s| s.flags = Flags::CLASSIC)
}

#[test]
fn a_certificate_survives_the_wire() {
    let parsed = Certificate::parse(&certificate().encode()).unwrap();
    assert_eq!(parsed, certificate());
    assert_eq!(parsed.verify(&authority().lab()), Ok(()));
    assert_eq!(parsed.statement.name.as_str(), "amplifier-1");
    assert!(parsed.statement.flags.permit_classic() && parsed.statement.roles.contain(Roles::BOTH));
}

#[test]
fn every_changed_bit_of_a_certificate_is_refused() {
    let bytes = certificate().encode();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes;
        changed[bit / 8] ^= 1 << (bit % 8);
        let refused = Certificate::parse(&changed).map_or(true, |c| c.verify(&authority().lab()).is_err());
        assert!(refused, "bit {bit}");
    }
}

#[test]
fn no_bytes_make_the_parser_panic_or_lie() {
    let mut random = Seeded(21);
    let bytes = certificate().encode();
    for _ in 0..100_000 {
        let mut changed = bytes;
        for _ in 0..=random.below(8) {
            changed[random.below(192)] = random.next() as u8;
        }
        if let Ok(parsed) = Certificate::parse(&changed) {
            assert_eq!(parsed.encode(), changed, "what is parsed is what was written");
        }
    }
}

#[test]
fn another_version_is_told_apart() {
    let mut bytes = certificate().encode();
    bytes[3] = 2;
    assert_eq!(Certificate::parse(&bytes), Err(CertificateError::Version));
    bytes[3] = 1;
    bytes[4] = 0;
    assert_eq!(Certificate::parse(&bytes), Err(CertificateError::Malformed), "no role");
    bytes[4] = 4;
    assert_eq!(Certificate::parse(&bytes), Err(CertificateError::Malformed), "a role of a later version");
}

#[test]
fn another_labs_certificate_is_another_labs() {
    let other = AuthorityKey::from_seed(&[1; 32]);
    assert_eq!(certificate().verify(&other.lab()), Err(Refusal::WrongLab));
}

#[test]
fn names_are_short_clean_text() {
    assert_eq!(DeviceName::new("Labor 3 – EEG").unwrap().as_str(), "Labor 3 – EEG");
    for name in ["", "a\nb", "\u{1b}[31m", &"x".repeat(49)] {
        assert!(DeviceName::new(name).is_none(), "{name:?}");
    }
}

#[test]
fn a_weak_authority_key_is_no_lab() {
    // The neutral element: any stranger could make every signature under it (RFC 8032 §8.9 on small order).
    let mut neutral = [0; 32];
    neutral[0] = 1;
    assert!(Lab::new(&neutral).is_none());
}
