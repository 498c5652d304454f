use std::thread;

use super::*;
use crate::policy::Policy;
use crate::serve::Server;
use crate::store::Capacity;
use crate::wire::{DataType, NEVER};
use crate::{Buffer, Limits};

fn server() -> Server {
    Server::start(&Address::loopback(0), Buffer::default(), Policy::default()).unwrap()
}

fn client(server: &Server, options: Options) -> Client {
    Client::connect(server.address().clone(), options).unwrap()
}

fn header() -> Header {
    Header::new(2, 250.0, DataType::Int16).with_channel_names(["Fz", "Cz"])
}

#[test]
fn every_command_works_in_every_style_and_order() {
    for style in [Style::Stateful, Style::Stateless] {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let server = server();
            let mut client = client(&server, Options { style, order, ..Options::default() });
            assert_eq!(client.header().err(), Some(ClientError::Refused(517)));
            assert_eq!(client.put_samples(2, &[1_i16, 2]).err(), Some(ClientError::Refused(261)));
            assert_eq!(client.flush_header().err(), Some(ClientError::Refused(773)));
            assert_eq!(
                client.wait(Totals::default(), Duration::ZERO).err(),
                Some(ClientError::Refused(1029))
            );
            client.put_header(&header()).unwrap();
            client.put_samples(2, &[1_i16, 2, 3, 4]).unwrap();
            client.put_samples(2, &vec![7_i16; 100_000]).unwrap();
            let events = [Event::number(1, "trigger", 7), Event::text(2, "stim", "left")];
            client.put_events(&events).unwrap();
            assert_eq!(client.header().unwrap(), (header(), Totals { samples: 50_002, events: 2 }));
            assert_eq!(client.samples(0, 2).unwrap().numbers::<i16>().unwrap()[..], [1, 2, 3, 4, 7, 7]);
            assert_eq!(client.samples(2, 50_001).unwrap().values, bytemuck::cast_slice(&[7_i16; 100_000]));
            assert_eq!(client.samples(2, 50_002).err(), Some(ClientError::Refused(517)));
            assert_eq!(client.samples(3, 3).unwrap().definition.sample_count, 1);
            assert_eq!(client.events(0, 1).unwrap(), events);
            assert_eq!(client.all_events().unwrap(), events);
            client.flush_events().unwrap();
            assert_eq!(client.all_events().unwrap(), []);
            client.flush_samples().unwrap();
            let never = Totals { samples: NEVER, events: NEVER };
            assert_eq!(client.wait(never, Duration::from_millis(1)), Ok(Totals::default()));
            client.flush_header().unwrap();
        }
    }
}

#[test]
fn a_row_of_requests_is_answered_in_order_however_long_it_is() {
    let server = server();
    let mut client = client(&server, Options::default());
    client.put_header(&header()).unwrap();
    let block = SamplesDefinition::new(2, 1, DataType::Int16).unwrap();
    let wrong = SamplesDefinition { channel_count: 3, ..block };
    let mut row = client.pipeline();
    for n in 0..5000_u32 {
        row.put_sample_bytes(if n == 70 { wrong } else { block }, &n.to_le_bytes()).unwrap();
    }
    row.header().unwrap();
    row.samples(Selection { begin: 4998, end: 4998 }).unwrap();
    row.events(Selection { begin: 0, end: 0 }).unwrap();
    let answers = row.finish().unwrap();
    assert_eq!(answers.len(), 5003);
    assert_eq!(answers[70].outcome, Err(ClientError::Refused(261)));
    assert_eq!(answers[5001].outcome.as_ref().unwrap()[16..], 4999_u32.to_le_bytes());
    assert_eq!(answers[5002].outcome, Err(ClientError::Refused(517)));
    assert_eq!(client.header().unwrap().1.samples, 4999);
}

#[test]
fn waiting_readers_are_told_at_once_and_the_longest_time_out_is_no_problem() {
    let server = server();
    server.buffer().put_header(header()).unwrap();
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..4)
            .map(|n| {
                let mut client = client(&server, Options::default());
                scope.spawn(move || {
                    let threshold = Totals { samples: n, events: NEVER };
                    client.wait(threshold, Duration::from_millis(u32::MAX.into()))
                })
            })
            .collect();
        let mut writer = client(&server, Options::default());
        for _ in 0..4 {
            writer.put_samples(2, &[0_i16; 2]).unwrap();
        }
        for reader in waiting {
            assert!(reader.join().unwrap().unwrap().samples > 0);
        }
    });
}

#[test]
fn an_even_series_is_followed_to_its_end_which_is_a_time_out() {
    let server = server();
    server.buffer().put_header(header()).unwrap();
    let mut client = client(&server, Options::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..100 {
                // Nothing ends this wait: it paces.
                let never = Totals { samples: NEVER, events: NEVER };
                server.buffer().wait(never, Duration::from_millis(1)).unwrap();
                server.buffer().put_samples(2, &[0_i16; 2]).unwrap();
            }
        });
        let mut seen = 0;
        while seen < 100 {
            let threshold = Totals { samples: seen, events: NEVER };
            let totals = client.wait(threshold, Duration::from_secs(60)).unwrap();
            assert!(totals.samples > seen);
            seen = totals.samples;
        }
    });
    let threshold = Totals { samples: 100, events: NEVER };
    assert_eq!(client.wait(threshold, Duration::from_millis(1)), Ok(Totals { samples: 100, events: 0 }));
}

#[test]
fn a_wait_ends_when_its_client_goes() {
    let server = server();
    server.buffer().put_header(header()).unwrap();
    let mut client = client(&server, Options { timeout: Duration::from_millis(20), ..Options::default() });
    let never = Totals { samples: NEVER, events: NEVER };
    let hour = WaitRequest { threshold: never, timeout_ms: 3_600_000 }.encode(ByteOrder::Little);
    client.send(Command::Wait, &[&hour]).unwrap();
    while server.stats().peers == 0 {
        thread::yield_now();
    }
    drop(client);
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.stats().peers > 0 {
        assert!(Instant::now() < deadline, "the connection is still there");
        thread::yield_now();
    }
}

#[test]
fn a_silent_server_does_not_hang_the_client() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = Options { timeout: Duration::from_millis(30), ..Options::default() };
    let mut client = Client::new(Address::Tcp { host: "127.0.0.1".into(), port }, options);
    assert_eq!(client.header().err(), Some(ClientError::TimedOut));
}

#[test]
fn a_broken_connection_is_made_again_for_reading() {
    let first = server();
    first.buffer().put_header(header()).unwrap();
    let mut client = client(&first, Options::default());
    client.header().unwrap();
    let address = first.address().clone();
    drop(first);
    let buffer = Buffer::default();
    buffer.put_header(Header::new(5, 1.0, DataType::Uint8)).unwrap();
    let _second = Server::start(&address, buffer, Policy::default()).unwrap();
    assert_eq!(client.header().unwrap().0.channel_count, 5);
}

#[test]
fn too_many_clients_are_turned_away_and_the_others_served() {
    let limits = Limits { peers: 2, ..Limits::default() };
    let policy = Policy { limits, ..Policy::default() };
    let server = Server::start(&Address::loopback(0), Buffer::default(), policy).unwrap();
    let mut clients: Vec<_> = (0..2).map(|_| client(&server, Options::default())).collect();
    for client in &mut clients {
        assert_eq!(client.header().err(), Some(ClientError::Refused(517)));
    }
    let outcome = client(&server, Options::default()).header();
    assert!(matches!(outcome, Err(ClientError::Disconnected(_))), "{outcome:?}");
    assert_eq!(clients[0].header().err(), Some(ClientError::Refused(517)));
    assert!(server.stats().turned_away >= 1);
}

#[test]
fn a_follower_gets_each_sample_and_event_once_through_restarts_and_overruns() {
    let capacity = Capacity { samples: 100, events: 10, ..Capacity::default() };
    let server = Server::start(&Address::loopback(0), Buffer::new(capacity), Policy::default()).unwrap();
    let buffer = server.buffer();
    let mut follower = Follower::new(client(&server, Options::default()), Start::Newest);
    let mut next = || follower.next_update(Duration::from_millis(20)).unwrap();
    assert_eq!(next(), None);
    buffer.put_header(header()).unwrap();
    buffer.put_samples(2, &[1_i16; 20]).unwrap();
    assert_eq!(next(), Some(Update::Header(header())));
    buffer.put_samples(2, &[2_i16; 4]).unwrap();
    buffer.put_events(&[Event::text(10, "a", "b")]).unwrap();
    let events = vec![Event::text(10, "a", "b")];
    assert_eq!(next(), Some(Update::Events { first: 0, events }));
    assert!(matches!(next(), Some(Update::Samples(Block { first: 10, .. }))));
    assert_eq!(next(), None);
    for _ in 0..3 {
        buffer.put_samples(2, &[3_i16; 100]).unwrap();
    }
    assert_eq!(next(), Some(Update::Lost { samples: 50, events: 0 }));
    assert!(matches!(next(), Some(Update::Samples(block)) if (block.first, block.values.len()) == (62, 400)));
    buffer.put_header(Header::new(1, 1.0, DataType::Int16)).unwrap();
    buffer.put_samples(1, &[5_i16]).unwrap();
    assert!(matches!(next(), Some(Update::Header(header)) if header.channel_count == 1));
    assert!(matches!(next(), Some(Update::Samples(Block { first: 0, .. }))));
    let many: Vec<_> = (0..25).map(|n| Event::number(n, "n", n)).collect();
    buffer.put_events(&many).unwrap();
    assert_eq!(next(), Some(Update::Lost { samples: 0, events: 15 }));
    assert_eq!(next(), Some(Update::Events { first: 15, events: many[15..].to_vec() }));
}

#[test]
fn a_follower_that_comes_late_gets_all_that_the_ring_still_has() {
    let capacity = Capacity { samples: 600, events: 10, ..Capacity::default() };
    let server = Server::start(&Address::loopback(0), Buffer::new(capacity), Policy::default()).unwrap();
    let buffer = server.buffer();
    buffer.put_header(header()).unwrap();
    (0..10_i16).for_each(|n| buffer.put_samples(2, &[n; 200]).unwrap());
    for longest in [64, u32::MAX] {
        let follower = Follower::new(client(&server, Options::default()), Start::Oldest);
        let mut follower = follower.with_longest_block(longest);
        let mut next = || follower.next_update(Duration::from_millis(20)).unwrap();
        assert_eq!(next(), Some(Update::Header(header())));
        assert_eq!(next(), Some(Update::Lost { samples: 400, events: 0 }));
        let mut numbers = Vec::new();
        while let Some(update) = next() {
            let Update::Samples(block) = update else { panic!("{update:?}") };
            assert_eq!(block.first as usize, 400 + numbers.len() / 2);
            numbers.extend_from_slice(&block.numbers::<i16>().unwrap());
        }
        assert_eq!(numbers, (4..10).flat_map(|n| [n; 200]).collect::<Vec<_>>());
    }
}

#[test]
fn samples_of_another_shape_are_those_of_another_acquisition() {
    let server = server();
    let buffer = server.buffer();
    for other in [Header::new(3, 250.0, DataType::Int16), Header::new(2, 250.0, DataType::Uint16)] {
        let mut follower = Follower::new(client(&server, Options::default()), Start::Oldest);
        let mut next = || follower.next_update(Duration::from_millis(20)).unwrap();
        buffer.put_header(header()).unwrap();
        buffer.put_samples(2, &[1_i16; 20]).unwrap();
        assert_eq!(next(), Some(Update::Header(header())));
        assert!(matches!(next(), Some(Update::Samples(Block { first: 0, .. }))));
        buffer.put_header(other.clone()).unwrap();
        // More than before, so that the counts never look smaller.
        match other.data_type {
            DataType::Int16 => buffer.put_samples(3, &[2_i16; 60]).unwrap(),
            _ => buffer.put_samples(2, &[2_u16; 40]).unwrap(),
        }
        assert_eq!(next(), Some(Update::Header(other)));
        let Some(Update::Samples(block)) = next() else { panic!("no samples") };
        assert_eq!((block.first, block.definition.sample_count), (0, 20));
    }
}

#[test]
fn a_host_that_does_not_exist_is_not_waited_for() {
    let address = Address::Tcp { host: "no-such-host.invalid".into(), port: 1972 };
    let options = Options { patience: Duration::from_secs(3600), ..Options::default() };
    let refused = Client::connect(address, options).expect_err("no host");
    assert_eq!(refused, ClientError::UnknownHost);
}
