//! Counts instructions of the node's parts, for `schwann-bench mcu` and for the budgets in CI.
//!
//! Meaningful under `-icount shift=0` alone, where the counter is exact and two runs are equal. Instructions are
//! not cycles: QEMU models no pipeline, no cache and no flash.

use core::sync::atomic::AtomicU32;

use schwann_aead::{Key, Nonce, seal_in_place};
use schwann_node::{
    Control, Found, Inlet, InletState, Keep, Member, Micros, Outlet, Pace, Security, Shape, Surroundings,
    Wanted, ring,
};
use schwann_node_smoltcp::LINKS;
use schwann_proto::{stream::ChannelFormat, wire::ByteWriter};
use schwann_session::{BareResponder, Datagrams, Secure, Suite, UnixSeconds, provision::Keys};

use crate::{
    machine,
    network::{RX, TX},
    say,
    transcript::{self, Known},
};

type Node<'a> = Outlet<'a, LINKS, RX, TX>;

pub fn run() -> ! {
    // Instructions of two reads of the counter with nothing between them.
    let first = machine::instructions();
    let overhead = machine::instructions().wrapping_sub(first);
    let again = machine::instructions();
    let exact = machine::instructions().wrapping_sub(again) == overhead && overhead < 8;
    say!("exact={}", u8::from(exact));
    match transcript::first_difference() {
        Ok(None) => say!("transcript=equal bytes={}", transcript::RECORDED.len()),
        other => {
            say!("transcript={other:?}");
            machine::exit(9)
        }
    }
    for channel_count in [8, 64, 128] {
        pushes(channel_count, "none");
    }
    say!(
        "bytes outlet={} session={} datagrams={} handshake={}",
        size_of::<Node<'_>>(),
        size_of::<Secure>(),
        size_of::<Datagrams>(),
        size_of::<BareResponder>(),
    );
    say!("residue words={}", residue());
    #[cfg(feature = "hybrid")]
    hybrid();
    for sealed in [false, true] {
        for subscribers in [1, 3] {
            feeds(sealed, subscribers, 1);
            feeds(sealed, subscribers, 20);
        }
    }
    say!("stacks application={}", machine::stack_used(0));
    say!("done");
    machine::exit(0)
}

/// Words of key or key stream that sealing leaves on the stack. None, if the cipher clears as deep as it goes.
#[inline(never)]
fn residue() -> usize {
    let mut bytes = [0; 32];
    // No two words are alike, and none is what the stack is painted with.
    bytes.iter_mut().zip(91_u8..).for_each(|(byte, value)| *byte = value);
    let key = Key::new(&bytes);
    // The key stream itself: what is sealed are zeros.
    let mut text = [0; 200];
    machine::repaint_stack(0);
    if seal_in_place(&key, &Nonce([7; 12]), &[], &mut text).is_err() {
        machine::exit(16);
    }
    still_below(bytes.as_chunks().0) + still_below(text.as_chunks().0)
}

/// How often any of these words lies below this function's frame, which itself lies below its caller's.
#[inline(never)]
fn still_below(secrets: &[[u8; 4]]) -> usize {
    let marker = 0_u32;
    let from = &raw const marker as usize & !3;
    secrets.iter().map(|secret| machine::words_below(0, from, u32::from_le_bytes(*secret))).sum()
}

/// What the post-quantum suite costs.
#[cfg(feature = "hybrid")]
fn hybrid() {
    let mut entropy = [Known(1), Known(2)];
    let [first, second] = &mut entropy;
    let (Ok(one), Ok(two)) =
        (Keys::parse(transcript::KEYS[0], 1000, first), Keys::parse(transcript::KEYS[1], 700, second))
    else {
        machine::exit(12)
    };
    let description = transcript::description();
    let mut control = Control::new();
    let shape = Shape::numbers(description.format, description.channel_count);
    let Some((_producer, consumer)) = ring(wide_ring(), &mut control, shape, Keep::Newest) else {
        machine::exit(10)
    };
    let security = Security::Require(Member::of(&one));
    let Ok(mut outlet) = Outlet::<'_, 1, 1458, 2048>::new(description, consumer, security, Pace::EverySample)
    else {
        machine::exit(13)
    };
    let mut inlet = Inlet::<'_, 2048, 2048>::new(
        wanted(&description),
        Security::Require(Member::of(&two)),
        Suite::Hybrid,
    );
    let (mut span, mut deepest) = (Span::default(), 0);
    connect(&mut outlet, 0, &mut inlet, Micros(1_000_000), first, second, &mut span, &mut deepest);
    if inlet.state() != InletState::Receiving {
        machine::exit(14);
    }
    say!(
        "hybrid instructions={} steps={} stack={deepest} responder={}",
        span.total,
        span.count,
        size_of::<BareResponder>()
    );
}

#[derive(Default)]
struct Span {
    count: u32,
    total: u64,
    least: Option<u32>,
    most: u32,
}

impl Span {
    fn time<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let start = machine::instructions();
        let result = work();
        let took = machine::instructions().wrapping_sub(start);
        self.count += 1;
        self.total += u64::from(took);
        self.least = Some(self.least.map_or(took, |least| least.min(took)));
        self.most = self.most.max(took);
        result
    }

    fn mean(&self) -> u64 {
        self.total / u64::from(self.count.max(1))
    }
}

fn pushes(channel_count: usize, subscribers: &str) {
    let words = wide_ring();
    let mut control = Control::new();
    let shape = Shape::numbers(ChannelFormat::Float32, channel_count);
    let Some((mut producer, _consumer)) = ring(words, &mut control, shape, Keep::Newest) else {
        machine::exit(10)
    };
    let sample = [1.5_f32; 128];
    let mut span = Span::default();
    for turn in 0..PUSHES {
        let values = &sample[..channel_count];
        let pushed = span.time(|| producer.push(values, f64::from(turn)));
        if pushed.is_err() {
            machine::exit(11);
        }
    }
    report_push(channel_count, subscribers, &span);
}

fn report_push(channel_count: usize, subscribers: &str, span: &Span) {
    say!(
        "push channels={channel_count} subscribers={subscribers} mean={} least={} most={}",
        span.mean(),
        span.least.unwrap_or(0),
        span.most
    );
}

fn wide_ring() -> &'static mut [AtomicU32] {
    // SAFETY: RAM that nothing else owns, zero at start; each measurement is over before the next begins.
    unsafe { core::slice::from_raw_parts_mut(machine::WIDE_RING as *mut AtomicU32, 256 * 130) }
}

/// What it costs to serve 8 channels to subscribers that take everything.
fn feeds(sealed: bool, subscribers: usize, batch: u32) {
    let mut entropy = [Known(1), Known(2)];
    let [one, two] = &mut entropy;
    let (Ok(one), Ok(two)) =
        (Keys::parse(transcript::KEYS[0], RX - 20, one), Keys::parse(transcript::KEYS[1], TAKEN, two))
    else {
        machine::exit(12)
    };
    let security = |keys| if sealed { Security::Require(Member::of(keys)) } else { Security::Off };
    let mut control = Control::new();
    let description = transcript::description();
    let shape = Shape::numbers(ChannelFormat::Float32, 8);
    let Some((mut producer, consumer)) = ring(wide_ring(), &mut control, shape, Keep::Newest) else {
        machine::exit(10)
    };
    let pace = if batch == 1 { Pace::EverySample } else { Pace::Within(u64::from(batch) * 1000 - 1) };
    let Ok(mut outlet) = Node::new(description, consumer, security(&one), pace) else { machine::exit(13) };
    let mut now = Micros(1_000_000);
    let mut inlets: [Option<Inlet<'_, 2048, 1024>>; 3] = [const { None }; 3];
    let mut handshake = Span::default();
    let mut deepest = 0;
    for (link, place) in inlets.iter_mut().enumerate().take(subscribers) {
        let mut inlet = Inlet::new(wanted(&description), security(&two), Suite::Classic);
        let [outlets, others] = &mut entropy;
        connect(&mut outlet, link, &mut inlet, now, outlets, others, &mut handshake, &mut deepest);
        if inlet.state() != InletState::Receiving {
            machine::exit(14);
        }
        *place = Some(inlet);
    }
    let mut poll = Span::default();
    let mut push = Span::default();
    let (rounds, before) = (200_u32, outlet.counters());
    for _ in 0..rounds {
        now = now.after(1000);
        let (sample, stamp) = ([1.5_f32; 8], now.seconds());
        if push.time(|| producer.push(&sample, stamp)).is_err() {
            machine::exit(11);
        }
        poll.time(|| outlet.poll(now));
        for (link, inlet) in inlets.iter_mut().flatten().enumerate() {
            drain(&mut outlet, link, inlet, now, &mut entropy[1]);
        }
    }
    let counters = outlet.counters();
    let sent = counters.sent.wrapping_sub(before.sent);
    let kind = if sealed { "sealed" } else { "plain" };
    say!(
        "serve kind={kind} subscribers={subscribers} batch={batch} sent={sent} records={} per_sample={} most={} lost={}",
        counters.records.wrapping_sub(before.records),
        poll.total / u64::from(rounds),
        poll.most,
        counters.lost,
    );
    report_push(8, if sealed { "sealed" } else { "plain" }, &push);
    if sealed && subscribers == 1 && batch == 1 {
        say!("handshake instructions={} steps={} stack={deepest}", handshake.total, handshake.count);
    }
}

fn wanted(description: &schwann_node::Description<'_>) -> Wanted {
    let mut document = [0; 1024];
    let mut writer = ByteWriter::new(&mut document);
    let wanted = description
        .put_shortinfo(&mut writer)
        .ok()
        .and_then(|()| Found::parse(core::str::from_utf8(writer.written()).ok()?))
        .and_then(|found| Wanted::new(&found, 100));
    let Some(wanted) = wanted else { machine::exit(15) };
    wanted
}

/// Lets an inlet connect; counts the outlet's instructions and its stack below this function.
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "two nodes, two generators, and what is measured")]
fn connect<const LINKS: usize, const RX: usize, const TX: usize, const SENDING: usize>(
    outlet: &mut Outlet<'_, LINKS, RX, TX>,
    link: usize,
    inlet: &mut Inlet<'_, 2048, SENDING>,
    now: Micros,
    outlets: &mut Known,
    others: &mut Known,
    span: &mut Span,
    deepest: &mut usize,
) {
    let calendar = UnixSeconds(1_800_000_000).into();
    outlet.accept(link, now);
    inlet.connected(&mut Surroundings { now, calendar, entropy: others });
    for _ in 0..8 {
        let marker = 0_u32;
        let from = &raw const marker as usize;
        machine::repaint_stack(0);
        let heard = span.time(|| {
            let heard =
                outlet.receive(link, inlet.transmit(), &mut Surroundings { now, calendar, entropy: outlets });
            outlet.poll(now);
            heard
        });
        *deepest = machine::stack_used_below(0, from & !3).max(*deepest);
        inlet.sent(heard);
        let taken =
            inlet.receive(outlet.transmit(link), &mut Surroundings { now, calendar, entropy: others });
        outlet.sent(link, taken, now);
    }
}

fn drain(
    outlet: &mut Node<'_>,
    link: usize,
    inlet: &mut Inlet<'_, 2048, 1024>,
    now: Micros,
    entropy: &mut Known,
) {
    let calendar = UnixSeconds(1_800_000_000).into();
    let taken = inlet.receive(outlet.transmit(link), &mut Surroundings { now, calendar, entropy });
    outlet.sent(link, taken, now);
    while inlet.pull(&mut [0.0_f32; 8]).is_some() {}
}

/// Most plaintext that subscribers take in a record, in bytes. This is more than an outlet sends at a time, as with
/// computers.
const TAKEN: usize = 2000;
/// Pushes per measurement.
const PUSHES: u32 = 256;
