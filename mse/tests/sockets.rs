//! Handshakes over real sockets on the loopback address: policies, fall-back, slow and probing peers.
#![cfg(feature = "std")]

mod support;

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use schwann_mse::net::{AcceptError, Acceptor, Connection, DialError, Dialler};
use schwann_mse::policy::{Attempt, Cause, Policy};
use schwann_mse::{BtHandshake, Group, InfoHash, Method, Methods};
use support::Random;

const TORRENT: InfoHash = InfoHash([0x42; 20]);

fn handshake(name: u8) -> BtHandshake {
    BtHandshake { reserved: [0; 8], info_hash: TORRENT, peer_id: [name; 20] }
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

/// Accepts connections until one is accepted, as `acceptor` says; then echoes one exchange.
fn serve(listener: TcpListener, acceptor: Acceptor<InfoHash>) -> thread::JoinHandle<Attempt> {
    thread::spawn(move || {
        loop {
            let (socket, _) = listener.accept().expect("a peer comes");
            let Ok(Connection { mut stream, attempt, .. }) = acceptor.accept(socket) else { continue };
            let mut theirs = [0; 68];
            stream.read_exact(&mut theirs).expect("their handshake");
            assert_eq!(BtHandshake::parse(&theirs), Some(handshake(b'a')));
            stream.write_all(&handshake(b'b').encode()).expect("ours");
            let mut block = vec![0; 100_000];
            stream.read_exact(&mut block).expect("a block");
            stream.write_in_place(&mut block).expect("and back");
            return attempt;
        }
    })
}

fn converse(connection: Connection) {
    let mut random = Random(11);
    let block = random.bytes(100_000);
    let (mut reader, mut writer) = connection.stream.split().expect("a socket splits");
    let mut theirs = [0; 68];
    reader.read_exact(&mut theirs).expect("their handshake");
    assert_eq!(BtHandshake::parse(&theirs), Some(handshake(b'b')));
    let sent = block.clone();
    let sender = thread::spawn(move || writer.write_all(&sent).map(|()| writer));
    let mut back = vec![0; block.len()];
    reader.read_exact(&mut back).expect("the block");
    assert_eq!(back, block);
    sender.join().expect("no panic").expect("sent");
}

#[test]
fn policies_meet_as_the_table_says() {
    use Policy::{Allowed, Disabled, Preferred, Required};
    let mse = Some(Attempt::Mse);
    let plain = Some(Attempt::Plain);
    for (ours, theirs, expected) in [
        (Disabled, Disabled, plain),
        (Disabled, Allowed, plain),
        (Disabled, Preferred, plain),
        (Disabled, Required, None),
        (Allowed, Disabled, plain),
        (Allowed, Preferred, plain),
        (Allowed, Required, mse),
        (Preferred, Disabled, plain),
        (Preferred, Allowed, mse),
        (Preferred, Required, mse),
        (Required, Disabled, None),
        (Required, Preferred, mse),
        (Required, Required, mse),
    ] {
        let (listener, address) = listener();
        let server = serve(listener, Acceptor::new(TORRENT, theirs));
        let dialler = Dialler::new(ours);
        match dialler.dial(address, &handshake(b'a')) {
            Ok(connection) => {
                assert_eq!(Some(connection.attempt), expected, "{ours:?} to {theirs:?}");
                let rc4 = connection.attempt == Attempt::Mse;
                assert_eq!(connection.stream.method() == Method::Rc4, rc4);
                converse(connection);
                assert_eq!(server.join().ok(), expected);
            }
            Err(error) => {
                assert_eq!(expected, None, "{ours:?} to {theirs:?}: {error}");
                // The server is still waiting; it ends with the test program.
            }
        }
    }
}

#[test]
fn a_peer_that_wants_the_payload_in_the_clear_is_reached_unless_rc4_is_required() {
    for policy in [Policy::Preferred, Policy::Allowed, Policy::Required] {
        let (listener, address) = listener();
        let mut acceptor = Acceptor::new(TORRENT, Policy::Required);
        acceptor.accept.methods = Methods::of(&[Method::Plaintext]);
        acceptor.accept.preferred = Method::Plaintext;
        let server = serve(listener, acceptor);
        let dialler = Dialler::new(policy);
        match dialler.dial(address, &handshake(b'a')) {
            Ok(connection) => {
                assert_ne!(policy, Policy::Required);
                assert_eq!(connection.attempt, Attempt::MseAnyPayload);
                assert_eq!(connection.stream.method(), Method::Plaintext);
                converse(connection);
                assert_eq!(server.join().ok(), Some(Attempt::Mse));
            }
            Err(error) => {
                assert_eq!(policy, Policy::Required, "{error}");
                assert!(error.to_string().contains("payload in the clear"), "{error}");
            }
        }
    }
}

#[test]
fn experience_with_a_peer_saves_the_failed_attempt_next_time() {
    let (listener, address) = listener();
    let dialler = Dialler::new(Policy::Preferred);
    let counting = thread::spawn(move || {
        let acceptor = Acceptor::new(TORRENT, Policy::Disabled);
        let mut outcomes = Vec::new();
        while outcomes.iter().filter(|ok| **ok).count() < 2 {
            let (socket, _) = listener.accept().expect("a peer comes");
            let accepted = acceptor.accept(socket);
            if let Ok(mut connection) = accepted {
                connection.stream.write_all(&handshake(b'b').encode()).expect("sent");
                outcomes.push(true);
            } else {
                outcomes.push(false);
            }
        }
        outcomes
    });
    for _ in 0..2 {
        let reached = dialler.dial(address, &handshake(b'a')).expect("plain works");
        assert_eq!(reached.attempt, Attempt::Plain);
    }
    assert_eq!(counting.join().expect("no panic"), [false, true, true]);
}

#[test]
fn private_methods_work_between_peers_that_know_them_and_fall_away_with_others() {
    let rc4 = Policy::Required.accept();
    for (accepted, group, expected) in [
        (Methods::PRIVATE, Group::Mse768, Method::Aes128Ctr),
        (Methods::of(&[Method::Aes256Ctr, Method::Rc4]), Group::Mse768, Method::Aes256Ctr),
        (Methods::PRIVATE, Group::Oakley1024, Method::Aes128Ctr),
        (rc4.methods, Group::Mse768, Method::Rc4),
    ] {
        let (listener, address) = listener();
        let mut acceptor = Acceptor::new(TORRENT, Policy::Required);
        acceptor.accept.methods = accepted;
        acceptor.accept.preferred = expected;
        acceptor.group = group;
        let server = serve(listener, acceptor);
        let mut dialler = Dialler::new(Policy::Required);
        dialler.methods = Methods::PRIVATE;
        dialler.group = group;
        let connection = dialler.dial(address, &handshake(b'a')).expect("one method is common");
        assert_eq!(connection.stream.method(), expected);
        converse(connection);
        server.join().expect("no panic");
    }
}

#[test]
fn a_peer_in_another_group_ends_in_an_error_that_names_the_group() {
    let (listener, address) = listener();
    let mut acceptor = Acceptor::new(TORRENT, Policy::Required);
    acceptor.timeout = Duration::from_millis(300);
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a peer comes");
        acceptor.accept(socket).map(|_| ())
    });
    let mut dialler = Dialler::new(Policy::Required);
    dialler.group = Group::Oakley1024;
    dialler.timeout = Duration::from_millis(600);
    let error = dialler.dial(address, &handshake(b'a')).expect_err("keys of different lengths");
    assert!(error.to_string().contains("1,024-bit group"), "{error}");
    assert!(server.join().expect("no panic").is_err());
}

/// Runs one stranger's behaviour against a responder with a short deadline; returns how that ended.
fn probe(script: impl FnOnce(TcpStream)) -> (AcceptError, Duration) {
    let (listener, address) = listener();
    let mut acceptor = Acceptor::new(TORRENT, Policy::Required);
    acceptor.timeout = Duration::from_millis(200);
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a peer comes");
        let began = Instant::now();
        let outcome = acceptor.accept(socket);
        (outcome.expect_err("no peer shook hands"), began.elapsed())
    });
    script(TcpStream::connect(address).expect("listening"));
    server.join().expect("no panic")
}

fn timed_out(outcome: &(AcceptError, Duration)) -> bool {
    let (error, took) = outcome;
    matches!(error, AcceptError::Failed(failure) if failure.cause == Cause::TimedOut)
        && *took >= Duration::from_millis(150)
        && *took < Duration::from_secs(5)
}

#[test]
fn silent_slow_and_probing_peers_run_into_one_deadline() {
    let key = Random(12).key(Group::Mse768);
    let wait_for_close = |mut socket: TcpStream| {
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    };
    // Says nothing.
    assert!(timed_out(&probe(wait_for_close)));
    // Sends its key and then nothing.
    let outcome = probe(|mut socket| {
        socket.write_all(key.public_key()).expect("sent");
        wait_for_close(socket);
    });
    assert!(timed_out(&outcome), "{outcome:?}");
    // Trickles a byte at a time, each well within any time-out of a single read.
    let outcome = probe(|mut socket| {
        let trickle = key.public_key().iter().cycle();
        socket.set_read_timeout(Some(Duration::from_millis(5))).expect("a time-out");
        for byte in trickle {
            let closed = matches!(socket.read(&mut [0]), Ok(0));
            if closed || socket.write_all(&[*byte]).is_err() {
                break;
            }
        }
    });
    let (error, took) = &outcome;
    assert!(*took < Duration::from_secs(5) && matches!(error, AcceptError::Failed(_)), "{outcome:?}");
    // Sends noise without end.
    let (error, took) = probe(|mut socket| while socket.write_all(&[7; 4_096]).is_ok() {});
    assert!(matches!(error, AcceptError::Failed(_)) && took < Duration::from_secs(5), "{error:?}");
    // A plain peer at a port that requires MSE.
    let (error, _) = probe(|mut socket| {
        socket.write_all(&handshake(b'a').encode()).expect("sent");
        wait_for_close(socket);
    });
    assert!(matches!(error, AcceptError::Failed(failure) if failure.cause == Cause::PlainPeer));
    // Closes after every number of bytes.
    for count in (0..96).step_by(19) {
        let (error, _) = probe(|mut socket| {
            socket.write_all(&key.public_key()[..count]).expect("sent");
        });
        assert!(matches!(error, AcceptError::Failed(failure) if failure.cause == Cause::Closed));
    }
}

#[test]
fn an_initiator_gives_up_on_a_silent_peer_at_its_deadline() {
    let (listener, address) = listener();
    let mut dialler = Dialler::new(Policy::Required);
    dialler.timeout = Duration::from_millis(200);
    let began = Instant::now();
    let error = dialler.dial(address, &handshake(b'a')).expect_err("no answer");
    assert!(matches!(error, DialError::Failed(failure) if failure.cause == Cause::TimedOut));
    assert!(began.elapsed() < Duration::from_secs(5));
    drop(listener);
}

#[test]
fn a_plain_answer_makes_the_preferring_dial_again_in_the_clear_and_the_requiring_give_up() {
    for policy in [Policy::Preferred, Policy::Required] {
        let (listener, address) = listener();
        let server = thread::spawn(move || {
            // It takes our key for noise and speaks up all the same.
            let (mut first, _) = listener.accept().expect("a peer comes");
            first.write_all(&handshake(b'b').encode()).expect("sent");
            if policy == Policy::Preferred {
                let (mut second, _) = listener.accept().expect("it comes again");
                let mut theirs = [0; 68];
                second.read_exact(&mut theirs).expect("their handshake");
                assert_eq!(BtHandshake::parse(&theirs), Some(handshake(b'a')));
                second.write_all(&handshake(b'b').encode()).expect("sent");
            }
            let _ = first.read(&mut [0]);
        });
        match Dialler::new(policy).dial(address, &handshake(b'a')) {
            Ok(connection) => assert_eq!((policy, connection.attempt), (Policy::Preferred, Attempt::Plain)),
            Err(DialError::Failed(failure)) => {
                assert_eq!((policy, failure.cause), (Policy::Required, Cause::PlainPeer));
            }
            Err(error) => panic!("{policy:?}: {error}"),
        }
        server.join().expect("no panic");
    }
}

#[test]
fn strangers_that_say_nothing_keep_no_peer_out() {
    let (listener, address) = listener();
    let acceptor = Arc::new(Acceptor::new(TORRENT, Policy::Required));
    thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let acceptor = Arc::clone(&acceptor);
            thread::spawn(move || {
                let Ok(mut connection) = acceptor.accept(socket) else { return };
                let _ = connection.stream.write_all(&handshake(b'b').encode());
                let _ = connection.stream.read_exact(&mut [0; 69]);
            });
        }
    });
    let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let dialler = Dialler::new(Policy::Required);
    let answer = || {
        let mut theirs = [0; 68];
        dialler.dial(address, &handshake(b'a')).ok()?.stream.read_exact(&mut theirs).ok()?;
        BtHandshake::parse(&theirs)
    };
    // On a busy machine the acceptor's threads may look at the silent ones after it, which then gives way to them.
    assert_eq!((0..5).find_map(|_| answer()), Some(handshake(b'b')));
    drop(silent);
}
