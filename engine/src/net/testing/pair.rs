//! Two ends of a sealed connection.

use core::convert::Infallible;
use std::net::{TcpListener, TcpStream};

use schwann_session::{Secure, Suite};

use super::Lab;
use crate::net::link::Link;
use crate::security::link::{Handshake, Step};

/// The inlet's and the outlet's end of a connection, with a session of two members of a lab.
pub(crate) fn sealed_pair() -> (Link, Link) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let inlet = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    let (outlet, address) = listener.accept().expect("the connection");
    let (inlet, outlet) = (Link::tcp(inlet, address), Link::tcp(outlet, address));
    let (inlets, outlets) = session();
    inlet.layer().begin(inlets, None);
    outlet.layer().begin(outlets, None);
    (inlet, outlet)
}

fn session() -> (Box<Secure>, Box<Secure>) {
    let member = Lab::new().into_member();
    let (mut asked, mut answer) = (Vec::new(), Vec::new());
    let mut inlet = Handshake::inlet(&member, Suite::Hybrid).expect("a member");
    let mut outlet = Handshake::outlet(&member);
    loop {
        step(&mut inlet, &core::mem::take(&mut answer), &mut asked);
        if matches!(step(&mut outlet, &core::mem::take(&mut asked), &mut answer), Step::Done { .. }) {
            break;
        }
    }
    let [mut inlet, outlet] = [inlet, outlet].map(|end| end.finish().expect("done").0);
    // What the outlet says first comes with the end of its handshake.
    inlet.open(&mut answer).expect("a greeting");
    (inlet, outlet)
}

/// Takes a step of a handshake; what it sends is appended to `sent`.
pub(crate) fn step(end: &mut Handshake, received: &[u8], sent: &mut Vec<u8>) -> Step {
    let send = |output: &[u8]| {
        sent.extend_from_slice(output);
        Ok::<(), Infallible>(())
    };
    let Ok(step) = end.step(received, send);
    step
}
