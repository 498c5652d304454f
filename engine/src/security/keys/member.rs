//! This process's membership in a lab, which learns of revocations for as long as it lasts.

use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use core::fmt;
use core::net::IpAddr;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Mutex, PoisonError, RwLock};

use schwann_session::{
    ClassicSuite, Context, Credentials, Lab, RekeyLimits, RevocationError, RevocationList, Roles, Statement,
    SystemEntropy,
};
use zeroize::Zeroizing;

use super::TrustError;
use super::files::Files;
use super::met::Met;
use super::secrecy::Locked;
use crate::log;
use crate::peer_address::PeerAddress;
use crate::security::journal;
use crate::time::wall_clock;

/// A discovery key as it is stored and handed on.
pub(crate) type DiscoverySecret = Zeroizing<[u8; 32]>;

/// What the lab's authority last said, as far as this process knows.
pub(crate) struct Standing {
    revoked: RevocationList<Vec<u8>>,
    discovery: Locked<DiscoverySecret>,
    /// Discovery keys of earlier lists, newest first.
    former: Vec<Locked<DiscoverySecret>>,
}

/// This process's membership in a lab.
pub struct Member {
    lab: Lab,
    credentials: RwLock<Arc<Locked<Credentials>>>,
    standing: RwLock<Arc<Standing>>,
    /// Counts the lists taken in.
    changes: AtomicU64,
    watchers: Mutex<Vec<Weak<dyn Watcher>>>,
    files: Option<Files>,
    key_lifetime: Duration,
    /// UIDs of the outlets that this program had a session with, oldest first.
    sealing: Mutex<VecDeque<String>>,
    met: Met,
}

/// An owner of connections that a new revocation list concerns.
pub trait Watcher: Send + Sync {
    /// A newer list is in force. Must not wait.
    fn lab_changed(&self);
}

/// Why an update of the lab was not taken in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UpdateError {
    /// The list is not the lab's.
    List(RevocationError),
    /// It is no list with the discovery key that it commits to.
    Malformed,
}

impl fmt::Display for UpdateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(error) => error.fmt(out),
            Self::Malformed => out.write_str("the discovery key does not belong to the revocation list"),
        }
    }
}

impl core::error::Error for UpdateError {}

impl Standing {
    pub(super) fn new(
        revoked: RevocationList<Vec<u8>>,
        discovery: DiscoverySecret,
        former: Vec<DiscoverySecret>,
    ) -> Self {
        let former = former.into_iter().map(Locked::new).collect();
        Self { revoked, discovery: Locked::new(discovery), former }
    }

    /// The number of the revocation list.
    pub(crate) fn number(&self) -> u64 {
        self.revoked.number()
    }

    /// Whether the device with this certificate is out.
    pub(crate) fn puts_out(&self, statement: &Statement) -> bool {
        self.revoked.puts_out(statement)
    }

    /// The key that streams are found with.
    pub(crate) fn discovery(&self) -> &DiscoverySecret {
        &self.discovery
    }

    /// Keys that uninformed members still use after the newest list, newest first.
    pub(crate) fn former(&self) -> impl Iterator<Item = &DiscoverySecret> {
        self.former.iter().map(|key| &**key)
    }

    /// What another member needs to know as much as this one: the list, then the key that it commits to.
    pub(crate) fn update(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new([self.revoked.as_bytes(), self.discovery.as_slice()].concat())
    }
}

impl Member {
    /// Joins what a device needs to prove itself, to check others, and to find streams.
    ///
    /// - Shape: `discovery` is the key that `revoked` commits to.
    pub fn new(
        lab: Lab,
        credentials: Credentials,
        revoked: RevocationList<Vec<u8>>,
        discovery: &[u8; 32],
    ) -> Self {
        let standing = Standing::new(revoked, Zeroizing::new(*discovery), Vec::new());
        Self::with(lab, credentials, standing, None)
    }

    pub(super) fn with(lab: Lab, credentials: Credentials, standing: Standing, files: Option<Files>) -> Self {
        let met = files.as_ref().map_or_else(Met::default, |files| Met::of(files.folder()));
        Self {
            lab,
            met,
            credentials: RwLock::new(Arc::new(Locked::new(credentials))),
            standing: RwLock::new(Arc::new(standing)),
            changes: AtomicU64::new(0),
            watchers: Mutex::default(),
            files,
            key_lifetime: RekeyLimits::default().lifetime,
            sealing: Mutex::default(),
        }
    }

    /// Remembers that there was a session with the outlet `uid`.
    pub(crate) fn note_sealing(&self, uid: &str) {
        let mut sealing = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        if uid.is_empty() || sealing.iter().any(|known| known == uid) {
            return;
        }
        if sealing.len() >= SEALING_MOST {
            sealing.pop_front();
        }
        sealing.push_back(uid.to_owned());
    }

    /// Whether there was a session with the outlet `uid`. Then it is able to seal, however it behaves now.
    pub(crate) fn knows_to_seal(&self, uid: &str) -> bool {
        let sealing = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        sealing.iter().any(|known| known == uid)
    }

    /// Remembers where a proven member is.
    pub(crate) fn note_met(&self, peer: PeerAddress) {
        if let PeerAddress::Address(address) = peer {
            self.met.note(address.ip(), self.files.as_ref().map(Files::folder));
        }
    }

    /// Where members were met, the latest first.
    pub(crate) fn met(&self) -> Vec<IpAddr> {
        self.met.places()
    }

    /// Changes how long the key of a session is used at most.
    #[must_use]
    pub fn with_key_lifetime(self, key_lifetime: Duration) -> Self {
        Self { key_lifetime, ..self }
    }

    /// What a session that was just made goes by.
    pub fn rekey_limits(&self) -> RekeyLimits {
        RekeyLimits { lifetime: self.key_lifetime, ..RekeyLimits::default() }
    }

    /// What this device proves itself with at present; its certificate may be renewed while the process runs.
    pub fn credentials(&self) -> impl Deref<Target = Credentials> + use<> {
        struct Held(Arc<Locked<Credentials>>);
        impl Deref for Held {
            type Target = Credentials;

            fn deref(&self) -> &Credentials {
                &self.0
            }
        }
        Held(Arc::clone(&self.credentials.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The lab that it is a member of.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The number of the revocation list in force.
    pub fn revocation_number(&self) -> u64 {
        self.standing().number()
    }

    /// Whether the device with this certificate is out, by the revocation list in force.
    pub fn has_revoked(&self, statement: &Statement) -> bool {
        self.standing().puts_out(statement)
    }

    /// What is known now.
    pub(crate) fn standing(&self) -> Arc<Standing> {
        Arc::clone(&self.standing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many newer lists were taken in so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Hands the lab's discovery key, and then those of earlier lists, newest first, to `derive`. Each member can make the
    /// same of them, and so can a member that was away.
    pub fn with_discovery_keys<R>(&self, mut derive: impl FnMut(&[u8; 32]) -> Option<R>) -> Vec<R> {
        let standing = self.standing();
        core::iter::once(standing.discovery())
            .chain(standing.former())
            .filter_map(|key| derive(key))
            .collect()
    }

    /// Tells `watcher` of every newer list, as long as it lives.
    pub fn watch(&self, watcher: Weak<dyn Watcher>) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(watcher);
    }

    /// Runs one step of a handshake with all its needs, under the certificate that is in the key folder now.
    pub fn with_context<R>(&self, step: impl FnOnce(&mut Context<'_>) -> R) -> R {
        self.renew();
        let (standing, credentials) = (self.standing(), self.credentials());
        step(&mut Context {
            calendar: wall_clock().into(),
            classic: ClassicSuite::Certified,
            credentials: &credentials,
            entropy: &mut SystemEntropy,
            lab: &self.lab,
            revoked: standing.revoked.view(),
        })
    }

    /// Checks that other members would accept this device in `role`.
    ///
    /// - Errors: why they would refuse it.
    pub fn check(&self, role: Roles) -> Result<(), TrustError> {
        self.renew();
        let standing = self.standing();
        let checked = self.credentials().check(&self.lab, &standing.revoked, role, wall_clock());
        checked.map_err(TrustError::Certificate)
    }

    /// Takes over a certificate that was since put into the key folder, such as by `schwann keys trust`. Takes its
    /// key, too, if that is new. Connections that stand go on as they are.
    fn renew(&self) {
        let Some(files) = self.files.as_ref().filter(|files| files.has_new_identity()) else { return };
        match files.renewed(&self.lab, &self.credentials()) {
            Ok(Some(credentials)) => {
                let statement = credentials.certificate().statement;
                *self.credentials.write().unwrap_or_else(PoisonError::into_inner) =
                    Arc::new(Locked::new(credentials));
                log::info!("this device's certificate is renewed: serial {}", statement.serial);
                journal::renewed(&statement);
            }
            Ok(None) => {}
            Err(error) => {
                files.look_at_identity_again();
                log::warning!(
                    "this program goes on with the certificate before, because of the new one: {error}"
                );
            }
        }
    }

    /// Takes in what another member handed on, if it is newer; says whether it was.
    ///
    /// - Errors: the authority did not sign it, or its parts do not belong together.
    pub fn take_in(&self, update: &[u8]) -> Result<bool, UpdateError> {
        let (list, discovery) = update.split_last_chunk().ok_or(UpdateError::Malformed)?;
        let list = RevocationList::parse(list.to_vec(), &self.lab).map_err(UpdateError::List)?;
        if !list.commits_to(discovery) {
            return Err(UpdateError::Malformed);
        }
        let is_newer = self.replace(list, Zeroizing::new(*discovery));
        if is_newer && let Some(files) = &self.files {
            files.store(&self.standing());
        }
        Ok(is_newer)
    }

    /// Looks whether another program of this computer, such as `schwann keys revoke`, has stored a newer
    /// list. Looks at most once in [`LOOK_EVERY`](super::files::LOOK_EVERY).
    pub(crate) fn refresh(&self) {
        if self.files.as_ref().is_some_and(Files::is_time_to_look) {
            self.look();
        }
    }

    /// The same now, at the cost of a look at one file.
    pub fn look(&self) {
        let Some(files) = &self.files else { return };
        if let Some((list, discovery)) = files.newer_than(&self.lab, self.revocation_number()) {
            self.replace(list, discovery);
        }
    }

    /// Puts a list into force if it is newer than the present one, and tells all that it concerns.
    fn replace(&self, revoked: RevocationList<Vec<u8>>, discovery: DiscoverySecret) -> bool {
        {
            let mut present = self.standing.write().unwrap_or_else(PoisonError::into_inner);
            if revoked.number() <= present.number() {
                return false;
            }
            warn_of_return(&present.revoked, &revoked);
            let former = core::iter::once(&*present.discovery).chain(present.former());
            let former = former.take(FORMER_KEYS).cloned().collect();
            *present = Arc::new(Standing::new(revoked, discovery, former));
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        let number = self.revocation_number();
        log::info!("revocation list {number} is in force");
        journal::revoked(number);
        let watchers = core::mem::take(&mut *self.watchers.lock().unwrap_or_else(PoisonError::into_inner));
        let living: Vec<_> = watchers.iter().filter_map(Weak::upgrade).collect();
        living.iter().for_each(|watcher| watcher.lab_changed());
        let mut present = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        present.extend(watchers.into_iter().filter(|watcher| watcher.strong_count() > 0));
        true
    }
}

/// Says that a newer list lacks what the present one puts out.
///
/// Two machines with the authority have then signed lists without knowing of each other's.
fn warn_of_return(present: &RevocationList<Vec<u8>>, newer: &RevocationList<Vec<u8>>) {
    let count = present.entries().filter(|entry| !newer.contains(*entry)).count();
    if count > 0 {
        log::warning!(
            "revocation list {} lets in again what list {} had put out ({count} of its entries); on the lab's computer: \
             schwann keys status",
            newer.number(),
            present.number()
        );
    }
}

/// Outlets that are remembered to seal; the oldest is forgotten.
const SEALING_MOST: usize = 1024;

/// Discovery keys of earlier lists that a member keeps, to reach members that were away.
pub(crate) const FORMER_KEYS: usize = 4;
