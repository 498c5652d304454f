//! `schwann ft tunnel`: two computers, each a key folder of its own, and a wire that the test owns.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::wire::{DataType, Event, Header, NEVER, SamplesDefinition, Totals};
use schwann_fieldtrip::{ClientError, Options};

use crate::harness::Lab;
use crate::served::Running;

/// A command as a computer with this key folder runs it.
pub(crate) fn at(lab: &Lab, computer: &str, arguments: &[&str]) -> Command {
    let mut command = lab.schwann(arguments);
    command.env("SCHWANN_KEYS", lab.path(computer)).env_remove("SCHWANN_SECURITY");
    command.env_remove("SCHWANN_PASSPHRASE").env("XDG_RUNTIME_DIR", lab.path(computer).join("runtime"));
    command
}

/// Runs a command of a computer to its end; returns its exit code and all that it said.
pub(crate) fn says(lab: &Lab, computer: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = at(lab, computer, arguments).output().expect("a process");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    (output.status.code(), text.concat())
}

/// Founds a lab at the computer of the buffer.
pub(crate) fn found(lab: &Lab, computer: &str) {
    let (code, said) = says(lab, computer, &["keys", "init", "--unprotected", "--name", computer]);
    assert_eq!(code, Some(0), "{said}");
}

/// Makes `computer` a member of the lab of `authority`.
pub(crate) fn enrol(lab: &Lab, authority: &str, computer: &str, roles: &[&str]) {
    let last = |said: &str, what: &str| {
        let line = said.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{said}"));
        line.split_whitespace().last().expect("a word").to_owned()
    };
    let (_, said) = says(lab, computer, &["keys", "new-device", computer, "--unprotected"]);
    let request = last(&said, "keys issue");
    let issue = [&["keys", "issue", &request, "--yes", "--unprotected"], roles].concat();
    let issued = at(lab, authority, &issue).output().expect("a process").stdout;
    let mut trust = at(lab, computer, &["keys", "trust"]);
    trust.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut trust = trust.spawn().expect("a process");
    trust.stdin.take().expect("piped").write_all(&issued).expect("it reads");
    let output = trust.wait_with_output().expect("an end");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Serves a buffer, and shares it at a free port.
pub(crate) fn share(lab: &Lab, more: &[&str]) -> (Running, Running) {
    let buffer = Running::spawn(&mut at(lab, "meg", &["ft", "serve", "localhost:0"]));
    let arguments = ["ft", "tunnel", "share", &buffer.address, "--listen", "127.0.0.1:0"];
    let shared = Running::spawn(at(lab, "meg", &[&arguments, more].concat()).stderr(Stdio::piped()));
    (buffer, shared)
}

pub(crate) fn join(lab: &Lab, computer: &str, there: &str) -> Running {
    let mut join = at(lab, computer, &["ft", "tunnel", "join", there, "localhost:0"]);
    // Windows does not tell whose program connects, and the door would refuse everyone.
    if cfg!(windows) {
        join.arg("--others");
    }
    Running::spawn(join.stderr(Stdio::piped()))
}

/// Waits until a line of `said` contains `text`.
pub(crate) fn wait_for(said: ChildStderr, text: &str) {
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(text)), "it ended without saying {text:?}");
}

fn header() -> Header {
    Header::new(2, 250.0, DataType::Int32).with_channel_names(["SecretLabel", "Cz"])
}

/// A wire between the computers: keeps what goes over it, and can change a byte of what the joining end sends.
pub(crate) struct Wire {
    pub(crate) address: String,
    seen: Arc<Mutex<Vec<u8>>>,
    newest: Arc<Mutex<Arc<Passed>>>,
    flip_at: Arc<AtomicUsize>,
}

/// What went over one connection, from the joining end and to it. The end of one may come after the beginning of the next.
type Passed = [Mutex<Vec<u8>>; 2];

impl Wire {
    pub(crate) fn to(there: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let (seen, flip_at) = (Arc::default(), Arc::new(AtomicUsize::new(usize::MAX)));
        let newest = Arc::<Mutex<Arc<Passed>>>::default();
        let wire = Self {
            address,
            seen: Arc::clone(&seen),
            newest: Arc::clone(&newest),
            flip_at: Arc::clone(&flip_at),
        };
        let there = there.to_owned();
        thread::spawn(move || {
            for here in listener.incoming().map_while(Result::ok) {
                let far = TcpStream::connect(&there).expect("the other end");
                let ends = |one: &TcpStream| one.try_clone().expect("a socket");
                let passed = Arc::<Passed>::default();
                *newest.lock().expect("whole") = Arc::clone(&passed);
                let (seen_there, passed_there) = (Arc::clone(&seen), Arc::clone(&passed));
                let (flip, from, to) = (Arc::clone(&flip_at), ends(&here), ends(&far));
                thread::spawn(move || pass_on(from, to, [&seen_there, &passed_there[0]], &flip));
                let seen_here = Arc::clone(&seen);
                let never = AtomicUsize::new(usize::MAX);
                thread::spawn(move || pass_on(far, here, [&seen_here, &passed[1]], &never));
            }
        });
        wire
    }

    /// How often each end has changed its key over the newest connection.
    pub(crate) fn rekeys(&self) -> [usize; 2] {
        let newest = Arc::clone(&self.newest.lock().expect("whole"));
        let [there, back] = &*newest;
        [(there, MESSAGES_1_AND_3), (back, MESSAGE_2)].map(|(bytes, handshake)| {
            let bytes = bytes.lock().expect("whole");
            Records(bytes.get(handshake..).unwrap_or_default()).filter(|kind| *kind == REKEY).count()
        })
    }

    fn has_seen(&self, text: &[u8]) -> bool {
        self.seen.lock().expect("whole").windows(text.len()).any(|window| window == text)
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, seen: [&Mutex<Vec<u8>>; 2], flip_at: &AtomicUsize) {
    let (mut bytes, mut passed) = ([0; 4096], 0);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let arrived = &mut bytes[..count];
        let flip = flip_at.load(Ordering::Relaxed);
        if let Some(byte) = flip.checked_sub(passed).and_then(|place| arrived.get_mut(place)) {
            *byte ^= 1;
        }
        passed += count;
        seen.iter().for_each(|seen| seen.lock().expect("whole").extend_from_slice(arrived));
        if to.write_all(arrived).is_err() {
            break;
        }
    }
    let _gone = to.shutdown(Shutdown::Write);
}

/// The types of the whole records on a wire (secure-session §4.1).
struct Records<'a>(&'a [u8]);

impl Iterator for Records<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let [kind, low, middle, high] = *self.0.first_chunk()?;
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        self.0 = self.0.get(4 + length + 16..)?;
        Some(kind)
    }
}

/// The type of a record that changes the key.
const REKEY: u8 = 2;
/// Bytes of a handshake that the joining end sends (secure-session §3.3).
const MESSAGES_1_AND_3: usize = "LSL:secure/1 hybrid\r\n".len() + 2 + 1232 + 2 + 336;
/// Bytes of a handshake that the sharing end sends.
const MESSAGE_2: usize = 2 + 1456;
/// Bytes before the first request: the handshake, and the hello (fieldtrip §19.2).
const BEFORE_THE_FIRST_REQUEST: usize = MESSAGES_1_AND_3 + 4 + 8 + 16;

#[test]
fn strangers_that_say_nothing_keep_no_member_out() {
    let lab = Lab::new("tunnel-crowd");
    found(&lab, "meg");
    enrol(&lab, "meg", "laptop", &[]);
    let (_buffer, shared) = share(&lab, &[]);
    let there = shared.address.trim_start_matches("buffer://");
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(there).expect("a connection")).collect();
    // Ends with its first line, or without one if it is turned away.
    let joined = join(&lab, "laptop", there);
    assert!(!joined.address.is_empty());
    drop(silent);
}

/// Spec: secure-session §3.9: 64 turns, and one more every 20 ms.
#[test]
fn strangers_in_a_flood_are_answered_no_oftener_than_there_are_turns_and_keep_no_member_out() {
    let lab = Lab::new("tunnel-flood");
    found(&lab, "meg");
    enrol(&lab, "meg", "laptop", &[]);
    let (_buffer, shared) = share(&lab, &[]);
    let there = shared.address.trim_start_matches("buffer://");
    let message_1 = [&b"LSL:secure/1 hybrid\r\n"[..], &1232_u16.to_be_bytes(), &[0; 1232]].concat();
    let begun = Instant::now();
    let strangers: Vec<_> = (0..400)
        .map(|_| {
            let mut stranger = TcpStream::connect(there).expect("a connection");
            // One that had to give way has been closed.
            let _closed_already = stranger.write_all(&message_1);
            stranger
        })
        .collect();
    let joined = join(&lab, "laptop", there);
    assert!(!joined.address.is_empty());
    let answered = strangers.into_iter().filter_map(|mut stranger| {
        stranger.set_nonblocking(true).ok()?;
        stranger.read(&mut [0]).ok().filter(|count| *count > 0)
    });
    let answered = answered.count() as u128;
    let turns = 64 + begun.elapsed().as_millis() / 20 + 1;
    assert!((1..=turns).contains(&answered), "{answered} answers for {turns} turns");
}

#[test]
fn a_buffer_elsewhere_is_as_if_it_were_here_and_the_wire_shows_nothing() {
    let lab = Lab::new("tunnel");
    found(&lab, "meg");
    enrol(&lab, "meg", "desk", &[]);
    let (buffer, shared) = share(&lab, &[]);
    let wire = Wire::to(&shared.address);
    let joined = join(&lab, "desk", &wire.address);

    let mut client = joined.client();
    client.put_header(&header()).expect("a header");
    let values: Vec<_> = (0..200_000_i32).collect();
    client.put_samples(2, &values).expect("samples");
    client.put_events(&[Event::text(7, "SecretEvent", "left")]).expect("events");
    let block = client.samples(0, 99_999).expect("samples");
    assert_eq!(block.numbers::<i32>().as_deref(), Some(&values[..]));
    assert_eq!(client.header().expect("a header").0.channel_names()[0], "SecretLabel");
    assert_eq!(client.all_events(), Ok(vec![Event::text(7, "SecretEvent", "left")]));
    let mut pipeline = client.pipeline();
    let one = SamplesDefinition::new(2, 1, DataType::Int32).expect("a small block");
    for _ in 0..50 {
        pipeline.put_sample_bytes(one, &[5; 8]).expect("room");
    }
    assert_eq!(pipeline.finish().expect("answers").len(), 50);

    // A writer at the other end wakes a reader that waits at this one.
    let mut there = buffer.client();
    let waiting = thread::spawn(move || {
        client.wait(Totals { samples: 100_050, events: NEVER }, Duration::from_secs(60))
    });
    there.put_samples(2, &[1, 2]).expect("a sample");
    assert_eq!(waiting.join().expect("no panic").map(|totals| totals.samples), Ok(100_051));

    let row: Vec<u8> = values[1000..1010].iter().flat_map(|value| value.to_le_bytes()).collect();
    for secret in [&b"SecretLabel"[..], b"SecretEvent", &row] {
        assert!(!wire.has_seen(secret), "it went in the clear");
    }
    assert!(wire.has_seen(b"LSL:secure/1 hybrid"));
    assert_eq!((joined.end().0, shared.end().0), (Some(0), Some(0)));
}

#[test]
fn hostile_bytes_end_their_own_connection_and_change_nothing() {
    let lab = Lab::new("tunnel-hostile");
    found(&lab, "meg");
    enrol(&lab, "meg", "desk", &[]);
    let (buffer, shared) = share(&lab, &[]);
    let wire = Wire::to(&shared.address);
    let joined = join(&lab, "desk", &wire.address);
    let mut client = joined.client();
    client.put_header(&header()).expect("a header");

    let line = b"LSL:secure/1 hybrid\r\n";
    let random: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let recorded = wire.seen.lock().expect("whole").clone();
    for bytes in [
        &[1, 0, 1, 2, 0, 0, 0, 0][..],
        b"LSL:streamfeed/110 x\r\n\r\n",
        b"LSL:secure/2 hybrid\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        line,
        &[&line[..], &1232_u16.to_be_bytes(), &[0; 1232]].concat(),
        &[&line[..], &1232_u16.to_be_bytes(), &[9; 1232], &random].concat(),
        &[&line[..], &u16::MAX.to_be_bytes()].concat(),
        &random,
        // A replay of everything that was said before.
        &recorded,
    ] {
        let mut stranger = TcpStream::connect(&shared.address).expect("a connection");
        stranger.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let _closed_already = stranger.write_all(bytes);
        let _closed_already = stranger.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        // A reset is an end, too.
        let _reset = stranger.read_to_end(&mut answer);
        assert!(answer.len() <= MESSAGE_2 + 1, "{} bytes for a stranger", answer.len());
        client.put_samples(2, &[1, 2]).expect("others are not disturbed");
    }
    assert_eq!(client.header().expect("a header").1.samples, 10);

    // One changed bit on the wire, in a record of a put: nothing of it reaches the buffer.
    wire.flip_at.store(BEFORE_THE_FIRST_REQUEST + 30, Ordering::Relaxed);
    let options = Options { timeout: Duration::from_secs(20), ..Options::default() };
    let mut tampered = schwann_fieldtrip::Client::new(joined.address.parse().expect("an address"), options);
    let outcome = tampered.put_samples(2, &[7; 200]);
    assert!(matches!(outcome, Err(ClientError::Disconnected(_))), "{outcome:?}");
    wire.flip_at.store(usize::MAX, Ordering::Relaxed);
    assert_eq!(buffer.client().header().expect("a header").1.samples, 10);
    tampered.put_samples(2, &[7; 2]).expect("the next connection is a new one");
}

#[test]
fn strangers_and_the_revoked_stay_out_and_hear_what_to_do() {
    let lab = Lab::new("tunnel-strangers");
    found(&lab, "meg");
    found(&lab, "elsewhere");
    enrol(&lab, "meg", "desk", &[]);
    let (_buffer, shared) = share(&lab, &[]);
    let there = ["ft", "tunnel", "join", &shared.address, "localhost:0"];
    let (code, said) = says(&lab, "elsewhere", &there);
    assert_eq!(code, Some(3));
    assert!(said.contains("another lab") && said.contains("schwann keys"), "{said}");

    let joined = join(&lab, "desk", &shared.address);
    joined.client().put_header(&header()).expect("a member may");
    let (code, said) = says(&lab, "meg", &["keys", "revoke", "2"]);
    assert_eq!(code, Some(0), "{said}");
    // The list at the computer of the buffer is read anew; the one here is as it was.
    let (code, said) = says(&lab, "desk", &there);
    assert_eq!(code, Some(3));
    assert!(said.contains("revoked") && said.contains("schwann keys status"), "{said}");
}

#[test]
fn a_device_that_may_only_receive_can_read_and_cannot_write() {
    let lab = Lab::new("tunnel-reader");
    found(&lab, "meg");
    enrol(&lab, "meg", "reader", &["--subscribe-only"]);
    enrol(&lab, "meg", "writer", &[]);
    let (buffer, shared) = share(&lab, &[]);
    let (mut reader, writer) = (join(&lab, "reader", &shared.address), join(&lab, "writer", &shared.address));
    writer.client().put_header(&header()).expect("a header");
    writer.client().put_samples(2, &[1, 2, 3, 4]).expect("samples");
    let mut reading = reader.client();
    assert_eq!(reading.samples(1, 1).expect("a sample").to_f64(), [3.0, 4.0]);
    assert!(matches!(reading.put_samples(2, &[5, 6]), Err(ClientError::Disconnected(_))));
    assert!(matches!(reading.flush_header(), Err(ClientError::Disconnected(_))));
    assert_eq!(reading.header().expect("reading goes on").1.samples, 2);
    assert_eq!(buffer.client().header().expect("a header").1.samples, 2);
    wait_for(reader.child.stderr.take().expect("a pipe"), "PutSamples would change the buffer");
}

#[test]
fn nobody_writes_to_a_buffer_that_is_shared_to_read() {
    let lab = Lab::new("tunnel-read-only");
    found(&lab, "meg");
    enrol(&lab, "meg", "desk", &[]);
    let (buffer, shared) = share(&lab, &["--read-only"]);
    buffer.client().put_header(&header()).expect("a header");
    let joined = join(&lab, "desk", &shared.address);
    let outcome = joined.client().put_samples(2, &[5, 6]);
    assert!(matches!(outcome, Err(ClientError::Disconnected(_))), "{outcome:?}");
    assert_eq!(joined.client().header().expect("a header").1.samples, 0);
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let lab = Lab::new("tunnel-wrong");
    let complains = |computer: &str, arguments: &[&str], of: &[&str]| {
        let (code, said) = says(&lab, computer, &[&["ft", "tunnel"], arguments].concat());
        assert_eq!(code, Some(3), "{said}");
        assert!(of.iter().all(|text| said.contains(text)), "{said}");
    };
    complains("nobody", &["share"], &["no key", "schwann keys init"]);
    complains("nobody", &["join", "localhost:9"], &["no key", "schwann keys join"]);
    found(&lab, "meg");
    complains("meg", &["share", "192.0.2.1:1972"], &["in the clear", "at the computer of the buffer"]);
    complains("meg", &["join", "localhost:9", "0.0.0.0:1972"], &["in the clear", "localhost:PORT"]);
    complains("meg", &["join", "127.0.0.1:9"], &["127.0.0.1:9", "schwann ft tunnel share"]);

    // A buffer that is not there, and a port that is a plain buffer's.
    let listen = ["ft", "tunnel", "share", "localhost:9", "--listen", "127.0.0.1:0"];
    let shared = Running::spawn(&mut at(&lab, "meg", &listen));
    complains("meg", &["join", &shared.address, "localhost:0"], &["schwann ft serve"]);
    let buffer = Running::spawn(&mut at(&lab, "meg", &["ft", "serve", "127.0.0.1:0"]));
    let plain = buffer.address.strip_prefix("buffer://").expect("an address");
    complains("meg", &["join", plain, "localhost:0"], &["schwann ft tunnel share"]);
}
