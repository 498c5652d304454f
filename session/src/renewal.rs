//! How a device gets a new certificate for its key while the old one is still valid, without a person.
//!
//! The request goes to the authority in an envelope, so no listener reads who asks. The answer is a certificate in
//! an envelope for the device. It holds no secret, so a repeated request brings nothing to its sender.
//!
//! - Source: pairing §7.

use alloc::vec::Vec;

use crate::{
    AuthorityKey, Certificate, DeviceKey, Entropy, Lab, RevocationList, Statement, UnixSeconds,
    bytes::{Reader, concat},
    envelope,
};

/// Why the authority's machine does not renew.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Declined {
    /// The certificate has expired, is revoked, or is another lab's.
    Certificate,
    /// It is valid for long enough.
    Early,
    /// It is no request to this authority, or not by the certified device.
    Malformed,
    /// The clocks of the two computers differ by more than five minutes, or it is an old request.
    Time,
}

impl Declined {
    /// The byte that says so.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Malformed => 1,
            Self::Certificate => 2,
            Self::Early => 3,
            Self::Time => 4,
        }
    }

    /// Reads what [`byte`](Self::byte) made.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        let all = [Self::Malformed, Self::Certificate, Self::Early, Self::Time];
        all.into_iter().find(|declined| declined.byte() == byte)
    }
}

/// Asks for a new certificate in place of `certificate`.
///
/// Returns nothing if the system gives no random bytes.
#[must_use]
pub fn request(
    key: &DeviceKey,
    certificate: &Certificate,
    lab: &Lab,
    now: UnixSeconds,
    entropy: &mut dyn Entropy,
) -> Option<Vec<u8>> {
    let time = now.0.to_le_bytes();
    let certificate = certificate.encode();
    let signature = key.sign(&signed(&certificate, &time));
    let content: [u8; CONTENT] = concat(&[&certificate, &time, &signature]);
    envelope::seal(&lab.authority(), &content, entropy)
}

/// Judges a request; returns what the old certificate says.
///
/// - Errors: [`Declined`].
pub fn judge<B: AsRef<[u8]>>(
    authority: &AuthorityKey,
    revoked: &RevocationList<B>,
    request: &[u8; REQUEST],
    now: UnixSeconds,
) -> Result<Statement, Declined> {
    let content = envelope::open(&authority.as_device(), request).ok_or(Declined::Malformed)?;
    let mut reader = Reader::new(&content);
    let encoded = reader.array().ok_or(Declined::Malformed)?;
    let time: [u8; 8] = reader.array().ok_or(Declined::Malformed)?;
    let signature = reader.array().ok_or(Declined::Malformed)?;
    let certificate = Certificate::parse(&encoded).map_err(|_| Declined::Malformed)?;
    let statement = certificate.statement;
    certificate.verify(&authority.lab()).map_err(|_| Declined::Certificate)?;
    if !statement.device.verifies(&signed(&encoded, &time), &signature) {
        return Err(Declined::Malformed);
    }
    if now.0.abs_diff(u64::from_le_bytes(time)) > TOLERANCE {
        return Err(Declined::Time);
    }
    statement.check(statement.roles, now.into(), revoked).map_err(|_| Declined::Certificate)?;
    if statement.not_after.0.saturating_sub(now.0) > AHEAD {
        return Err(Declined::Early);
    }
    Ok(statement)
}

/// Seals a new certificate for its device.
#[must_use]
pub fn grant(certificate: &Certificate, entropy: &mut dyn Entropy) -> Option<Vec<u8>> {
    envelope::seal(&certificate.statement.device, &certificate.encode(), entropy)
}

/// Opens the answer; nothing if it is no newer certificate of this key and this lab.
#[must_use]
pub fn open(key: &DeviceKey, old: &Certificate, lab: &Lab, answer: &[u8; ANSWER]) -> Option<Certificate> {
    let content = envelope::open(key, answer)?;
    let certificate = Certificate::parse(content.as_slice().try_into().ok()?).ok()?;
    certificate.verify(lab).ok()?;
    let (new, old) = (&certificate.statement, &old.statement);
    (new.device == key.public() && new.not_after > old.not_after).then_some(certificate)
}

fn signed(certificate: &[u8; Certificate::LEN], time: &[u8; 8]) -> [u8; LABEL.len() + Certificate::LEN + 8] {
    concat(&[LABEL, certificate, time])
}

/// Length of a request, in bytes.
pub const REQUEST: usize = CONTENT + envelope::OVERHEAD;
/// Length of an answer that grants, in bytes.
pub const ANSWER: usize = Certificate::LEN + envelope::OVERHEAD;
/// A certificate is renewed when it is valid for no longer than this, in seconds: 30 days.
pub const AHEAD: u64 = 30 * 86_400;

const LABEL: &[u8] = b"schwann/1 renewal\0";
const CONTENT: usize = Certificate::LEN + 8 + 64;
/// Seconds by which two clocks may differ.
const TOLERANCE: u64 = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceName, Flags, LabId, Roles, SystemEntropy};

    const NOW: UnixSeconds = UnixSeconds(1_767_225_600);
    const DAY: u64 = 86_400;

    struct Fixture {
        authority: AuthorityKey,
        key: DeviceKey,
        revoked: RevocationList<Vec<u8>>,
    }

    impl Fixture {
        fn new(revoked: &[u64]) -> Self {
            let authority = AuthorityKey::from_seed(&[3; 32]);
            let revoked = RevocationList::sign(&authority, 1, NOW, &[9; 32], revoked).unwrap();
            Self { authority, key: DeviceKey::from_seed(&[4; 32]), revoked }
        }

        fn certificate(&self, days: u64) -> Certificate {
            self.authority.certify(Statement {
                device: self.key.public(),
                flags: Flags::NONE,
                lab: LabId([0; 16]),
                name: DeviceName::new("EEG room").unwrap(),
                not_after: UnixSeconds(NOW.0 + days * DAY),
                not_before: UnixSeconds(NOW.0 - 300 * DAY),
                roles: Roles::SUBSCRIBE,
                serial: 7,
            })
        }

        fn request(&self, certificate: &Certificate, now: u64) -> [u8; REQUEST] {
            let lab = self.authority.lab();
            let request =
                request(&self.key, certificate, &lab, UnixSeconds(now), &mut SystemEntropy).unwrap();
            request.try_into().unwrap()
        }

        fn judged(&self, request: &[u8; REQUEST]) -> Result<Statement, Declined> {
            judge(&self.authority, &self.revoked, request, NOW)
        }
    }

    #[test]
    fn a_certificate_that_is_about_to_expire_is_renewed() {
        let lab = Fixture::new(&[]);
        let old = lab.certificate(20);
        assert_eq!(lab.judged(&lab.request(&old, NOW.0)), Ok(old.statement));
        let new = lab.certificate(365);
        let answer: [u8; ANSWER] = grant(&new, &mut SystemEntropy).unwrap().try_into().unwrap();
        let lab_of = lab.authority.lab();
        assert_eq!(open(&lab.key, &old, &lab_of, &answer), Some(new));
        // The same answer does not take a later certificate back, and is nothing to another device.
        assert_eq!(open(&lab.key, &new, &lab_of, &answer), None);
        assert_eq!(open(&DeviceKey::from_seed(&[5; 32]), &old, &lab_of, &answer), None);
    }

    #[test]
    fn what_is_early_expired_revoked_or_late_is_declined() {
        let (lab, out) = (Fixture::new(&[]), Fixture::new(&[7]));
        let old = lab.certificate(20);
        for (declined, request) in [
            (Declined::Early, lab.request(&lab.certificate(31), NOW.0)),
            (Declined::Time, lab.request(&old, NOW.0 - 301)),
            (Declined::Time, lab.request(&old, NOW.0 + 301)),
        ] {
            assert_eq!(lab.judged(&request), Err(declined));
        }
        assert_eq!(out.judged(&out.request(&old, NOW.0)), Err(Declined::Certificate));
        let later = UnixSeconds(NOW.0 + 21 * DAY);
        let request = lab.request(&old, later.0);
        assert_eq!(judge(&lab.authority, &lab.revoked, &request, later), Err(Declined::Certificate));
    }

    #[test]
    fn who_holds_the_certificate_alone_gets_no_other() {
        let lab = Fixture::new(&[]);
        let thief = Fixture { key: DeviceKey::from_seed(&[6; 32]), ..Fixture::new(&[]) };
        assert_eq!(lab.judged(&thief.request(&lab.certificate(20), NOW.0)), Err(Declined::Malformed));
        let other = Fixture { authority: AuthorityKey::from_seed(&[8; 32]), ..Fixture::new(&[]) };
        assert_eq!(lab.judged(&other.request(&other.certificate(20), NOW.0)), Err(Declined::Malformed));
        let mut changed = lab.request(&lab.certificate(20), NOW.0);
        changed[100] ^= 1;
        assert_eq!(lab.judged(&changed), Err(Declined::Malformed));
    }

    #[test]
    fn a_reason_is_read_back() {
        for declined in [Declined::Malformed, Declined::Certificate, Declined::Early, Declined::Time] {
            assert_eq!(Declined::from_byte(declined.byte()), Some(declined));
        }
        assert_eq!(Declined::from_byte(0), None);
    }
}
