//! `schwann mse proxy` where the system gives no more.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::harness::Lab;

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_relay_without_descriptors_waits_for_some_and_goes_on() {
    let lab = Lab::new("mse-descriptors");
    let schwann = lab.schwann(&["mse", "proxy", "--outward", "127.0.0.1:0"]);
    let mut relay = Command::new("sh")
        .args(["-c", "ulimit -n 40; exec \"$@\"", "sh"])
        .arg(schwann.get_program())
        .args(schwann.get_args())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut bound = String::new();
    BufReader::new(relay.stdout.take().expect("piped")).read_line(&mut bound).expect("a line");
    let address: SocketAddr =
        bound.trim().strip_prefix("outward ").expect("its name").parse().expect("bound");
    // Each takes a descriptor, and says nothing.
    let crowd: Vec<_> = (0..60).map(|_| TcpStream::connect(address).expect("a place in the queue")).collect();
    let mut said = BufReader::new(relay.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("no further connection") {
        line.clear();
        assert_ne!(said.read_line(&mut line).expect("text"), 0, "the relay ended");
    }
    drop(crowd);
    // SOCKS5 (RFC 1928 §3): a client that needs no password is told that none is needed.
    let mut client = TcpStream::connect(address).expect("the relay listens");
    client.set_read_timeout(Some(LONG)).expect("a time");
    client.write_all(&[5, 1, 0]).expect("a connection");
    let mut answer = [0; 2];
    client.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer, [5, 0]);
    assert_eq!(relay.try_wait().expect("a child"), None, "the relay ended");
    relay.kill().and_then(|()| relay.wait()).expect("a child");
}
