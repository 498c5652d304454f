//! What a lab says while tunnels stand: devices that are put out, and keys whose time is over.

use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Header};

use crate::harness::Lab;
use crate::served::Running;
use crate::tunnel::{Wire, enrol, found, join, says, share, wait_for};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A program's connection that stays as it is: it does not connect again when it is cut.
struct Program(TcpStream);

impl Program {
    /// Connects through a tunnel, and waits until the other end has answered.
    fn through(joined: &Running) -> Self {
        let address = joined.address.strip_prefix("buffer://").expect("an address");
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(LONG)).expect("a time");
        let mut program = Self(stream);
        program.ask();
        program
    }

    /// Asks for the header (fieldtrip §5).
    fn ask(&mut self) {
        self.0.write_all(&[1, 0, 1, 2, 0, 0, 0, 0]).expect("the connection stands");
        self.0.read_exact(&mut [0; 8]).expect("an answer");
    }

    /// Waits until it is cut, without a word to the other end.
    fn wait_for_the_end(&mut self) {
        match self.0.read(&mut [0]) {
            Ok(count) => assert_eq!(count, 0, "the other end was not asked"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

fn revoke(lab: &Lab, computer: &str, serial: &str) {
    let (code, said) = says(lab, computer, &["keys", "revoke", serial]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_device_that_is_revoked_loses_the_tunnel_that_it_has() {
    let lab = Lab::new("tunnel-cut");
    found(&lab, "meg");
    enrol(&lab, "meg", "desk", &[]);
    let (_buffer, mut shared) = share(&lab, &[]);
    let mut joined = join(&lab, "desk", &shared.address);
    let mut program = Program::through(&joined);
    revoke(&lab, "meg", "2");
    program.wait_for_the_end();
    // Both ends say why.
    wait_for(joined.child.stderr.take().expect("a pipe"), "the certificate has been revoked");
    wait_for(shared.child.stderr.take().expect("a pipe"), "the certificate has been revoked");
}

#[test]
fn a_revocation_entered_where_a_tunnel_is_joined_reaches_all_and_cuts_the_revoked_one() {
    let lab = Lab::new("tunnel-list");
    found(&lab, "authority");
    for computer in ["meg", "desk", "laptop"] {
        enrol(&lab, "authority", computer, &[]);
    }
    let (_buffer, shared) = share(&lab, &[]);
    let [entering, staying, leaving] =
        ["authority", "desk", "laptop"].map(|computer| join(&lab, computer, &shared.address));
    let [mut enters, mut stays, mut leaves] = [&entering, &staying, &leaving].map(Program::through);
    revoke(&lab, "authority", "4");
    leaves.wait_for_the_end();
    // The others are not disturbed, and hear of it.
    enters.ask();
    let list = |computer: &str| fs::read(lab.path(computer).join("lab.revoked")).unwrap_or_default();
    for computer in ["meg", "desk"] {
        until("the list is handed on", || list(computer) == list("authority"));
    }
    stays.ask();
}

#[test]
fn a_sharing_device_that_is_revoked_loses_those_who_joined() {
    let lab = Lab::new("tunnel-sharer");
    found(&lab, "authority");
    enrol(&lab, "authority", "meg", &[]);
    let (_buffer, shared) = share(&lab, &[]);
    let mut joined = join(&lab, "authority", &shared.address);
    let mut program = Program::through(&joined);
    revoke(&lab, "authority", "2");
    program.wait_for_the_end();
    wait_for(joined.child.stderr.take().expect("a pipe"), "the certificate has been revoked");
}

#[test]
fn a_key_of_a_tunnel_lives_as_long_as_the_configuration_says() {
    let lab = Lab::new("tunnel-lifetime");
    let configuration = lab.path("lsl_api.cfg");
    let text = fs::read_to_string(&configuration).expect("a file");
    fs::write(&configuration, text + "[security]\nsession_key_lifetime = 1\n").expect("a file");
    found(&lab, "meg");
    enrol(&lab, "meg", "desk", &[]);
    let (_buffer, shared) = share(&lab, &[]);
    let wire = Wire::to(&shared.address);
    let joined = join(&lab, "desk", &wire.address);
    let mut client = joined.client();
    client.put_header(&Header::new(1, 250.0, DataType::Int32)).expect("a header");
    let deadline = Instant::now() + LONG;
    while wire.rekeys().contains(&0) {
        assert!(Instant::now() < deadline, "no end of the tunnel has changed its key");
        client.put_samples(1, &[1]).expect("samples");
    }
    assert_eq!(client.samples(0, 0).expect("a sample").to_f64(), [1.0]);
}
