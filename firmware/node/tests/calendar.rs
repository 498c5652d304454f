//! Devices without a calendar: which date they go by, and who moves it, in simulated time.

mod common;

use common::{Lab, NodeOutlet, TODAY, World, description, exchange, outlet, pair::inlet};
use schwann_node::{InletError, InletState, Keep, Pace, Producer, Service};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{Calendar, Refusal, Statement, UnixSeconds, discovery::DiscoveryKey};

const DAY: u64 = 86_400;

/// A device that knows only the date of its image, `TODAY`; `change` is made to its own certificate.
struct Device {
    lab: Lab,
    world: World,
    outlet: NodeOutlet,
    _producer: Producer<'static>,
}

impl Device {
    fn new(change: impl FnOnce(&mut Statement)) -> Self {
        let lab = Lab::new();
        let stream = description(ChannelFormat::Float32, 8, 1000.0);
        let security = lab.security(1, change);
        let (producer, outlet) = outlet(stream, security, Pace::EverySample, Keep::Newest, 64);
        let mut world = World::new();
        world.calendar = Calendar::NotBefore(TODAY);
        Self { lab, world, outlet, _producer: producer }
    }

    /// What a member whose certificate is valid from and until these days after `TODAY` comes to.
    fn meets(&mut self, serial: u64, from_day: u64, until_day: u64) -> InletState {
        let stream = description(ChannelFormat::Float32, 8, 1000.0);
        let mut inlet = inlet(
            &stream,
            self.lab.security(serial, |one| {
                one.not_before = UnixSeconds(TODAY.0 + from_day * DAY);
                one.not_after = UnixSeconds(TODAY.0 + until_day * DAY);
            }),
        );
        // By then, every certificate of these tests was valid.
        let mut member = World::new();
        member.calendar = Calendar::Known(UnixSeconds(TODAY.0 + 5000 * DAY));
        self.outlet.accept(0, self.world.now);
        inlet.connected(&mut member.surroundings());
        exchange(&mut self.world, &mut self.outlet, 0, &mut inlet, usize::MAX);
        self.outlet.ended(0);
        inlet.state()
    }

    /// Whether a sealed query that says it is from `at` is answered.
    fn answers(&mut self, at: UnixSeconds) -> bool {
        let key = DiscoveryKey::new(&self.lab.discovery);
        let (mut datagram, mut out) = ([0; 200], [0; NodeOutlet::MAX_REPLY]);
        let query = b"LSL:shortinfo\r\n\r\n17001 42\r\n";
        let (len, asked) = key.seal_query(query, at, &mut self.world.entropy, &mut datagram).expect("room");
        let surroundings = &mut self.world.surroundings();
        let reply =
            self.outlet.handle_datagram(&mut datagram[..len], Service::Discovery, surroundings, &mut out);
        reply.is_some_and(|reply| key.open_reply(&asked, &mut out[..reply.len]).is_ok())
    }
}

const REFUSED_AS_EXPIRED: InletState = InletState::Over(InletError::Refused(Refusal::Expired));

#[test]
fn a_member_certified_after_the_image_was_built_is_admitted() {
    let mut device = Device::new(|_| {});
    assert_eq!(device.meets(2, 1, 400), InletState::Receiving);
    assert_eq!(device.meets(3, 3000, 3400), InletState::Receiving);
}

#[test]
fn what_the_authority_signed_moves_the_date() {
    // A certificate that ended before the image was built.
    let mut device = Device::new(|_| {});
    let past = |one: &mut Statement| one.not_after = UnixSeconds(TODAY.0 - 1);
    let stream = description(ChannelFormat::Float32, 8, 1000.0);
    let mut late = inlet(&stream, device.lab.security(2, past));
    device.outlet.accept(0, device.world.now);
    late.connected(&mut device.world.surroundings());
    exchange(&mut device.world, &mut device.outlet, 0, &mut late, usize::MAX);
    assert_eq!(late.state(), REFUSED_AS_EXPIRED);
    // The device's own certificate.
    let mut device = Device::new(|one| one.not_before = UnixSeconds(TODAY.0 + 50 * DAY));
    assert_eq!(device.meets(2, 0, 49), REFUSED_AS_EXPIRED);
    assert_eq!(device.meets(3, 0, 51), InletState::Receiving);
    // The date comes from a member that proved itself.
    assert_eq!(device.meets(4, 70, 400), InletState::Receiving);
    assert_eq!(device.meets(3, 0, 51), REFUSED_AS_EXPIRED);
}

#[test]
fn what_any_member_could_say_does_not_move_the_date() {
    let mut device = Device::new(|_| {});
    assert!(device.answers(UnixSeconds(TODAY.0 + 10_000 * DAY)));
    assert_eq!(device.meets(2, 0, 10), InletState::Receiving);
    assert!(device.answers(TODAY));
}

#[test]
fn members_find_a_device_without_a_calendar_and_replays_do_not_tire_it() {
    let mut device = Device::new(|_| {});
    assert!(device.answers(TODAY));
    assert!(device.answers(UnixSeconds(TODAY.0 + 300 * DAY)));
    assert!(!device.answers(UnixSeconds(TODAY.0 - DAY)), "older than what the authority signed");
    device.world.now = device.world.now.after(1_000_000);
    let answers = (0..1000).filter(|at| device.answers(UnixSeconds(TODAY.0 + at))).count();
    assert!(answers < 20, "{answers} in an instant");
    device.world.now = device.world.now.after(1_000_000);
    assert!(device.answers(TODAY), "it goes on a second later");
}
