//! Making a node, and the network's functions.

use core::{ffi::c_void, mem::MaybeUninit, ptr, slice, sync::atomic::AtomicU32};

use schwann_node::{
    Control, LinkState, Member, Micros, Outlet, Producer, Security, Service, Surroundings, Wait, ring,
};
use schwann_session::{Calendar, Entropy as _, UnixSeconds, provision::Keys};

use crate::settings::{Counters, Dice, Settings};

type NodeOutlet = Outlet<'static, LINKS, RX, TX>;

/// `schwann_node`: lies in the caller's memory and is never moved, because its parts refer to each other.
pub struct Node {
    /// The application's part.
    producer: Producer<'static>,
    /// The network's part: everything below.
    outlet: NodeOutlet,
    dice: Dice,
}

/// What a node consists of, while it is being made.
struct Parts {
    node: MaybeUninit<Node>,
    control: Control,
    keys: MaybeUninit<Keys<'static>>,
}

/// Bytes of memory that a node needs.
#[unsafe(no_mangle)]
pub extern "C" fn schwann_node_size() -> usize {
    size_of::<Parts>()
}

/// What the address of that memory must be a multiple of.
#[unsafe(no_mangle)]
pub extern "C" fn schwann_node_alignment() -> usize {
    align_of::<Parts>()
}

/// Makes a node in the caller's memory; null if the settings or the memory are wrong.
///
/// # Safety
///
/// - `memory` is null or has `size` bytes, and `words` is null or has `word_count` words. From now on both are the
///   node's alone.
/// - `settings` is null or valid, and what it points to stays valid as long as the node is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_create(
    memory: *mut c_void,
    size: usize,
    words: *mut u32,
    word_count: usize,
    settings: *const Settings,
) -> *mut Node {
    let parts: *mut Parts = memory.cast();
    let fits = size >= size_of::<Parts>() && parts.is_aligned() && words.is_aligned();
    if memory.is_null() || words.is_null() || !fits {
        return ptr::null_mut();
    }
    // SAFETY: the caller promises null or valid settings.
    let Some(settings) = (unsafe { settings.as_ref() }) else { return ptr::null_mut() };
    // SAFETY: the caller promises as many words, for the node alone; an atomic is laid out as what it holds.
    let words = unsafe { slice::from_raw_parts_mut(words.cast::<AtomicU32>(), word_count) };
    // SAFETY: an address within memory that was checked above to be long enough.
    let control = unsafe { &raw mut (*parts).control };
    // SAFETY: aligned, as the whole is; the caller promises that the memory is the node's alone.
    unsafe { control.write(Control::new()) };
    // SAFETY: written in the line above, and borrowed nowhere else.
    let control = unsafe { &mut *control };
    // SAFETY: as for `control`; an uninitialised value is a valid `MaybeUninit`.
    let keys = unsafe { &mut (*parts).keys };
    let Some(made) = make(settings, words, control, keys) else { return ptr::null_mut() };
    // SAFETY: as for `control`; the node's part of the memory is borrowed nowhere.
    let place = unsafe { &mut (*parts).node };
    place.write(made)
}

fn make(
    settings: &Settings,
    words: &'static mut [AtomicU32],
    control: &'static mut Control,
    keys: &'static mut MaybeUninit<Keys<'static>>,
) -> Option<Node> {
    let mut dice = settings.dice();
    let mut uid = [0; 16];
    dice.fill(&mut uid).ok()?;
    let security = match settings.keys() {
        None => Security::Off,
        // A record's 20 bytes of its own.
        Some(content) => {
            Security::Require(Member::of(keys.write(Keys::parse(content, RX - 20, &mut dice).ok()?)))
        }
    };
    let (producer, consumer) = ring(words, control, settings.shape()?, settings.keep())?;
    let outlet = Outlet::new(settings.description(uid)?, consumer, security, settings.pace()).ok()?;
    Some(Node { producer, outlet, dice })
}

/// The application's part of a node.
///
/// # Safety
///
/// - `node` is null or comes from `schwann_node_create`, and one thread at a time pushes.
pub(crate) unsafe fn application<'a>(node: *mut Node) -> Option<&'a mut Producer<'static>> {
    if node.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the network's functions never touch this part.
    Some(unsafe { &mut (*node).producer })
}

/// The network's part of a node.
///
/// # Safety
///
/// - `node` is null or comes from `schwann_node_create`, and one thread at a time calls the network's functions.
unsafe fn network<'a>(node: *mut Node) -> Option<(&'a mut NodeOutlet, &'a mut Dice)> {
    if node.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; a push never touches this part.
    let outlet = unsafe { &mut (*node).outlet };
    // SAFETY: as above, and another field.
    let dice = unsafe { &mut (*node).dice };
    Some((outlet, dice))
}

/// Bytes that the caller promises.
///
/// # Safety
///
/// - `bytes` is null or has `len` bytes for as long as the result is used.
unsafe fn view<'a>(bytes: *const u8, len: usize) -> &'a [u8] {
    if bytes.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes, len) }
}

/// Socket `link` has accepted a connection.
///
/// # Safety
///
/// - `node` is null or comes from `schwann_node_create`; one thread at a time calls the network's functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_accept(node: *mut Node, link: usize, now_us: u64) {
    // SAFETY: the caller's promise.
    if let Some((outlet, _)) = unsafe { network(node) } {
        outlet.accept(link, Micros(now_us));
    }
}

/// Takes what socket `link` received; returns how many bytes.
///
/// # Safety
///
/// - As for `schwann_node_accept`; `bytes` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_receive(
    node: *mut Node,
    link: usize,
    bytes: *const u8,
    len: usize,
    now_us: u64,
    calendar_s: u64,
) -> usize {
    // SAFETY: the caller's promise.
    let Some((outlet, dice)) = (unsafe { network(node) }) else { return len };
    // SAFETY: the caller's promise.
    let bytes = unsafe { view(bytes, len) };
    outlet.receive(link, bytes, &mut surroundings(dice, now_us, calendar_s))
}

/// What socket `link` has to send; `len` is set to how many bytes.
///
/// # Safety
///
/// - As for `schwann_node_accept`; `len` is null or valid. The bytes are valid until the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_transmit(node: *mut Node, link: usize, len: *mut usize) -> *const u8 {
    // SAFETY: the caller's promise.
    let waiting = unsafe { network(node) }.map(|(outlet, _)| outlet.transmit(link)).unwrap_or_default();
    // SAFETY: the caller's promise.
    if let Some(len) = unsafe { len.as_mut() } {
        *len = waiting.len();
    }
    waiting.as_ptr()
}

/// Socket `link` has taken the first `count` bytes.
///
/// # Safety
///
/// - As for `schwann_node_accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_sent(node: *mut Node, link: usize, count: usize, now_us: u64) {
    // SAFETY: the caller's promise.
    if let Some((outlet, _)) = unsafe { network(node) } {
        outlet.sent(link, count, Micros(now_us));
    }
}

/// The connection of socket `link` is gone.
///
/// # Safety
///
/// - As for `schwann_node_accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_ended(node: *mut Node, link: usize) {
    // SAFETY: the caller's promise.
    if let Some((outlet, _)) = unsafe { network(node) } {
        outlet.ended(link);
    }
}

/// What to do with socket `link`. 0: nothing is connected. 1: keep it. 2: close it after all bytes are sent.
/// 3: reset it.
///
/// # Safety
///
/// - As for `schwann_node_accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_state(node: *mut Node, link: usize) -> i32 {
    // SAFETY: the caller's promise.
    match unsafe { network(node) }.map(|(outlet, _)| outlet.state(link)) {
        None | Some(LinkState::Vacant) => 0,
        Some(LinkState::Open) => 1,
        Some(LinkState::Closing) => 2,
        Some(LinkState::Broken) => 3,
    }
}

/// Does what time, samples and room permit; returns until when to sleep, in microseconds.
///
/// # Safety
///
/// - As for `schwann_node_accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_poll(node: *mut Node, now_us: u64) -> u64 {
    // SAFETY: the caller's promise.
    match unsafe { network(node) }.map(|(outlet, _)| outlet.poll(Micros(now_us))) {
        Some(Wait::Until(Micros(until))) => until,
        Some(Wait::ForEvent) | None => u64::MAX,
    }
}

/// Answers a datagram. Returns the length of the reply in `out`, 0 for none, and sets its destination port.
///
/// # Safety
///
/// - As for `schwann_node_accept`. `datagram` is null or has `len` bytes; sealed ones are opened in place. `out` is
///   null or has `out_len` bytes. `port` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_datagram(
    node: *mut Node,
    is_service_port: i32,
    datagram: *mut u8,
    len: usize,
    out: *mut u8,
    out_len: usize,
    port: *mut u16,
    now_us: u64,
    calendar_s: u64,
) -> usize {
    // SAFETY: the caller's promise.
    let Some((outlet, dice)) = (unsafe { network(node) }) else { return 0 };
    if datagram.is_null() || out.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise.
    let datagram = unsafe { slice::from_raw_parts_mut(datagram, len) };
    // SAFETY: the caller's promise.
    let out = unsafe { slice::from_raw_parts_mut(out, out_len) };
    let service = if is_service_port == 0 { Service::Discovery } else { Service::Time };
    let reply = outlet.handle_datagram(datagram, service, &mut surroundings(dice, now_us, calendar_s), out);
    let Some(reply) = reply else { return 0 };
    // SAFETY: the caller's promise.
    if let (Some(port), Some(to)) = (unsafe { port.as_mut() }, reply.port) {
        *port = to;
    }
    reply.len
}

/// Ends all streams; send what is left and close the sockets.
///
/// # Safety
///
/// - As for `schwann_node_accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_close(node: *mut Node) {
    // SAFETY: the caller's promise.
    if let Some((outlet, _)) = unsafe { network(node) } {
        outlet.close();
    }
}

/// What has happened so far.
///
/// # Safety
///
/// - As for `schwann_node_accept`; `out` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schwann_node_read_counters(node: *mut Node, out: *mut Counters) {
    // SAFETY: the caller's promise.
    let counters = unsafe { network(node) }.map(|(outlet, _)| Counters::from(outlet.counters()));
    // SAFETY: the caller's promise.
    if let (Some(out), Some(counters)) = (unsafe { out.as_mut() }, counters) {
        *out = counters;
    }
}

fn surroundings(dice: &mut Dice, now_us: u64, calendar_s: u64) -> Surroundings<'_> {
    Surroundings { now: Micros(now_us), calendar: calendar(calendar_s), entropy: dice }
}

/// What a caller knows of the date; 0 is nothing.
fn calendar(calendar_s: u64) -> Calendar {
    let date = UnixSeconds(calendar_s);
    if calendar_s == 0 { Calendar::NotBefore(date) } else { Calendar::Known(date) }
}

const LINKS: usize = 4;
const RX: usize = 768;
const TX: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_passes_no_date_has_no_calendar() {
        assert_eq!(calendar(0), Calendar::NotBefore(UnixSeconds(0)));
        assert_eq!(calendar(7), Calendar::Known(UnixSeconds(7)));
    }
}
