//! A lab of two devices, and a link between them that a test holds in its hands.
#![allow(dead_code, unreachable_pub, reason = "each test is a crate of its own and uses a part")]

use schwann_session::{
    AuthorityKey, Certificate, ClassicSuite, Context, Credentials, DeviceKey, DeviceName, Entropy,
    Established, Flags, Initiator, Lab, LabId, NoEntropy, Opened, Progress, Refusal, Responder,
    RevocationList, Roles, Secure, Statement, Suite, UnixSeconds,
};

/// 2026-01-01, when every test takes place.
pub const NOW: UnixSeconds = UnixSeconds(1_767_225_600);
pub const DAY: u64 = 86_400;
pub const DISCOVERY_KEY: [u8; 32] = [0xD1; 32];

/// A generator that a test can repeat: xorshift64* (Vigna 2016).
#[derive(Clone)]
pub struct Seeded(pub u64);

impl Seeded {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

impl Entropy for Seeded {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        out.iter_mut().for_each(|byte| *byte = (self.next() >> 56) as u8);
        Ok(())
    }
}

/// One device and what it believes.
pub struct Device {
    pub credentials: Credentials,
    pub lab: Lab,
    pub revoked: RevocationList<Vec<u8>>,
    pub classic: ClassicSuite,
    pub now: UnixSeconds,
    pub entropy: Seeded,
}

impl Device {
    pub fn context(&mut self) -> Context<'_> {
        Context {
            calendar: self.now.into(),
            classic: self.classic,
            credentials: &self.credentials,
            entropy: &mut self.entropy,
            lab: &self.lab,
            revoked: self.revoked.view(),
        }
    }

    /// A device certified by `authority`; `change` may spoil its certificate first.
    pub fn of(authority: &AuthorityKey, seed: u64, change: impl FnOnce(&mut Statement)) -> Self {
        let mut entropy = Seeded(seed);
        let key = DeviceKey::generate(&mut entropy).unwrap();
        let certificate = certify(authority, &key, seed, change);
        let revoked = RevocationList::sign(authority, 1, NOW, &DISCOVERY_KEY, &[]).unwrap();
        Self {
            credentials: Credentials::new(key, certificate, &mut entropy).unwrap(),
            lab: authority.lab(),
            revoked,
            classic: ClassicSuite::Certified,
            now: NOW,
            entropy,
        }
    }
}

pub fn certify(
    authority: &AuthorityKey,
    key: &DeviceKey,
    serial: u64,
    change: impl FnOnce(&mut Statement),
) -> Certificate {
    let mut statement = Statement {
        device: key.public(),
        flags: Flags::NONE,
        lab: LabId([0; 16]),
        name: DeviceName::new("amplifier-1").unwrap(),
        not_after: UnixSeconds(NOW.0 + 365 * DAY),
        not_before: UnixSeconds(NOW.0 - DAY),
        roles: Roles::BOTH,
        serial,
    };
    change(&mut statement);
    authority.certify(statement)
}

pub fn authority() -> AuthorityKey {
    AuthorityKey::from_seed(&[0xA5; 32])
}

/// An inlet's and an outlet's device of one lab.
pub fn pair() -> (Device, Device) {
    (Device::of(&authority(), 1, |_| {}), Device::of(&authority(), 2, |_| {}))
}

/// Why a handshake failed, as each side sees it.
#[derive(Debug)]
pub struct Failed {
    pub inlet: Option<Refusal>,
    pub outlet: Option<Refusal>,
}

/// Runs a handshake to its end; `tap` sees and may change what goes `forth` (true) and back.
pub fn connect_through(
    suite: Suite,
    inlet: &mut Device,
    outlet: &mut Device,
    mut tap: impl FnMut(bool, &mut Vec<u8>),
) -> Result<(Established, Established), Failed> {
    let mut initiator = Initiator::new(suite, &mut inlet.context())
        .map_err(|refusal| Failed { inlet: Some(refusal), outlet: None })?;
    let mut responder = Responder::new();
    let mut welcome = Vec::new();
    let (mut inlet_refusal, mut outlet_refusal, mut inlet_done) = (None, None, false);
    for _ in 0..4 {
        let mut forth = initiator.poll_output().to_vec();
        initiator.sent(forth.len());
        tap(true, &mut forth);
        if outlet_refusal.is_none() && !forth.is_empty() {
            outlet_refusal = responder.handle(&forth, &mut outlet.context()).err();
        }
        let mut back = responder.poll_output().to_vec();
        responder.sent(back.len());
        tap(false, &mut back);
        if inlet_done {
            welcome.extend_from_slice(&back);
        } else if inlet_refusal.is_none() && !back.is_empty() {
            match initiator.handle(&back, &mut inlet.context()) {
                Ok(Progress::Done { consumed }) => {
                    inlet_done = true;
                    welcome.extend_from_slice(&back[consumed..]);
                }
                Ok(Progress::NeedsMore) => {}
                Err(refusal) => inlet_refusal = Some(refusal),
            }
        }
    }
    let inlet = initiator.finish();
    if let Some(mut inlet) = inlet {
        let opened = inlet.session.open(&mut welcome);
        if let (Some(outlet), Ok(Opened::Data { .. })) = (responder.finish(), opened) {
            return Ok((inlet, outlet));
        }
        inlet_refusal = inlet.session.refusal();
    }
    Err(Failed { inlet: inlet_refusal, outlet: outlet_refusal })
}

/// Runs an undisturbed handshake.
pub fn connect(
    suite: Suite,
    inlet: &mut Device,
    outlet: &mut Device,
) -> Result<(Established, Established), Failed> {
    connect_through(suite, inlet, outlet, |_, _| {})
}

/// The two ends of a session, the same for the same `seed`, made in microseconds: for tests that need
/// very many.
pub fn twins(seed: u64) -> (Established, Established) {
    thread_local! {
        static DEVICES: core::cell::RefCell<(Device, Device)> = core::cell::RefCell::new(small_pair());
    }
    DEVICES.with_borrow_mut(|(inlet, outlet)| {
        inlet.entropy = Seeded(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        outlet.entropy = Seeded(seed.wrapping_mul(0xD1B5_4A32_D192_ED03) | 1);
        connect(Suite::Classic, inlet, outlet).unwrap()
    })
}

/// Two devices; the inlet's is too small for ML-KEM.
pub fn small_pair() -> (Device, Device) {
    (Device::of(&authority(), 1, |s| s.flags = Flags::CLASSIC), Device::of(&authority(), 2, |_| {}))
}

/// Seals `plain` and returns the wire's bytes.
pub fn seal(layer: &mut Secure, plain: &[u8]) -> Vec<u8> {
    let mut wire = vec![0; layer.sealed_len(plain.len())];
    let length = layer.seal(plain, &mut wire).unwrap();
    wire.truncate(length);
    wire
}

/// Opens all of `wire` and returns the plaintext and whether the end was proved.
pub fn open_all(layer: &mut Secure, wire: &[u8]) -> Result<(Vec<u8>, bool), schwann_session::LayerError> {
    let mut wire = wire.to_vec();
    let (mut start, mut plain, mut ended) = (0, Vec::new(), false);
    loop {
        let rest = &mut wire[start..];
        match layer.open(rest)? {
            Opened::Data { consumed, plain: range } => {
                plain.extend_from_slice(&rest[range]);
                start += consumed;
            }
            Opened::Control { consumed, .. } => start += consumed,
            Opened::End { consumed } => {
                ended = true;
                start += consumed;
            }
            Opened::Incomplete => return Ok((plain, ended)),
        }
    }
}
