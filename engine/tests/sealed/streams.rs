//! Sealed streams between an outlet and an inlet over real sockets.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use schwann::Error;
use schwann::inlet::{Inlet, Protection, Recover};
use schwann::outlet::Flush;
use schwann::security::Policy;
use schwann_proto::stream_info::IpVersion;

use crate::sealing::{LONG, Lab, SHORT, context, description_of, inlet, inlet_of, network, outlet};

#[test]
fn everything_of_a_stream_comes_through_the_seal() {
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let receiving = context(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let outlet = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    assert_eq!(inlet.full_info(LONG).expect("a description").uid(), outlet.info().uid());
    let values: Vec<f32> = (0..80_000_u32).map(|value| value as f32).collect();
    let pusher = std::thread::spawn(move || {
        for value in 0..10_000_u32 {
            outlet.push_sample(&[value as f32; 8], f64::from(value) + 1.0, Flush::Now).expect("a push");
        }
        outlet
    });
    for value in 0..10_000_u32 {
        let mut sample = [0.0_f32; 8];
        assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(f64::from(value) + 1.0)));
        assert_eq!(sample, [value as f32; 8]);
    }
    let outlet = pusher.join().expect("no panic");
    // After the samples were pulled: all together would be more than an inlet keeps.
    for _ in 0..3 {
        outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
    }
    for _ in 0..3 {
        let mut pulled = vec![0.0_f32; 80_000];
        assert_eq!(inlet.pull_chunk(&mut pulled, &mut [], LONG), Ok(10_000));
        assert!(pulled == values);
    }
    drop(outlet);
}

#[test]
fn many_inlets_and_one_that_comes_late_receive_sealed_samples() {
    const INLETS: usize = 24;
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let outlet = outlet(&sending).expect("an outlet");
    let inlets: Vec<_> = (2..)
        .take(INLETS)
        .map(|serial| {
            let receiving = context(&network, Policy::Require, Some(lab.member(serial, |_| {})));
            inlet_of(&description_of(&outlet), &receiving, Recover::BySourceId).expect("an inlet")
        })
        .collect();
    let (late, early) = inlets.split_last().expect("inlets");
    early.iter().for_each(|inlet| inlet.open_stream(LONG).expect("a connection"));
    assert!(outlet.wait_for_consumers(INLETS - 1, Some(Duration::from_secs_f64(LONG))));
    let push = |stamps: core::ops::Range<u32>| {
        for stamp in stamps {
            outlet.push_sample(&[stamp as f32; 8], f64::from(stamp), Flush::Now).expect("a push");
        }
    };
    let receive = |inlet: &Inlet, stamps: core::ops::Range<u32>| {
        for stamp in stamps {
            let mut sample = [0.0_f32; 8];
            assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(f64::from(stamp))));
            assert_eq!(sample, [stamp as f32; 8]);
        }
    };
    push(1..501);
    late.open_stream(LONG).expect("a connection");
    assert!(outlet.wait_for_consumers(INLETS, Some(Duration::from_secs_f64(LONG))));
    push(501..1001);
    early.iter().for_each(|inlet| receive(inlet, 1..1001));
    receive(late, 501..1001);
}

#[test]
fn clock_probes_of_a_sealed_stream_are_sealed() {
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let receiving = context(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let outlet = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    let offset = inlet.clock_offset(LONG).expect("an offset").offset;
    assert!(offset.abs() < 0.01, "{offset}");
    // A probe in the clear gets no answer; one of a stranger's making neither.
    let port = outlet.info().endpoint(IpVersion::V4).service_port;
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    stranger.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    stranger.send_to(b"LSL:timedata\r\n1 0.0\r\n", ("127.0.0.1", port)).expect("sent");
    stranger.send_to(&[0x5c; 60], ("127.0.0.1", port)).expect("sent");
    assert!(stranger.recv(&mut [0; 100]).is_err());
}

#[test]
fn a_restarted_sealed_stream_is_found_again() {
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let receiving = context(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let first = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    drop(first);
    let second = outlet(&sending).expect("an outlet");
    assert!(second.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    second.push_sample(&[2.0_f32; 8], 6.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0.0_f32; 8], LONG), Ok(Some(6.0)));
}

/// How a relay treats the connections it takes.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Mood {
    Closes,
    Forwards,
}

/// Takes connections for an outlet, and keeps the first bytes of each.
struct Relay {
    port: u16,
    mood: Arc<Mutex<Mood>>,
    began: Arc<Mutex<Vec<Vec<u8>>>>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let relay = Self {
            port: listener.local_addr().expect("bound").port(),
            mood: Arc::new(Mutex::new(Mood::Forwards)),
            began: Arc::default(),
            ends: Arc::default(),
        };
        let (mood, began, ends) =
            (Arc::clone(&relay.mood), Arc::clone(&relay.began), Arc::clone(&relay.ends));
        std::thread::spawn(move || {
            for mut near in listener.incoming().map_while(Result::ok) {
                let mut first = vec![0; 4096];
                let count = near.read(&mut first).unwrap_or_default();
                first.truncate(count);
                let mood = *mood.lock().expect("whole");
                began.lock().expect("whole").push(first.clone());
                if mood == Mood::Closes {
                    continue;
                }
                let mut far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the outlet");
                far.write_all(&first).expect("the outlet");
                let again = |one: &TcpStream| one.try_clone().expect("a socket");
                ends.lock().expect("whole").extend([again(&near), again(&far)]);
                for (mut from, mut to) in [(again(&near), again(&far)), (far, near)] {
                    std::thread::spawn(move || std::io::copy(&mut from, &mut to).map(drop));
                }
            }
        });
        relay
    }

    fn is_now(&self, mood: Mood) {
        *self.mood.lock().expect("whole") = mood;
    }

    fn cut(&self) {
        self.ends.lock().expect("whole").drain(..).for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }
}

#[test]
fn an_outlet_that_has_sealed_is_never_spoken_to_in_the_clear_because_it_closes() {
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Prefer, Some(lab.member(1, |_| {})));
    let receiving = context(&network, Policy::Prefer, Some(lab.member(2, |_| {})));
    let outlet = outlet(&sending).expect("an outlet");
    let mut info = description_of(&outlet);
    let ports = info.endpoint(IpVersion::V4);
    let (data_port, service_port) = (ports.data_port, ports.service_port);
    let relay = Relay::to(data_port);
    info.set_ports(IpVersion::V4, relay.port, service_port);
    let inlet = inlet_of(&info, &receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    assert_eq!(inlet.protection(), Some(Protection::Sealed));
    let calls = || relay.began.lock().expect("whole").len();
    let before = calls();
    relay.is_now(Mood::Closes);
    relay.cut();
    // So that the next consumer is a new one.
    while outlet.have_consumers() {
        std::thread::yield_now();
    }
    while calls() < before + 3 {
        std::thread::yield_now();
    }
    relay.is_now(Mood::Forwards);
    assert!(outlet.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    outlet.push_sample(&[1.0_f32; 8], 5.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0.0_f32; 8], LONG), Ok(Some(5.0)));
    assert_eq!(inlet.protection(), Some(Protection::Sealed));
    // A program's next inlet knows it as well.
    relay.is_now(Mood::Closes);
    let next = inlet_of(&info, &receiving, Recover::BySourceId).expect("an inlet");
    assert_eq!(next.open_stream(SHORT), Err(Error::Timeout));
    let began = relay.began.lock().expect("whole").clone();
    assert!(
        began.iter().all(|first| first.is_empty() || first.starts_with(b"LSL:secure/")),
        "spoken to in the clear"
    );
}
