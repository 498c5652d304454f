//! Sealed streams between an outlet and an inlet over real sockets, and those that must not come about.

use core::sync::atomic::{AtomicU16, Ordering};
use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::trust::{Member, Policy, Trust};
use schwann::{Config, Error, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList, Roles, Statement,
    SystemEntropy, UnixSeconds,
};

/// Long enough for a busy machine; a test that passes never waits for it.
const LONG: f64 = 20.0;
/// What a refused inlet is given.
const SHORT: f64 = 1.0;

/// A lab, and what its next device gets.
struct Lab {
    authority: AuthorityKey,
    revoked: Vec<u64>,
}

impl Lab {
    fn new() -> Self {
        Self { authority: AuthorityKey::generate(&mut SystemEntropy).expect("random"), revoked: Vec::new() }
    }

    fn member(&self, serial: u64, change: impl FnOnce(&mut Statement)) -> Member {
        let key = DeviceKey::generate(&mut SystemEntropy).expect("random");
        let mut statement = Statement {
            device: key.public(),
            flags: Flags::default(),
            lab: LabId([0; 16]),
            name: DeviceName::new(&format!("device {serial}")).expect("a name"),
            not_after: UnixSeconds(u64::MAX),
            not_before: UnixSeconds(0),
            roles: Roles::BOTH,
            serial,
        };
        change(&mut statement);
        let certificate = self.authority.certify(statement);
        let credentials = Credentials::new(key, certificate, &mut SystemEntropy).expect("credentials");
        let revoked = RevocationList::sign(&self.authority, 1, UnixSeconds(1), &[7; 32], &self.revoked)
            .expect("a list");
        Member::new(self.authority.lab(), credentials, revoked)
    }
}

/// Ports and a session that no other test of this process shares.
fn network() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let base = 26_000 + 40 * number;
    format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=sealed{number}\n",
        base + 39
    )
}

fn config(network: &str, policy: Policy, member: Option<Member>) -> Arc<Config> {
    Arc::new(Config::parse(network).expect("a valid configuration").with_trust(Trust::new(policy, member)))
}

fn outlet(config: &Arc<Config>) -> Result<Outlet, Error> {
    let info = StreamInfo::new("Sealed", "EEG", 8, 100.0, ChannelFormat::Float32, "sealed").expect("valid");
    Outlet::with_config(&info, &OutletOptions::default(), Arc::clone(config))
}

fn inlet(config: &Arc<Config>, recover: Recover) -> Result<Inlet, Error> {
    let timeout = Duration::from_secs_f64(LONG);
    let found = resolver::resolve_byprop(config, "name", "Sealed", 1, timeout).expect("a search");
    Inlet::with_config(&found[0], &InletOptions { recover, ..InletOptions::default() }, Arc::clone(config))
}

/// Whether a sample gets from an outlet of one kind to an inlet of the other.
fn passes(sender: (Policy, Option<Member>), receiver: (Policy, Option<Member>)) -> bool {
    let network = network();
    let sending = config(&network, sender.0, sender.1);
    let receiving = config(&network, receiver.0, receiver.1);
    let outlet = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    if inlet.open_stream(SHORT).is_err() {
        assert!(!outlet.have_consumers());
        return false;
    }
    outlet.push_sample(&[1.0_f32; 8], 5.0, Flush::Now).expect("a push");
    let mut sample = [0.0_f32; 8];
    assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(5.0)));
    assert_eq!(sample, [1.0; 8]);
    true
}

#[test]
fn members_of_a_lab_talk_sealed() {
    let lab = Lab::new();
    let (one, two) = (lab.member(1, |_| {}), lab.member(2, |_| {}));
    assert!(passes((Policy::Require, Some(one)), (Policy::Require, Some(two))));
}

#[test]
fn everything_of_a_stream_comes_through_the_seal() {
    let (lab, network) = (Lab::new(), network());
    let sending = config(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let receiving = config(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let outlet = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    assert_eq!(inlet.full_info(LONG).expect("a description").uid(), outlet.info().uid());
    let values: Vec<f32> = (0..80_000_u32).map(|value| value as f32).collect();
    let pusher = std::thread::spawn(move || {
        for value in 0..10_000_u32 {
            outlet.push_sample(&[value as f32; 8], f64::from(value) + 1.0, Flush::Now).expect("a push");
        }
        for _ in 0..3 {
            outlet.push_chunk(&values, 0.0, Flush::Now).expect("a push");
        }
        (outlet, values)
    });
    for value in 0..10_000_u32 {
        let mut sample = [0.0_f32; 8];
        assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(f64::from(value) + 1.0)));
        assert_eq!(sample, [value as f32; 8]);
    }
    let (outlet, values) = pusher.join().expect("no panic");
    for _ in 0..3 {
        let mut pulled = vec![0.0_f32; 80_000];
        assert_eq!(inlet.pull_chunk(&mut pulled, &mut [], LONG), Ok(10_000));
        assert!(pulled == values);
    }
    drop(outlet);
}

#[test]
fn clock_probes_of_a_sealed_stream_are_sealed() {
    let (lab, network) = (Lab::new(), network());
    let sending = config(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let receiving = config(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let outlet = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    let offset = inlet.clock_offset(LONG).expect("an offset").offset;
    assert!(offset.abs() < 0.01, "{offset}");
    // A probe in the clear gets no answer; one of a stranger's making neither.
    let port = outlet.info().endpoint(schwann_proto::stream_info::IpVersion::V4).service_port;
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    stranger.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    stranger.send_to(b"LSL:timedata\r\n1 0.0\r\n", ("127.0.0.1", port)).expect("sent");
    stranger.send_to(&[0x5c; 60], ("127.0.0.1", port)).expect("sent");
    assert!(stranger.recv(&mut [0; 100]).is_err());
}

#[test]
fn a_restarted_sealed_stream_is_found_again() {
    let (lab, network) = (Lab::new(), network());
    let sending = config(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let receiving = config(&network, Policy::Require, Some(lab.member(2, |_| {})));
    let first = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    drop(first);
    let second = outlet(&sending).expect("an outlet");
    assert!(second.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    second.push_sample(&[2.0_f32; 8], 6.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0.0_f32; 8], LONG), Ok(Some(6.0)));
}

#[test]
fn strangers_get_nothing() {
    let (lab, other) = (Lab::new(), Lab::new());
    let member = || Some(lab.member(1, |_| {}));
    assert!(!passes((Policy::Require, member()), (Policy::Off, None)), "plain inlet");
    assert!(!passes((Policy::Off, None), (Policy::Require, member())), "plain outlet");
    assert!(
        !passes((Policy::Require, member()), (Policy::Require, Some(other.member(2, |_| {})))),
        "other lab"
    );
    let no_publish = lab.member(3, |statement| statement.roles = Roles::SUBSCRIBE);
    let network = network();
    assert_eq!(outlet(&config(&network, Policy::Require, Some(no_publish))).err(), Some(Error::Unsealed));
    assert_eq!(outlet(&config(&network, Policy::Require, None)).err(), Some(Error::Unsealed));
}

#[test]
fn a_revoked_device_is_out() {
    let mut lab = Lab::new();
    let revoked_inlet = lab.member(9, |_| {});
    lab.revoked = vec![9];
    assert!(!passes((Policy::Require, Some(lab.member(1, |_| {}))), (Policy::Require, Some(revoked_inlet))));
}

#[test]
fn in_migration_members_seal_and_others_talk_plainly() {
    let lab = Lab::new();
    let member = |serial| Some(lab.member(serial, |_| {}));
    assert!(passes((Policy::Prefer, member(1)), (Policy::Prefer, member(2))));
    assert!(passes((Policy::Prefer, member(1)), (Policy::Require, member(2))));
    assert!(passes((Policy::Prefer, member(1)), (Policy::Off, None)));
    assert!(passes((Policy::Off, None), (Policy::Prefer, member(2))));
}
