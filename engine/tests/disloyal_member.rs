//! A member of the lab that hands on what the authority did not sign, or signed long ago.
//!
//! An attacker who only owns the network cannot reach into a session at all (`tests/system/test_attacker_lab.py`).
//! This one is at its other end, with a certificate that all members accept.

use std::io::{BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use schwann::Context;
use schwann::inlet::Recover;
use schwann::outlet::{Flush, Outlet};
use schwann::security;
use schwann::security::{Member, Policy};
use schwann_proto::stream_info::IpVersion;
use schwann_session::control::Piece;
use schwann_session::{Initiator, Opened, Progress, Responder, Secure, Suite};

mod peak;
mod sealing;

use peak::peak_kib;
use sealing::{LONG, Lab, context, description_of, inlet, inlet_of, network, outlet};

#[test]
fn an_outlet_takes_in_nothing_that_the_authority_did_not_sign() {
    let (lab, bad, good) = updates();
    let network = network();
    let [sending, receiving] = [1, 2].map(|serial| newest(&lab, &network, serial));
    let outlet = outlet(&sending).expect("an outlet");
    let honest = inlet(&receiving, Recover::No).expect("an inlet");
    honest.open_stream(LONG).expect("a connection");
    let disloyal = lab.member(3, |_| {});
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("disloyal.log");
    let _ = std::fs::remove_file(&log);
    security::log_to(&log);
    let before = peak_kib();
    say_to_outlet(&outlet, &disloyal, &bad);
    assert_eq!(member(&sending).revocation_number(), NEWEST);
    // Room for one update at a time, 512 KiB, and for what this test has on its way.
    let grown = peak_kib().zip(before).map(|(now, before)| now - before);
    assert!(grown.is_none_or(|grown| grown < 10 * 1024), "{grown:?} KiB more");
    let told = std::fs::read_to_string(&log).expect("the log");
    let mut events = told.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    assert!(
        events.any(|event: serde_json::Value| event["event"] == "tamper" && event["serial"] == "3"),
        "who did it: {told}"
    );
    // No connection was cut off, and a list of the authority still comes through the same way.
    outlet.push_sample(&[7.0_f32; 8], 5.0, Flush::Now).expect("a push");
    assert_eq!(honest.pull_sample(&mut [0.0_f32; 8], LONG), Ok(Some(5.0)));
    say_to_outlet(&outlet, &disloyal, &pieces(&good, 100));
    assert_eq!(member(&sending).revocation_number(), NEWEST + 1);
}

#[test]
fn an_inlet_takes_in_nothing_that_the_authority_did_not_sign() {
    let (lab, bad, good) = updates();
    let network = network();
    let [sending, receiving] = [1, 2].map(|serial| newest(&lab, &network, serial));
    let outlet = outlet(&sending).expect("an outlet");
    for (messages, number) in [(bad, NEWEST), (pieces(&good, 100), NEWEST + 1)] {
        let mut info = description_of(&outlet);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = listener.local_addr().expect("bound");
        info.set_ports(IpVersion::V4, own.port(), info.endpoint(IpVersion::V4).service_port);
        let disloyal = lab.member(3, |_| {});
        let talk = std::thread::spawn(move || say_to_inlet(&listener, &disloyal, &messages));
        // Without this it would ask again and again.
        let inlet = inlet_of(&info, &receiving, Recover::No).expect("an inlet");
        assert!(inlet.open_stream(LONG).is_err(), "the disloyal outlet has no stream");
        // If it never came, the listener hears of that.
        let _ = TcpStream::connect(own);
        talk.join().expect("everything was said");
        assert_eq!(member(&receiving).revocation_number(), number);
    }
}

/// The number of the list that all members have.
const NEWEST: u64 = 3;
/// The longest update, in bytes (secure-session §4.6).
const LONGEST: usize = 524_456;
/// Updates of that length that are begun and never finished: 20 MB.
const UNFINISHED: usize = 40;

/// A lab with its list number [`NEWEST`]; messages that no member may believe; and the authority's next
/// update.
fn updates() -> (Lab, Vec<Vec<u8>>, Vec<u8>) {
    let (mut lab, mut other) = (Lab::new(), Lab::new());
    let old = lab.revoke(91);
    let present = lab.revoke(92);
    let at_present = lab.with_revoked(92);
    let good = lab.revoke(93);
    other.number = NEWEST;
    let foreign = other.revoke(1);
    // Every byte of the list and of the key changed, every shorter one, and what belongs elsewhere.
    let flipped = (0..good.len()).map(|at| {
        let mut changed = good.clone();
        changed[at] ^= 1 << (at % 8);
        changed
    });
    let cut = (0..good.len()).map(|len| good[..len].to_vec());
    let others_key = [&good[..good.len() - 32], &foreign[foreign.len() - 32..]].concat();
    let longer = [good.as_slice(), b"\0"].concat();
    let whole = flipped.chain(cut).chain([old, present, foreign, others_key, longer]);
    let mut messages: Vec<Vec<u8>> = whole.flat_map(|update| pieces(&update, 8192)).collect();
    // Pieces that make no whole: broken off at every place, with a gap, twice the same, another number, too long.
    let small = pieces(&good, 40);
    (0..small.len()).for_each(|count| messages.extend_from_slice(&small[..count]));
    messages.extend_from_slice(&[small[0].clone(), small[2].clone(), small[1].clone()]);
    messages.extend([small[0].clone(), small[1].clone(), small[1].clone()]);
    messages.extend_from_slice(&small[2..]);
    messages.push(small[0].clone());
    messages.push(message(NEWEST + 2, good.len(), 40, &good[40..]));
    messages.push(message(9, LONGEST + 1, 0, &[1; 4096]));
    (at_present, messages, good)
}

/// An update in messages with so many bytes of it each.
fn pieces(update: &[u8], len: usize) -> Vec<Vec<u8>> {
    let cut = update.chunks(len).enumerate();
    cut.map(|(index, part)| message(NEWEST + 1, update.len(), index * len, part)).collect()
}

fn message(number: u64, total: usize, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let [total, offset] = [total, offset].map(|len| u32::try_from(len).expect("short"));
    let mut out = vec![0; Piece::OVERHEAD + bytes.len()];
    Piece { number, total, offset, bytes }.encode(&mut out).expect("room");
    out
}

/// Lets the messages follow a handshake, then asks for the description: its answer says that all were read.
fn say_to_outlet(outlet: &Outlet, disloyal: &Member, messages: &[Vec<u8>]) {
    let mut socket = TcpStream::connect(("127.0.0.1", outlet.info().endpoint(IpVersion::V4).data_port))
        .expect("the outlet");
    let mut shake = disloyal.with_context(|context| Initiator::new(Suite::Hybrid, context)).expect("a start");
    let mut input = Vec::new();
    let mut early = loop {
        let sent = shake.poll_output().len();
        socket.write_all(shake.poll_output()).expect("sent");
        shake.sent(sent);
        input = receive(&mut socket, input);
        let step = disloyal.with_context(|context| shake.handle(&input, context)).expect("an honest outlet");
        match step {
            Progress::Done { consumed } => break input.split_off(consumed),
            Progress::NeedsMore => input.clear(),
        }
    };
    // Together with the first messages, which are more than a request may have.
    let last_step = shake.poll_output().to_vec();
    shake.sent(last_step.len());
    let mut session = shake.finish().expect("done").session;
    say(&mut socket, last_step, &mut session, messages, b"LSL:fullinfo\r\n");
    let mut answer = Vec::new();
    while !answer.ends_with(b"</info>\n") {
        early = receive(&mut socket, early);
        early = open(&mut session, early, &mut answer);
    }
}

/// Waits for an inlet, and tells it after the messages that there is no such stream.
fn say_to_inlet(listener: &TcpListener, disloyal: &Member, messages: &[Vec<u8>]) {
    let mut socket = listener.accept().expect("an inlet").0;
    let (mut shake, mut input) = (Responder::new(), Vec::new());
    let mut early = loop {
        input = receive(&mut socket, input);
        let step = disloyal.with_context(|context| shake.handle(&input, context)).expect("an honest inlet");
        let sent = shake.poll_output().len();
        socket.write_all(shake.poll_output()).expect("sent");
        shake.sent(sent);
        match step {
            Progress::Done { consumed } => break input.split_off(consumed),
            Progress::NeedsMore => input.clear(),
        }
    };
    let mut session = shake.finish().expect("done").session;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        early = open(&mut session, early, &mut request);
        if !request.ends_with(b"\r\n\r\n") {
            early = receive(&mut socket, early);
        }
    }
    say(&mut socket, Vec::new(), &mut session, messages, b"LSL/110 404 Not found\r\n\r\n");
    let mut end = [0; 96];
    let len = session.close(&mut end).expect("room");
    socket.write_all(&end[..len]).expect("sent");
}

/// Sends `first` as it is, and behind it, in few pieces, everything sealed.
fn say(socket: &mut TcpStream, first: Vec<u8>, session: &mut Secure, messages: &[Vec<u8>], last: &[u8]) {
    let mut wire = vec![0; 16_384];
    let mut socket = BufWriter::with_capacity(256 << 10, socket);
    socket.write_all(&first).expect("the peer stays connected");
    let mut send = |session: &mut Secure, message: &[u8]| {
        let len = session.seal_control(message, &mut wire).expect("room");
        socket.write_all(&wire[..len]).expect("the peer stays connected");
    };
    for index in 0..UNFINISHED * (LONGEST / Piece::MAX) {
        let offset = index % (LONGEST / Piece::MAX) * Piece::MAX;
        send(session, &message(9, LONGEST, offset, &[1; Piece::MAX]));
    }
    messages.iter().for_each(|message| send(session, message));
    let len = session.seal(last, &mut wire).expect("room");
    socket.write_all(&wire[..len]).expect("the peer stays connected");
    socket.flush().expect("the peer stays connected");
}

/// Appends what one read brings.
fn receive(socket: &mut TcpStream, mut so_far: Vec<u8>) -> Vec<u8> {
    let mut part = [0; 4096];
    let len = socket.read(&mut part).expect("bytes");
    assert!(len > 0, "the other end hung up");
    so_far.extend_from_slice(&part[..len]);
    so_far
}

/// Opens whole records, and returns what is left.
fn open(session: &mut Secure, mut wire: Vec<u8>, plain: &mut Vec<u8>) -> Vec<u8> {
    loop {
        let consumed = match session.open(&mut wire).expect("an honest peer") {
            Opened::Data { consumed, plain: range } => {
                plain.extend_from_slice(&wire[range]);
                consumed
            }
            Opened::Control { consumed, .. } | Opened::End { consumed } => consumed,
            Opened::Incomplete => return wire,
        };
        wire.drain(..consumed);
    }
}

fn newest(lab: &Lab, network: &str, serial: u64) -> Arc<Context> {
    context(network, Policy::Require, Some(lab.member(serial, |_| {})))
}

fn member(context: &Context) -> Arc<Member> {
    Arc::clone(context.trust().expect("a trust").member().expect("a member"))
}
