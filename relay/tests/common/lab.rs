//! One lab for all tests: an edge, a recorder, and a guest whom the lab may revoke.
#![allow(dead_code, unreachable_pub, reason = "each test is a crate of its own and uses a part")]

use std::sync::OnceLock;

use schwann_relay::{WrappingKey, WrappingPublic};
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Entropy, Flags, Lab, LabId, NoEntropy, RevocationList,
    Roles, Statement, UnixSeconds,
};

/// 2026-01-01, when every run begins.
pub const NOW: UnixSeconds = UnixSeconds(1_767_225_600);

/// A generator that a test can repeat: xorshift64* (Vigna 2016).
#[derive(Clone)]
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        // A seed of few bits gives a poor beginning.
        let mut seeded = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            seeded.draw();
        }
        seeded
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, end: usize) -> usize {
        ((self.draw() >> 16) % end as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

impl Entropy for Seeded {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        out.iter_mut().for_each(|byte| *byte = (self.draw() >> 56) as u8);
        Ok(())
    }
}

pub struct Party {
    pub credentials: Credentials,
    pub wrapping: WrappingKey,
    pub public: WrappingPublic,
    /// What the wrapping key is made of.
    pub seed: [u8; 32],
}

pub struct Fixture {
    pub lab: Lab,
    pub edge: Credentials,
    pub recorder: Party,
    pub guest: Party,
    /// Another device that may publish.
    pub other_edge: Credentials,
    /// Before and after the guest's revocation.
    pub lists: [RevocationList<Vec<u8>>; 2],
}

impl Fixture {
    pub fn the() -> &'static Self {
        static FIXTURE: OnceLock<Fixture> = OnceLock::new();
        FIXTURE.get_or_init(Self::make)
    }

    fn make() -> Self {
        let mut entropy = Seeded::new(1);
        let authority = AuthorityKey::from_seed(&[7; 32]);
        let list = |number, serials: &[u64]| {
            RevocationList::sign(&authority, number, NOW, &[9; 32], serials).expect("few serials")
        };
        let lists = [list(1, &[]), list(2, &[3])];
        let edge = certified(&authority, 1, Roles::PUBLISH, &mut entropy);
        let mut party = |serial| {
            let credentials = certified(&authority, serial, Roles::SUBSCRIBE, &mut entropy);
            let mut seed = [0; 32];
            entropy.fill(&mut seed).expect("a generator");
            let wrapping = WrappingKey::from_seed(&seed);
            let message = wrapping.publish(&credentials, NOW, 86_400);
            let public = WrappingPublic::parse(&message, &authority.lab(), NOW, &lists[0]).expect("our own");
            Party { credentials, wrapping, public, seed }
        };
        let (recorder, guest) = (party(2), party(3));
        let other_edge = certified(&authority, 4, Roles::PUBLISH, &mut entropy);
        Self { lab: authority.lab(), edge, recorder, guest, other_edge, lists }
    }

    pub fn lab_id(&self) -> LabId {
        self.lab.id()
    }
}

fn certified(authority: &AuthorityKey, serial: u64, roles: Roles, entropy: &mut Seeded) -> Credentials {
    let key = DeviceKey::generate(entropy).expect("a generator");
    let certificate = authority.certify(Statement {
        device: key.public(),
        flags: Flags::NONE,
        lab: authority.lab().id(),
        name: DeviceName::new("device").expect("a name"),
        not_after: UnixSeconds(NOW.0 + 1_000_000_000),
        not_before: UnixSeconds(NOW.0 - 1_000_000),
        roles,
        serial,
    });
    Credentials::new(key, certificate, entropy).expect("the key's own certificate")
}
