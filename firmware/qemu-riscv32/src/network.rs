//! Hart 1: the network stack, and the outlet between it and the ring.

use core::sync::atomic::{AtomicU32, Ordering};

use schwann_node::{Description, Member, Micros, Ports, Security, Surroundings, Uid, Wait};
use schwann_node_smoltcp::{Board, Buffers, LINKS, SOCKETS, Server, instant};
use schwann_proto::stream::ChannelFormat;
use schwann_session::{Calendar, Entropy as _, key_slots, provision::Keys};
use smoltcp::{
    iface::{Config, Interface, SocketStorage},
    wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address},
};

use crate::{
    application,
    card::{Card, Dice},
    handoff, machine, say,
    settings::Settings,
};

type Outlet<'a> = schwann_node::Outlet<'a, LINKS, RX, TX>;

/// Says what has happened, on the serial line.
pub fn report() {
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    say!(
        "counters pushed={} sent={} lost={} slips={} sessions={} strangers={} odd={} turns={}",
        count(&PUSHED),
        count(&SENT),
        count(&LOST),
        count(&application::SLIPS),
        count(&SESSIONS),
        count(&STRANGERS),
        count(&ODD),
        count(&BEATS),
    );
    say!("stacks application={} network={}", machine::stack_used(0), machine::stack_used(1));
}

pub fn run(settings: &Settings) -> ! {
    machine::unring(1);
    let (Some(consumer), Some(mut card)) = (handoff::take(), Card::new()) else {
        say!("no network card");
        machine::exit(4)
    };
    let mut dice = Dice::new();
    let mut key_memory = [0; 1024];
    let keys = if settings.sealed { Some(keys(&mut key_memory, &mut dice, RX - 20)) } else { None };
    let security = keys.as_ref().map_or(Security::Off, |keys| {
        Security::Require(Member { visible: settings.visible, ..Member::of(keys) })
    });
    let mut uid = [0; 16];
    if dice.fill(&mut uid).is_err() {
        say!("no random generator");
        machine::exit(5);
    }
    let description = Description {
        name: "QEMU node",
        stream_type: "EEG",
        channel_count: settings.channel_count,
        format: ChannelFormat::Float32,
        nominal_rate: f64::from(settings.rate),
        source_id: "qemu-riscv32",
        hostname: "qemu-riscv32",
        session_id: "default",
        uid: Uid::new(uid),
        created_at: machine::now().seconds(),
        ports: Ports { data_port: DATA_PORT, service_port: SERVICE_PORT },
        desc: "<manufacturer>Schwann</manufacturer>",
    };
    // By reference: a copy would take as much stack again.
    match &mut Outlet::new(description, consumer, security, settings.pace) {
        Ok(outlet) => serve(settings, outlet, &mut card, dice),
        Err(why) => {
            say!("no outlet: {why}");
            machine::exit(6)
        }
    }
}

/// Not part of its caller, and neither are the others below. So their locals lie on the stack only while they run.
#[inline(never)]
pub fn keys<'a>(memory: &'a mut [u8], dice: &mut Dice, record_limit: usize) -> Keys<'a> {
    let content = match key_slots::load(&mut machine::KeyFlash, memory) {
        Ok(content) => content,
        Err(why) => {
            say!("keys: {why}");
            machine::exit(7)
        }
    };
    match Keys::parse(content, record_limit, dice) {
        Ok(keys) => keys,
        Err(why) => {
            say!("keys: {why}");
            machine::exit(8)
        }
    }
}

fn serve(settings: &Settings, outlet: &mut Outlet<'_>, card: &mut Card, dice: Dice) -> ! {
    let started = machine::now();
    let mut iface = interface(settings, card);
    let mut storage = [const { SocketStorage::EMPTY }; SOCKETS];
    // One by one: a pair would be made elsewhere on the stack, and copied.
    let mut buffers = Buffers::new();
    // 40 ms of 8 channels at 1 kHz are 1,640 bytes and a few records. A computer may leave them unacknowledged.
    let mut narrow = [0; LINKS * 2048];
    // A stream of many channels, or of an emulation with pauses, gets more memory than an 8-channel board would
    // have.
    let wide = settings.channel_count > 8 || settings.slots > 128;
    let sending = if wide { wide_buffer() } else { &mut narrow };
    let ports = outlet.description().ports;
    let server = Server::new(ports, &mut iface, &mut storage, &mut buffers, sending);
    let Some(mut server) = server else {
        say!("the groups cannot be joined");
        machine::exit(9)
    };
    say!("serving bound=true sealed={}", u8::from(settings.sealed));
    let mut board = Virt { dice, calendar: settings.calendar };
    loop {
        machine::unring(1);
        card.acknowledge();
        if settings.hang_s > 0 && machine::now().since(started) > settings.hang_s * 1_000_000 {
            hang();
        }
        let wait = server.turn(outlet, &mut iface, card, &mut board);
        note(outlet);
        let now = machine::now();
        let mut until = now.after(LONGEST_SLEEP);
        if let Wait::Until(then) = wait {
            until = until.min(then);
        }
        if until > now {
            machine::sleep(1, Some(until));
        }
    }
}

/// What the watchdog is there for.
fn hang() -> ! {
    loop {
        machine::sleep(1, None);
        machine::unring(1);
    }
}

/// Clock, date and dice of the machine.
struct Virt {
    dice: Dice,
    calendar: Calendar,
}

impl Board for Virt {
    fn now(&mut self) -> Micros {
        machine::now()
    }

    fn surroundings(&mut self) -> Surroundings<'_> {
        Surroundings { now: machine::now(), calendar: self.calendar, entropy: &mut self.dice }
    }
}

/// What subscribers of many channels may leave unacknowledged, in RAM that is no part of the image.
fn wide_buffer() -> &'static mut [u8] {
    // SAFETY: RAM that nothing else owns, zero at start; `serve` runs once.
    unsafe { core::slice::from_raw_parts_mut(machine::WIDE_BUFFER as *mut u8, LINKS * 8192) }
}

fn note(outlet: &Outlet<'_>) {
    let counters = outlet.counters();
    BEATS.store(counters.polls, Ordering::Relaxed);
    PUSHED.store(counters.pushed, Ordering::Relaxed);
    SENT.store(counters.sent, Ordering::Relaxed);
    LOST.store(counters.lost, Ordering::Relaxed);
    SESSIONS.store(counters.sessions, Ordering::Relaxed);
    STRANGERS.store(counters.strangers, Ordering::Relaxed);
    ODD.store(counters.odd_datagrams, Ordering::Relaxed);
}

#[inline(never)]
pub fn interface(settings: &Settings, card: &mut Card) -> Interface {
    let address = EthernetAddress(card.address());
    let mut config = Config::new(HardwareAddress::Ethernet(address));
    config.random_seed = machine::now().0;
    let mut iface = Interface::new(config, card, instant(machine::now()));
    let [a, b, c, d] = settings.address;
    iface.update_ip_addrs(|addresses| {
        // The list is empty and has room for one.
        let _ = addresses.push(IpCidr::new(Ipv4Address::new(a, b, c, d).into(), 24));
    });
    iface
}

/// What comes over a link: the longest record, and 20 bytes of its own.
pub const RX: usize = 512;
/// What goes: 20 samples of 8 channels in a record, or one of 128.
pub const TX: usize = 896;

const DATA_PORT: u16 = 16572;
const SERVICE_PORT: u16 = 16572;
/// Longest sleep, so that the watchdog has something to see, in microseconds.
const LONGEST_SLEEP: u64 = 500_000;

/// Turns of hart 1's loop.
pub static BEATS: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);
static PUSHED: AtomicU32 = AtomicU32::new(0);
static SESSIONS: AtomicU32 = AtomicU32::new(0);
static STRANGERS: AtomicU32 = AtomicU32::new(0);
static ODD: AtomicU32 = AtomicU32::new(0);
