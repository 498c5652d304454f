//! What is copied between machines as a line of text, and what is asked at the terminal.

use std::io::{self, BufRead as _, Write as _};

use schwann_session::{Certificate, Lab, PublicKey, RevocationList};
use zeroize::Zeroizing;

use crate::exit::Problem;

/// Bytes that are wiped when they are dropped.
pub(super) type Secret = Zeroizing<Vec<u8>>;

/// A device's request for a certificate.
pub(super) fn request(device: &PublicKey, name: &str) -> String {
    hex(&[&device.0, name.as_bytes()].concat())
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
    pub(super) discovery: [u8; 32],
    pub(super) revoked: RevocationList<Vec<u8>>,
}

impl Membership {
    /// One line, to be copied.
    pub(super) fn to_text(&self) -> String {
        hex(&self.to_bytes())
    }

    /// The same as bytes, as a microcontroller takes them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (lab, certificate) = (self.lab.authority().0, self.certificate.encode());
        let parts =
            [lab.as_slice(), certificate.as_slice(), self.discovery.as_slice(), self.revoked.as_bytes()];
        parts.concat()
    }

    /// Reads the line, and checks that its parts belong together.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes = unhex(text)?;
        let (lab, rest) = bytes.split_first_chunk()?;
        let (certificate, rest) = rest.split_first_chunk()?;
        let (discovery, revoked) = rest.split_first_chunk()?;
        let lab = Lab::new(lab)?;
        let certificate = Certificate::parse(certificate).ok()?;
        certificate.verify(&lab).ok()?;
        let revoked = RevocationList::parse(revoked.to_vec(), &lab).ok()?;
        Some(Self { lab, certificate, discovery: *discovery, revoked })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

/// Asks for a passphrase; what is typed is not shown where the terminal can be told so.
pub(super) fn ask(what: &str) -> Result<Secret, Problem> {
    eprint!("{what}: ");
    io::stderr().flush()?;
    let hidden = rustix::termios::tcgetattr(io::stdin()).ok();
    if let Some(mut quiet) = hidden.clone() {
        quiet.local_modes.remove(rustix::termios::LocalModes::ECHO);
        // A terminal that cannot be told shows what is typed.
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &quiet);
    }
    let mut line = Zeroizing::new(String::new());
    let read = io::stdin().lock().read_line(&mut line);
    if let Some(before) = hidden {
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &before);
        eprintln!();
    }
    read?;
    Ok(Zeroizing::new(line.trim_end_matches(['\r', '\n']).as_bytes().to_vec()))
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
