//! Functions of `schwann.h`: what the original cannot tell. See the header for the C side.

use core::ffi::c_char;

use schwann::inlet::{Inlet, Protection, StreamEvent};
use schwann::outlet::Outlet;
use schwann::security::{Explained, PeerIdentity, Roles, Suite};

use crate::chunk;
use crate::guard::{ARGUMENT, INTERNAL, guard, outcome};
use crate::inlet::hold;
use crate::outlet::time_limit;

/// `schwann_peer_t`: who is at the other end of a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    security: i32,
    roles: i32,
    hybrid: i32,
    reserved: i32,
    serial: u64,
    not_after: u64,
    revocation_list: u64,
    name: [c_char; 64],
    fingerprint: [c_char; 64],
}

impl Peer {
    fn new(security: i32, identity: Option<&PeerIdentity>) -> Self {
        let mut peer = Self {
            security,
            roles: 0,
            hybrid: 0,
            reserved: 0,
            serial: 0,
            not_after: 0,
            revocation_list: 0,
            name: [0; 64],
            fingerprint: [0; 64],
        };
        let Some(identity) = identity else { return peer };
        let statement = &identity.statement;
        let may = |role| i32::from(statement.roles.contain(role));
        peer.roles = may(Roles::PUBLISH) | may(Roles::SUBSCRIBE) << 1;
        peer.hybrid = (identity.suite == Suite::Hybrid).into();
        (peer.serial, peer.not_after) = (statement.serial, statement.not_after.0);
        peer.revocation_list = identity.revocation_number;
        put(&mut peer.name, statement.name.as_str().as_bytes());
        put(&mut peer.fingerprint, statement.device.fingerprint().to_string().as_bytes());
        peer
    }
}

/// Writes as much of a text as fits, with a NUL behind it.
pub(crate) fn put(place: &mut [c_char], text: &[u8]) {
    let Some((last, room)) = place.split_last_mut() else { return };
    *last = 0;
    let mut bytes = text.iter().map(|byte| byte.cast_signed() as c_char).chain(core::iter::repeat(0));
    room.iter_mut().zip(&mut bytes).for_each(|(to, from)| *to = from);
}

/// Age of the newest pulled sample in seconds. NaN before the first, and before the offset of the sender's clock is
/// known.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_lag(inlet: *mut Inlet) -> f64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { hold(inlet) };
    let inlet = inlet.as_deref();
    guard(f64::NAN, || inlet.and_then(Inlet::lag).unwrap_or(f64::NAN))
}

/// Samples that arrived and were dropped because they were not pulled in time.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_dropped_samples(inlet: *mut Inlet) -> u64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { hold(inlet) };
    let inlet = inlet.as_deref();
    guard(0, || inlet.map_or(0, Inlet::dropped_samples))
}

/// Bytes of samples that wait to be pulled.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_buffered_bytes(inlet: *mut Inlet) -> u64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { hold(inlet) };
    let inlet = inlet.as_deref();
    guard(0, || inlet.map_or(0, Inlet::buffered_bytes) as u64)
}

/// The oldest event of the connection that was not taken yet; waits for one up to `timeout` seconds.
///
/// # Safety
///
/// - `inlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_next_event(inlet: *mut Inlet, timeout: f64) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(inlet) = (unsafe { hold(inlet) }) else { return ARGUMENT };
    guard(INTERNAL, || match inlet.next_event(timeout) {
        None => EVENT_NONE,
        Some(StreamEvent::Connected) => EVENT_CONNECTED,
        Some(StreamEvent::Recovering) => EVENT_RECOVERING,
        Some(StreamEvent::Lost) => EVENT_LOST,
        Some(StreamEvent::ClockReset) => EVENT_CLOCK_RESET,
        Some(StreamEvent::Refused) => EVENT_REFUSED,
        Some(StreamEvent::OtherDevice) => EVENT_OTHER_DEVICE,
        Some(StreamEvent::Behind) => EVENT_BEHIND,
        Some(StreamEvent::CaughtUp) => EVENT_CAUGHT_UP,
        Some(StreamEvent::Silent) => EVENT_SILENT,
        Some(_) => INTERNAL,
    })
}

/// Number of inlets that receive the stream.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_consumer_count(outlet: *mut Outlet) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || outlet.map_or(0, Outlet::consumer_count) as u64)
}

/// Waits until `count` inlets receive the stream; 1 if they do, 0 if they do not after `timeout` seconds.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_wait_for_consumers(
    outlet: *mut Outlet,
    count: u64,
    timeout: f64,
) -> i32 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    guard(0, || i32::from(outlet.is_some_and(|outlet| outlet.wait_for_consumers(count, time_limit(timeout)))))
}

/// Waits until the kernel has every sample pushed so far; 0 if it has, -1 if not after `timeout` seconds.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_flush(outlet: *mut Outlet, timeout: f64) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(outlet) = (unsafe { outlet.as_ref() }) else { return ARGUMENT };
    guard(INTERNAL, || outcome(outlet.flush(time_limit(timeout))))
}

/// Samples that all consumers together, present or gone, were too slow for.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_dropped_samples(outlet: *mut Outlet) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || outlet.map_or(0, Outlet::dropped_samples))
}

/// Samples that each present consumer was too slow for; writes up to `len` counts and returns the number of
/// consumers.
///
/// # Safety
///
/// - `outlet` is null or a live handle; `counts` is null or points to `len` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_dropped_by_consumer(
    outlet: *mut Outlet,
    counts: *mut u64,
    len: u64,
) -> u64 {
    // SAFETY: as this function's own contract.
    let Some(outlet) = (unsafe { outlet.as_ref() }) else { return 0 };
    // SAFETY: as this function's own contract.
    let places = unsafe { chunk::write(counts, usize::try_from(len).unwrap_or(0)) };
    guard(0, || {
        let consumers = outlet.consumers();
        places.iter_mut().zip(&consumers).for_each(|(place, consumer)| *place = consumer.dropped_samples);
        consumers.len() as u64
    })
}

/// Bytes that wait for consumers that lag.
///
/// # Safety
///
/// - `outlet` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_buffered_bytes(outlet: *mut Outlet) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    guard(0, || outlet.map_or(0, Outlet::buffered_bytes) as u64)
}

/// The sender of the stream; returns what `security` says as well.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `peer` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_peer(inlet: *mut Inlet, peer: *mut Peer) -> i32 {
    // SAFETY: as this function's own contract.
    let Some(inlet) = (unsafe { hold(inlet) }) else { return ARGUMENT };
    let known = guard(Peer::new(INTERNAL, None), || {
        let security = match inlet.protection() {
            None => NO_CONNECTION,
            Some(Protection::Plain) => PLAIN,
            Some(Protection::Sealed) => SEALED,
        };
        Peer::new(security, inlet.peer().as_ref())
    });
    if !peer.is_null() {
        // SAFETY: not null, so the caller promises that it can be written.
        unsafe { peer.write(known) };
    }
    known.security
}

/// The receivers of the stream. Writes up to `len` entries; returns the number of
/// consumers.
///
/// # Safety
///
/// - `outlet` is null or a live handle, `peers` null or valid for writes of `len` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_outlet_peers(outlet: *mut Outlet, peers: *mut Peer, len: u64) -> u64 {
    // SAFETY: as this function's own contract.
    let outlet = unsafe { outlet.as_ref() };
    let consumers = guard(Vec::new(), || outlet.map_or_else(Vec::new, Outlet::consumers));
    // SAFETY: as the caller promises.
    let places = unsafe { chunk::write(peers, usize::try_from(len).unwrap_or(usize::MAX)) };
    for (place, consumer) in places.iter_mut().zip(&consumers) {
        *place = Peer::new(if consumer.peer.is_some() { SEALED } else { PLAIN }, consumer.peer.as_ref());
    }
    consumers.len() as u64
}

/// Why there is no session with the outlet, and the remedy. Writes up to `len` bytes with the NUL and returns the
/// length of the whole text. Returns 0 if there is no such reason.
///
/// # Safety
///
/// - `inlet` is null or a live handle, `text` null or valid for writes of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_inlet_refusal(inlet: *mut Inlet, text: *mut c_char, len: u64) -> u64 {
    // SAFETY: as this function's own contract.
    let inlet = unsafe { hold(inlet) };
    let inlet = inlet.as_deref();
    let reason = guard(String::new(), || match inlet.and_then(Inlet::refusal) {
        Some(refusal) => Explained(refusal).to_string(),
        None => String::new(),
    });
    // SAFETY: as the caller promises.
    let place = unsafe { chunk::write(text, usize::try_from(len).unwrap_or(usize::MAX)) };
    put(place, reason.as_bytes());
    reason.len() as u64
}

/// No event came in time.
const EVENT_NONE: i32 = 0;
/// Samples arrive.
const EVENT_CONNECTED: i32 = 1;
/// The connection broke and the stream is looked for.
const EVENT_RECOVERING: i32 = 2;
/// The stream will not come back to this inlet.
const EVENT_LOST: i32 = 3;
/// The sender's clock may be another one now.
const EVENT_CLOCK_RESET: i32 = 4;
/// There is no session with the outlet.
const EVENT_REFUSED: i32 = 5;
/// Another device than before serves the stream.
const EVENT_OTHER_DEVICE: i32 = 6;
/// The program gets old samples, or lost some.
pub(crate) const EVENT_BEHIND: i32 = 7;
/// The program gets samples of the present again.
pub(crate) const EVENT_CAUGHT_UP: i32 = 8;
/// Nothing arrives although the stream has a rate.
pub(crate) const EVENT_SILENT: i32 = 9;

/// There is no connection.
const NO_CONNECTION: i32 = -1;
/// Every computer on the network can read it.
const PLAIN: i32 = 0;
/// Only members of the lab can read it.
const SEALED: i32 = 1;
