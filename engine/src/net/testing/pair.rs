//! Two ends of a sealed connection.

use std::net::{TcpListener, TcpStream};

use schwann_session::{Initiator, Progress, Responder, Secure, Suite};

use super::Lab;
use crate::net::link::Link;
use crate::security::Member;

/// The inlet's and the outlet's end of a connection, with a session of two members of a lab.
pub(crate) fn sealed_pair() -> (Link, Link) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let inlet = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    let (outlet, address) = listener.accept().expect("the connection");
    let (inlet, outlet) = (Link::tcp(inlet, address), Link::tcp(outlet, address));
    let (inlets, outlets) = session();
    inlet.layer().begin(Box::new(inlets), None);
    outlet.layer().begin(Box::new(outlets), None);
    (inlet, outlet)
}

fn session() -> (Secure, Secure) {
    let lab = Lab::new();
    let list = lab.list(1, &[1; 32]);
    let member = Member::new(lab.authority.lab(), lab.credentials, list, &[1; 32]);
    let mut inlet = member.with_context(|context| Initiator::new(Suite::Hybrid, context)).expect("a member");
    let mut outlet = Responder::new();
    let mut answer = Vec::new();
    loop {
        let asked = inlet.poll_output().to_vec();
        inlet.sent(asked.len());
        let heard = member.with_context(|context| outlet.handle(&asked, context));
        let done = matches!(heard.expect("a member"), Progress::Done { .. });
        answer.extend_from_slice(outlet.poll_output());
        let answered = outlet.poll_output().len();
        outlet.sent(answered);
        if done {
            break;
        }
        let heard = member.with_context(|context| inlet.handle(&answer, context));
        answer.clear();
        let _ = heard.expect("a member");
    }
    let [mut inlet, outlet] = [inlet.finish(), outlet.finish()].map(|end| end.expect("done").session);
    // What the outlet says first comes with the end of its handshake.
    inlet.open(&mut answer).expect("a greeting");
    (inlet, outlet)
}
