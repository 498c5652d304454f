//! What this device may do in its lab, and what it proves itself to a hub with.

use core::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hkdf::Hkdf;
use nkeys::{KeyPair, KeyPairType};
use schwann::Context;
use schwann::security::keys::store;
use schwann::security::{Member, TrustError};
use schwann_relay::Moment;
use schwann_session::{Lab, LabId, RevocationError, RevocationList, Roles, SystemEntropy, UnixSeconds};
use sha2::Sha256;
use zeroize::Zeroizing;

/// This device's membership, as far as relaying needs it.
#[derive(Clone)]
pub struct Access {
    member: Arc<Member>,
    /// A revocation list that came through a hub, which this device's own keys need not know yet.
    list: Arc<Mutex<Option<RevocationList<Vec<u8>>>>>,
}

impl Access {
    /// The membership of this process's user.
    ///
    /// - Errors: [`AccessError`]: there are no keys, or others would not accept them in `role`.
    pub fn of(context: &Context, role: Roles) -> Result<Self, AccessError> {
        let trust = context.trust().map_err(AccessError::Trust)?;
        let member = trust.member().ok_or(AccessError::NoKeys)?;
        member.check(role).map_err(AccessError::Trust)?;
        let access = Self { member: Arc::clone(member), list: Arc::default() };
        if let Ok(kept) = store::read(&kept_list()) {
            // A damaged file is as good as none: the next hub has the list.
            let _ = access.take_list(&kept);
        }
        Ok(access)
    }

    /// The membership of this process's user, whatever it may do in the lab.
    ///
    /// - Errors: as [`of`](Self::of).
    pub fn of_any_role(context: &Context) -> Result<Self, AccessError> {
        let trust = context.trust().map_err(AccessError::Trust)?;
        let member = trust.member().ok_or(AccessError::NoKeys)?;
        let roles = member.credentials().certificate().statement.roles;
        Self::of(context, roles)
    }

    /// The membership itself.
    #[must_use]
    pub fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// The lab.
    #[must_use]
    pub fn lab(&self) -> &Lab {
        self.member.lab()
    }

    /// What subjects call the lab.
    #[must_use]
    pub fn lab_id(&self) -> LabId {
        self.member.lab().id()
    }

    /// The same as 32 hexadecimal digits.
    pub(crate) fn lab_digits(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.lab_id().0))
    }

    /// Subjects of the lab, of all its streams.
    pub(crate) fn subjects<const N: usize>(&self, ends: [&str; N]) -> Vec<String> {
        let lab = self.lab_digits();
        ends.map(|end| format!("schwann.{lab}.{end}")).to_vec()
    }

    /// Does `step` with what is known of revocations and the calendar now.
    pub fn checking<R>(&self, step: impl FnOnce(&Lab, UnixSeconds, &RevocationList<&[u8]>) -> R) -> R {
        let newest = self.lock().clone();
        self.member.with_context(|known| step(known.lab, now(), &newer(&known.revoked, newest.as_ref())))
    }

    /// Does `step` with what sealing and signing need now.
    pub fn sealing<R>(&self, step: impl FnOnce(&mut Moment<'_>) -> R) -> R {
        let newest = self.lock().clone();
        self.member.with_context(|known| {
            let list_number = newer(&known.revoked, newest.as_ref()).number();
            let credentials = known.credentials;
            step(&mut Moment { credentials, entropy: &mut SystemEntropy, list_number, now: now() })
        })
    }

    /// Takes a revocation list that came through a hub; says whether it is newer than all before.
    ///
    /// - Errors: the lab's authority did not sign it.
    pub(crate) fn take_list(&self, bytes: &[u8]) -> Result<bool, RevocationError> {
        let list = RevocationList::parse(bytes.to_vec(), self.lab())?;
        let is_newer = list.number() > self.list_number();
        if is_newer {
            // What finds no room on the disk is learnt again from the hub.
            let _ = store::write_private(&kept_list(), bytes);
            *self.lock() = Some(list);
        }
        Ok(is_newer)
    }

    /// The number of the newest revocation list that is known.
    #[must_use]
    pub fn list_number(&self) -> u64 {
        self.checking(|_, _, revoked| revoked.number())
    }

    /// The newest revocation list, as its authority signed it.
    pub(crate) fn newest_list(&self) -> Vec<u8> {
        self.checking(|_, _, revoked| revoked.as_bytes().to_vec())
    }

    fn lock(&self) -> MutexGuard<'_, Option<RevocationList<Vec<u8>>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys with which members prove themselves to a hub, the present one first. They follow from the lab's discovery
    /// key, so each member has them, and a revocation changes them (relay §10.2).
    #[must_use]
    pub fn hub_keys(&self) -> Vec<KeyPair> {
        let lab = self.lab_id();
        self.member.with_discovery_keys(|key| {
            let mut seed = Zeroizing::new([0; 32]);
            // RFC 5869 §2.3: 32 bytes are one block, far below the limit of 255.
            let made =
                Hkdf::<Sha256>::new(Some(&lab.0), key).expand(b"schwann/1 relay hub", seed.as_mut_slice());
            made.ok().and_then(|()| KeyPair::new_from_raw(KeyPairType::User, *seed).ok())
        })
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Access").finish_non_exhaustive()
    }
}

/// The newer of what the keys and what a hub say.
fn newer<'a>(
    own: &RevocationList<&'a [u8]>,
    other: Option<&'a RevocationList<Vec<u8>>>,
) -> RevocationList<&'a [u8]> {
    other.filter(|other| other.number() > own.number()).map_or(*own, RevocationList::view)
}

/// Where the newest list from a hub is kept.
fn kept_list() -> PathBuf {
    store::folder().join("relay").join("revoked")
}

/// The calendar.
#[must_use]
pub(crate) fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// The calendar in milliseconds since 1970.
#[must_use]
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Why this device takes no part.
#[derive(Clone, Debug)]
pub enum AccessError {
    /// It is in no lab.
    NoKeys,
    /// Its keys do not serve.
    Trust(TrustError),
}

impl fmt::Display for AccessError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys => out.write_str(
                "nothing is relayed without keys, and this user has none; `schwann keys init` founds a lab, `schwann keys \
                 join` joins one",
            ),
            Self::Trust(error) => error.fmt(out),
        }
    }
}

impl core::error::Error for AccessError {}
