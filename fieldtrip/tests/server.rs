//! What a server owes its clients: speed for the unmodified ones, whole blocks for all, and to survive them.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::io::{self, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use schwann_fieldtrip::conversation::Conversation;
use schwann_fieldtrip::wire::{DataType, Event, Header, NEVER, Totals};
use schwann_fieldtrip::{
    Address, Buffer, Client, ClientError, Limits, Options, PeerId, Policy, Server, Stream, Style,
    serve_stream,
};

fn server() -> Server {
    Server::start(&Address::loopback(0), Buffer::default(), Policy::default()).unwrap()
}

fn client(server: &Server) -> Client {
    Client::connect(server.address().clone(), Options::default()).unwrap()
}

fn tcp(server: &Server) -> TcpStream {
    let Address::Tcp { host, port } = server.address() else { panic!("not TCP") };
    TcpStream::connect((host.as_str(), *port)).unwrap()
}

/// A put of uint8 samples of one channel.
fn put(count: u32) -> Vec<u8> {
    let mut message = vec![1, 0, 2, 1];
    for field in [16 + count, 1, count, 1, count] {
        message.extend_from_slice(&field.to_le_bytes());
    }
    message.extend((0..count).map(|n| n as u8));
    message
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_that_writes_twice_is_not_held_up() {
    let server = server();
    server.buffer().put_header(Header::new(1, 1.0, DataType::Uint8)).unwrap();
    // As the original's client: Nagle's algorithm on, definition and payload apart.
    let mut stream = tcp(&server);
    let sizes = [2_000, 4_000, 16_000, 60_000, 100_000, 262_144, 65_536, 2_000, 500_000, 8_000];
    let mut times = [const { Vec::new() }; 10];
    for place in (0..sizes.len()).cycle().take(10 * sizes.len()) {
        let count = sizes[place];
        let message = put(count);
        let begun = Instant::now();
        stream.write_all(&message[..8]).unwrap();
        stream.write_all(&message[8..]).unwrap();
        let mut reply = [0; 8];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply, [1, 0, 4, 1, 0, 0, 0, 0]);
        times[place].push(begun.elapsed());
    }
    // A stall is 40 ms. A busy machine can hold up some requests, but not half of those of a size.
    for times in &mut times {
        times.sort_unstable();
        assert!(times[5] < Duration::from_millis(30), "{times:?}");
    }
}

#[test]
fn blocks_stay_whole_while_headers_come_and_go() {
    let server = server();
    let is_over = AtomicBool::new(false);
    let read = AtomicU32::new(0);
    let harmless = |outcome: Result<(), ClientError>| {
        assert!(matches!(outcome, Ok(()) | Err(ClientError::Refused(_))), "{outcome:?}");
    };
    thread::scope(|scope| {
        for channels in [4_u32, 40] {
            let mut client = client(&server);
            let is_over = &is_over;
            scope.spawn(move || {
                let mut number = 0_u32;
                while !is_over.load(Ordering::Relaxed) {
                    if number.is_multiple_of(50) {
                        harmless(client.put_header(&Header::new(channels, 1.0, DataType::Uint32)));
                    } else if number % 50 == 49 {
                        harmless(client.flush_header());
                    }
                    harmless(client.put_samples(channels, &vec![number; channels as usize * 300]));
                    harmless(client.put_events(&[Event::number(-1, "n", 1)]));
                    number += 1;
                }
            });
        }
        for _ in 0..4 {
            let (mut client, is_over, read) = (client(&server), &is_over, &read);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let threshold = Totals { samples: 0, events: NEVER };
                    let Ok(totals) = client.wait(threshold, Duration::from_millis(20)) else { continue };
                    let first = totals.samples.saturating_sub(300) / 300 * 300;
                    if let Ok(block) = client.samples(first, first + 299) {
                        let numbers = block.numbers::<u32>().unwrap();
                        assert!(numbers.iter().all(|number| *number == numbers[0]), "a block is mixed");
                        read.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) && read.load(Ordering::Relaxed) < 500 {
            thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(read.load(Ordering::Relaxed) >= 500);
}

#[test]
fn a_client_that_never_reads_costs_little_and_holds_up_nobody() {
    let limits = Limits { reply_bytes: 1 << 20, ..Limits::default() };
    let policy = Policy { limits, ..Policy::default() };
    let server = Server::start(&Address::loopback(0), Buffer::default(), policy).unwrap();
    server.buffer().put_header(Header::new(64, 1.0, DataType::Float64)).unwrap();
    for _ in 0..200 {
        server.buffer().put_samples(64, &vec![1.0_f64; 64 * 1000]).unwrap();
    }
    let mut stalled = tcp(&server);
    for _ in 0..100 {
        stalled.write_all(&[1, 0, 2, 2, 0, 0, 0, 0]).unwrap();
    }
    let mut client = client(&server);
    for _ in 0..100 {
        client.put_samples(64, &vec![2.0_f64; 64 * 100]).unwrap();
    }
    assert_eq!(client.header().unwrap().1.samples, 210_000);
    drop(server);
}

#[test]
fn silence_ends_a_connection_if_it_may_but_waiting_is_not_silence() {
    let limits = Limits { idle: Some(Duration::from_millis(50)), ..Limits::default() };
    let server =
        Server::start(&Address::loopback(0), Buffer::default(), Policy { limits, ..Policy::default() })
            .unwrap();
    server.buffer().put_header(Header::new(1, 1.0, DataType::Uint8)).unwrap();
    let mut waiting = client(&server);
    let never = Totals { samples: NEVER, events: NEVER };
    assert_eq!(waiting.wait(never, Duration::from_millis(300)), Ok(Totals::default()));
    let mut silent = tcp(&server);
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
}

#[test]
fn thousands_of_connections_leave_nothing_behind() {
    let server = server();
    server.buffer().put_header(Header::new(1, 1.0, DataType::Uint8)).unwrap();
    let options = Options { style: Style::Stateless, ..Options::default() };
    let mut client = Client::new(server.address().clone(), options);
    for _ in 0..3000 {
        client.put_samples(1, &[1_u8]).unwrap();
    }
    assert_eq!(client.header().unwrap().1.samples, 3000);
    let begun = Instant::now();
    while server.stats().peers > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", server.stats());
        thread::yield_now();
    }
    assert_eq!(server.stats().accepted, 3001);
}

#[test]
fn one_program_serves_many_buffers_and_one_buffer_has_many_doors() {
    let buffers = [Buffer::default(), Buffer::default()];
    let servers = [0, 1, 1].map(|index: usize| {
        Server::start(&Address::loopback(0), buffers[index].clone(), Policy::default()).unwrap()
    });
    client(&servers[0]).put_header(&Header::new(1, 1.0, DataType::Uint8)).unwrap();
    client(&servers[1]).put_header(&Header::new(2, 1.0, DataType::Uint8)).unwrap();
    assert_eq!(client(&servers[0]).header().unwrap().0.channel_count, 1);
    assert_eq!(client(&servers[2]).header().unwrap().0.channel_count, 2);
}

#[test]
fn localhost_is_reached_by_both_protocols() {
    let server = server();
    let Address::Tcp { port, .. } = *server.address() else { panic!("not TCP") };
    let is_there = |host: &str| TcpListener::bind((host, 0)).is_ok();
    for host in ["127.0.0.1", "::1"].into_iter().filter(|host| is_there(host)) {
        TcpStream::connect((host, port)).unwrap();
    }
}

#[test]
fn any_byte_stream_can_be_served() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (there, _) = listener.accept().unwrap();
    let buffer = Buffer::default();
    buffer.put_header(Header::new(1, 1.0, DataType::Uint8)).unwrap();
    let conversation = Conversation::new(buffer.clone(), Arc::new(Policy::default()), PeerId(0));
    thread::scope(|scope| {
        scope.spawn(move || serve_stream(&mut Tunnel(there), conversation).unwrap());
        here.write_all(&put(3)).unwrap();
        let mut reply = [0; 8];
        here.read_exact(&mut reply).unwrap();
        assert_eq!(reply, [1, 0, 4, 1, 0, 0, 0, 0]);
        // Until there are more than three samples, for up to a minute.
        here.write_all(&[1, 0, 2, 4, 12, 0, 0, 0, 3, 0, 0, 0, 255, 255, 255, 255, 96, 234, 0, 0]).unwrap();
        buffer.put_samples(1, &[9_u8]).unwrap();
        let mut reply = [0; 16];
        here.read_exact(&mut reply).unwrap();
        assert_eq!(reply, [1, 0, 4, 4, 8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
        drop(here);
    });
}

/// A stream that can do no more than it must.
struct Tunnel(TcpStream);

impl Stream for Tunnel {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }

    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        parts.iter().try_for_each(|part| self.0.write_all(part))
    }
}
