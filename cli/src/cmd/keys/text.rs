//! What is copied between machines as text.

use core::fmt::Write as _;
use std::io::{BufRead, Read as _};

use schwann_session::provision::{Lines, Paste, Pasted, Request};
use schwann_session::{Certificate, Lab, PublicKey, RevocationList};
use zeroize::Zeroizing;

use super::failed;
use crate::exit::Problem;

/// Bytes that are wiped when they are dropped.
pub(super) type Secret = Zeroizing<Vec<u8>>;

/// A device's request for a certificate.
pub(super) fn request(device: &PublicKey, name: &str) -> String {
    Request { device: *device, name }.to_string()
}

/// Reads what [`request`] made.
pub(super) fn parse_request(text: &str) -> Option<(PublicKey, String)> {
    let bytes = unhex(text)?;
    let (device, name) = bytes.split_first_chunk()?;
    Some((PublicKey(*device), String::from_utf8(name.to_vec()).ok()?))
}

/// Everything that a device with a key of its own needs to be a member.
pub(super) struct Membership {
    pub(super) lab: Lab,
    pub(super) certificate: Certificate,
    pub(super) discovery: Zeroizing<[u8; 32]>,
    pub(super) revoked: RevocationList<Vec<u8>>,
}

impl Membership {
    /// What the lines hold.
    pub(super) fn to_bytes(&self) -> Secret {
        let (lab, certificate) = (self.lab.authority().0, self.certificate.encode());
        let parts =
            [lab.as_slice(), certificate.as_slice(), self.discovery.as_slice(), self.revoked.as_bytes()];
        Secret::new(parts.concat())
    }

    /// Checks that the parts belong together.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (lab, rest) = bytes.split_first_chunk()?;
        let (certificate, rest) = rest.split_first_chunk()?;
        let (discovery, revoked) = rest.split_first_chunk()?;
        let lab = Lab::new(lab)?;
        let certificate = Certificate::parse(certificate).ok()?;
        certificate.verify(&lab).ok()?;
        let revoked = RevocationList::parse(revoked.to_vec(), &lab).ok()?;
        revoked.commits_to(discovery).then_some(Self {
            lab,
            certificate,
            discovery: Zeroizing::new(*discovery),
            revoked,
        })
    }
}

/// Bytes as lines to be copied, as a microcontroller takes them, too.
pub(super) fn to_lines(content: &[u8]) -> Result<Zeroizing<String>, Problem> {
    let mut lines = Zeroizing::<String>::default();
    write!(lines, "{}", Lines(content)).map_err(|_| failed("the revocation list is too long"))?;
    Ok(lines)
}

/// Reads such lines; others among them do no harm.
pub(super) fn read_lines(input: &mut dyn BufRead) -> Result<Secret, Problem> {
    let mut room = Secret::new(vec![0; usize::from(u16::MAX)]);
    let mut paste = Paste::new(&mut room);
    // The last line may come without its end.
    for byte in input.bytes().chain(core::iter::once(Ok(b'\n'))) {
        match paste.handle(byte.map_err(failed)?) {
            Pasted::Done(len) => return Ok(Secret::new(paste.collected(len).to_vec())),
            Pasted::Damaged => eprintln!("schwann: this line is damaged: paste all of them once more"),
            Pasted::More => {}
        }
    }
    Err(no_membership())
}

pub(super) fn no_membership() -> Problem {
    Problem::Failed(String::from(
        "this is no certificate; paste all lines that `schwann keys issue` printed on the lab's computer",
    ))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .trim()
        .chars()
        .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_being_copied_as_text() {
        let (device, name) = parse_request(&request(&PublicKey([7; 32]), "EEG room")).expect("a request");
        assert_eq!((device, name.as_str()), (PublicKey([7; 32]), "EEG room"));
        assert!(parse_request("no request").is_none() && parse_request("abc").is_none());
    }
}
