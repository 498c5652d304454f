//! The end that probes the outlet's clock: it opens whatever comes, and tells what of it verified.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::io::{BufRead, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Instant;

use schwann::{ChannelFormat, StreamInfo};
use schwann_proto::wire::feed::FeedRequest;
use schwann_session::{DATAGRAM_OVERHEAD, Datagrams, Established, Initiator, Progress, Roles, Suite};

use crate::{ends, lab};

/// Reads a description, the outlet's data port, and the attacker's port for probes; probes as fast as answers come.
/// Prints for each probe how many datagrams were refused before its answer.
pub(crate) fn run() {
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let mut line = || lines.next().expect("a line");
    let info = StreamInfo::parse(line().as_bytes()).expect("a description");
    let mut number = || line().parse::<u16>().expect("a port");
    let (data_port, attacker) = (number(), number());
    let (mut datagrams, stream) = connect(&info, data_port);
    thread::spawn(ends::exit_with_the_attacker);
    thread::spawn(move || drain(stream));
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout");
    socket.connect((Ipv4Addr::LOCALHOST, attacker)).expect("an address");
    let begin = Instant::now();
    for wave in 0..i32::MAX {
        let sent = format!("{}.5", begin.elapsed().as_secs());
        let probe = seal(&mut datagrams, format!("LSL:timedata\r\n{wave} {sent}\r\n").as_bytes());
        socket.send(&probe).expect("sent");
        println!("{}", until_answered(&mut datagrams, &socket, &format!(" {wave} {sent} ")));
    }
}

/// Opens what comes until the answer that begins with `expected` does; says how many datagrams were refused before, or
/// what was wrong.
fn until_answered(datagrams: &mut Datagrams, socket: &UdpSocket, expected: &str) -> String {
    let mut refused = 0;
    loop {
        let mut bytes = [0; 2048];
        let Ok(len) = socket.recv(&mut bytes) else { return String::from("no answer") };
        match datagrams.open(&mut bytes[..len]) {
            Err(_) => refused += 1,
            Ok(plain) if bytes[plain.clone()].starts_with(expected.as_bytes()) => return refused.to_string(),
            Ok(plain) => return format!("altered: {:?}", String::from_utf8_lossy(&bytes[plain])),
        }
    }
}

fn seal(datagrams: &mut Datagrams, plain: &[u8]) -> Vec<u8> {
    let mut sealed = vec![0; plain.len() + DATAGRAM_OVERHEAD];
    datagrams.seal(plain, &mut sealed).expect("room");
    sealed
}

/// A session of its own with the outlet, and what seals its datagrams.
fn connect(info: &StreamInfo, data_port: u16) -> (Datagrams, TcpStream) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, data_port)).expect("the outlet listens");
    let member = lab::member(3, Roles::SUBSCRIBE);
    let initiator = member.with_context(|context| Initiator::new(Suite::Hybrid, context));
    let mut initiator = initiator.expect("a member");
    let mut received = vec![0; 4096];
    let (mut end, mut begin) = (0, 0);
    loop {
        let count = stream.write(initiator.poll_output()).expect("the outlet reads");
        initiator.sent(count);
        if !initiator.poll_output().is_empty() {
            continue;
        } else if begin > 0 {
            break;
        }
        end = stream.read(&mut received).expect("the outlet answers");
        let step = member.with_context(|context| initiator.handle(&received[..end], context));
        if let Progress::Done { consumed } = step.expect("a member") {
            begin = consumed;
        }
    }
    let Established { mut session, .. } = initiator.finish().expect("a session");
    // So that the outlet keeps the connection.
    let request = request(info);
    let mut wire = vec![0; session.sealed_len(request.len())];
    let len = session.seal(&request, &mut wire).expect("room");
    stream.write_all(&wire[..len]).expect("the outlet reads");
    received.truncate(end);
    received.drain(..begin);
    (greeted(session, &stream, received), stream)
}

/// The keys for datagrams come with the outlet's first record.
fn greeted(mut session: schwann_session::Secure, mut stream: &TcpStream, mut received: Vec<u8>) -> Datagrams {
    loop {
        session.open(&mut received.clone()).expect("a greeting");
        if let Some(datagrams) = session.take_datagrams() {
            return datagrams;
        }
        let mut more = [0; 4096];
        let count = stream.read(&mut more).expect("the outlet greets");
        received.extend_from_slice(&more[..count]);
    }
}

fn request(info: &StreamInfo) -> Vec<u8> {
    let uid = info.uid().to_string();
    let mut bytes = Vec::new();
    let _ = FeedRequest::new(110, &uid, ChannelFormat::Int64, 1, 0).encode(&mut bytes);
    bytes
}

/// Reads and discards samples for as long as the outlet sends them.
fn drain(mut stream: TcpStream) {
    let mut bytes = [0; 16_384];
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
