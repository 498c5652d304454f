//! A lab, and nodes that talk in simulated time.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod pair;

use core::sync::atomic::AtomicU32;

use schwann_node::{
    Description, Inlet, Keep, LinkState, Member, Micros, Outlet, Pace, Ports, Producer, Security, Shape,
    Surroundings, Uid, ring,
};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{
    AuthorityKey, Calendar, Certificate, DeviceKey, DeviceName, Entropy, Flags, LabId, NoEntropy,
    RevocationList, Roles, Statement, SystemEntropy, UnixSeconds, key_slots, provision::Keys,
};

pub(crate) type NodeOutlet = Outlet<'static, 4, 1458, 2048>;
pub(crate) type NodeInlet = Inlet<'static, 4096, 2048>;

/// The date of every test.
pub(crate) const TODAY: UnixSeconds = UnixSeconds(1_800_000_000);

/// Bytes that follow from a seed, so that a run can be repeated.
pub(crate) struct Seeded(pub(crate) u64);

impl Entropy for Seeded {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        for byte in out {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (self.0 >> 56) as u8;
        }
        Ok(())
    }
}

/// A lab's authority.
pub(crate) struct Lab {
    pub(crate) authority: AuthorityKey,
    pub(crate) discovery: [u8; 32],
    pub(crate) revoked: Vec<u64>,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self { authority: AuthorityKey::from_seed(&[5; 32]), discovery: [7; 32], revoked: Vec::new() }
    }

    pub(crate) fn list(&self) -> RevocationList<Vec<u8>> {
        RevocationList::sign(&self.authority, 1, UnixSeconds(1), &self.discovery, &self.revoked)
            .expect("a list")
    }

    pub(crate) fn certify(
        &self,
        key: &DeviceKey,
        serial: u64,
        change: impl FnOnce(&mut Statement),
    ) -> Certificate {
        let mut statement = Statement {
            device: key.public(),
            flags: Flags::CLASSIC,
            lab: LabId([0; 16]),
            name: DeviceName::new(&format!("device {serial}")).expect("a name"),
            not_after: UnixSeconds(u64::MAX),
            not_before: UnixSeconds(0),
            roles: Roles::BOTH,
            serial,
        };
        change(&mut statement);
        self.authority.certify(statement)
    }

    /// What the key store of a device holds.
    pub(crate) fn content(&self, serial: u64, change: impl FnOnce(&mut Statement)) -> Vec<u8> {
        let seed = [serial as u8; 32];
        let certificate = self.certify(&DeviceKey::from_seed(&seed), serial, change).encode();
        let (lab, list) = (self.authority.lab().authority().0, self.list());
        [&lab, &self.discovery, &seed, certificate.as_slice(), list.as_bytes()].concat()
    }

    /// The security of a node, for as long as the test runs.
    pub(crate) fn security(&self, serial: u64, change: impl FnOnce(&mut Statement)) -> Security<'static> {
        self.security_within(1000, serial, change)
    }

    /// The same for a node that takes `most` bytes in a record.
    pub(crate) fn security_within(
        &self,
        most: usize,
        serial: u64,
        change: impl FnOnce(&mut Statement),
    ) -> Security<'static> {
        let content = self.content(serial, change).leak();
        let keys = Box::leak(Box::new(Keys::parse(content, most, &mut SystemEntropy).expect("keys")));
        Security::Require(Member::of(keys))
    }
}

/// An image of a key store with `content`.
pub(crate) fn image(content: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4096];
    let len = key_slots::image(content, &mut out).expect("it fits");
    out.truncate(len);
    out
}

/// A stream's description.
pub(crate) fn description(
    format: ChannelFormat,
    channel_count: usize,
    nominal_rate: f64,
) -> Description<'static> {
    Description {
        name: "Node",
        stream_type: "EEG",
        channel_count,
        format,
        nominal_rate,
        source_id: "chip-77",
        hostname: "node",
        session_id: "default",
        uid: Uid::new([3; 16]),
        created_at: 1.0,
        ports: Ports { data_port: 16572, service_port: 16573 },
        desc: "",
    }
}

/// An outlet with a ring of `samples` slots, and the application's end of it.
pub(crate) fn outlet(
    description: Description<'static>,
    security: Security<'static>,
    pace: Pace,
    keep: Keep,
    samples: usize,
) -> (Producer<'static>, NodeOutlet) {
    outlet_of(description, security, pace, keep, samples)
}

/// The same with links of any size.
pub(crate) fn outlet_of<const RX: usize, const TX: usize>(
    description: Description<'static>,
    security: Security<'static>,
    pace: Pace,
    keep: Keep,
    samples: usize,
) -> (Producer<'static>, Outlet<'static, 4, RX, TX>) {
    let shape = match description.format {
        ChannelFormat::String => {
            Shape { format: description.format, channel_count: description.channel_count, string_room: 200 }
        }
        format => Shape::numbers(format, description.channel_count),
    };
    let words = (0..samples * shape.slot_words().expect("a shape")).map(|_| AtomicU32::new(0));
    let words = Vec::leak(words.collect());
    let (producer, consumer) = ring(words, Box::leak(Box::default()), shape, keep).expect("a ring");
    (producer, Outlet::new(description, consumer, security, pace).expect("an outlet"))
}

/// A clock and randomness.
pub(crate) struct World {
    pub(crate) now: Micros,
    pub(crate) calendar: Calendar,
    pub(crate) entropy: Seeded,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { now: Micros(1_000_000), calendar: TODAY.into(), entropy: Seeded(1) }
    }

    pub(crate) fn surroundings(&mut self) -> Surroundings<'_> {
        Surroundings { now: self.now, calendar: self.calendar, entropy: &mut self.entropy }
    }
}

/// Moves bytes between an outlet's link and an inlet, at most `most` at a time, until nothing moves.
pub(crate) fn exchange(
    world: &mut World,
    outlet: &mut NodeOutlet,
    link: usize,
    inlet: &mut NodeInlet,
    most: usize,
) {
    loop {
        outlet.poll(world.now);
        let sent: Vec<u8> = outlet.transmit(link).iter().copied().take(most).collect();
        let taken = inlet.receive(&sent, &mut world.surroundings());
        outlet.sent(link, taken, world.now);
        let asked: Vec<u8> = inlet.transmit().iter().copied().take(most).collect();
        let heard = outlet.receive(link, &asked, &mut world.surroundings());
        inlet.sent(heard);
        if taken == 0 && heard == 0 {
            return;
        }
        if outlet.state(link) == LinkState::Broken {
            outlet.ended(link);
            inlet.ended();
            return;
        }
    }
}
