//! A lab, its members, and streams between them.
#![allow(dead_code, reason = "each test file needs another part")]

use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions, Recover};
use schwann::outlet::{Outlet, OutletOptions};
use schwann::security::{Member, Policy, Trust};
use schwann::{Config, Context, Error, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList, Roles, Statement,
    SystemEntropy, UnixSeconds,
};

#[path = "../ports/mod.rs"]
mod ports;

use ports::ports;

/// Long enough for a busy machine; a test that passes never waits for it.
pub(crate) const LONG: f64 = 20.0;
/// What a refused inlet is given.
pub(crate) const SHORT: f64 = 1.0;

/// A lab, and what its next device gets.
pub(crate) struct Lab {
    authority: AuthorityKey,
    discovery: [u8; 32],
    pub(crate) number: u64,
    pub(crate) revoked: Vec<u64>,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let authority = AuthorityKey::generate(&mut SystemEntropy).expect("random");
        // Each lab has its own, and each list of it.
        let discovery = authority.lab().authority().0;
        Self { authority, discovery, number: 1, revoked: Vec::new() }
    }

    /// The key under which the lab's streams are found.
    pub(crate) fn discovery(&self) -> &[u8; 32] {
        &self.discovery
    }

    /// The same lab, where a device is revoked with a list of the same number: no device hands it on.
    pub(crate) fn with_revoked(&self, serial: u64) -> Self {
        let authority = AuthorityKey::from_seed(&self.authority.seed());
        Self { authority, discovery: self.discovery, number: self.number, revoked: vec![serial] }
    }

    /// Revokes a device; returns what members hand on to each other.
    pub(crate) fn revoke(&mut self, entry: u64) -> Vec<u8> {
        self.revoked.push(entry);
        self.number += 1;
        self.discovery[0] = self.discovery[0].wrapping_add(1);
        [self.list().as_bytes(), &self.discovery].concat()
    }

    fn list(&self) -> RevocationList<Vec<u8>> {
        RevocationList::sign(&self.authority, self.number, UnixSeconds(1), &self.discovery, &self.revoked)
            .expect("a list")
    }

    pub(crate) fn member(&self, serial: u64, change: impl FnOnce(&mut Statement)) -> Member {
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
        Member::new(self.authority.lab(), credentials, self.list(), &self.discovery)
    }
}

/// Ports and a session that no other test shares.
pub(crate) fn network() -> String {
    let base = ports();
    format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=sealed{base}\n",
        base + 38
    )
}

pub(crate) fn context(network: &str, policy: Policy, member: Option<Member>) -> Arc<Context> {
    Arc::new(Context::with_trust(
        Config::parse(network).expect("a valid configuration"),
        Trust::new(policy, member),
    ))
}

pub(crate) fn description() -> StreamInfo {
    StreamInfo::new("Sealed", "EEG", 8, 100.0, ChannelFormat::Float32, "sealed").expect("valid")
}

pub(crate) fn outlet(context: &Arc<Context>) -> Result<Outlet, Error> {
    Outlet::in_context(&description(), &OutletOptions::default(), Arc::clone(context))
}

pub(crate) fn find(context: &Arc<Context>, timeout: f64) -> Vec<StreamInfo> {
    let timeout = Duration::from_secs_f64(timeout);
    resolver::resolve_byprop(context, "name", "Sealed", 1, timeout).expect("a search")
}

pub(crate) fn inlet(context: &Arc<Context>, recover: Recover) -> Result<Inlet, Error> {
    inlet_of(&find(context, LONG)[0], context, recover)
}

pub(crate) fn inlet_of(info: &StreamInfo, context: &Arc<Context>, recover: Recover) -> Result<Inlet, Error> {
    Inlet::in_context(info, &InletOptions { recover, ..InletOptions::default() }, Arc::clone(context))
}

/// The description of an outlet as an inlet that found it would have it.
pub(crate) fn description_of(outlet: &Outlet) -> StreamInfo {
    let mut info = outlet.info().clone();
    info.set_address(schwann_proto::stream_info::IpVersion::V4, "127.0.0.1");
    info
}
