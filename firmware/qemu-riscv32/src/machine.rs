//! QEMU's virt machine: start, clock, interrupts, serial line, and memory that the image does not own.
//!
//! All unsafe code of the image is here and in `card.rs`: registers at fixed addresses, and two instructions.

use core::{
    arch::{asm, global_asm},
    fmt,
    sync::atomic::{AtomicU32, Ordering},
};

use schwann_node::Micros;
use schwann_session::key_slots::{Flash, FlashError, Slot};

global_asm!(
    ".section .text.start, \"ax\"",
    ".globl _start",
    "_start:",
    "csrw mie, zero",
    "csrci mstatus, 8",
    "csrr a0, mhartid",
    "bnez a0, 2f",
    // Hart 0 clears .bss, paints both stacks, and goes on.
    "la t0, _bss",
    "la t1, _bss_end",
    "1: bgeu t0, t1, 3f",
    "sw zero, 0(t0)",
    "addi t0, t0, 4",
    "j 1b",
    "3: la t0, _stack0_low",
    "la t1, _stack1_high",
    "li t2, 0x5afe5afe",
    "4: bgeu t0, t1, 5f",
    "sw t2, 0(t0)",
    "addi t0, t0, 4",
    "j 4b",
    "5: la sp, _stack0_high",
    "tail application_hart",
    // Hart 1 sleeps until hart 0 rings for the first time.
    "2: li t0, 8",
    "csrw mie, t0",
    "6: wfi",
    "csrr t1, mip",
    "and t1, t1, t0",
    "beqz t1, 6b",
    "la sp, _stack1_high",
    "tail network_hart",
);

unsafe extern "C" {
    static _stack0_low: u32;
    static _stack0_high: u32;
    static _stack1_low: u32;
    static _stack1_high: u32;
}

pub fn read(address: usize) -> u32 {
    // SAFETY: every caller names a register or a word of RAM that nothing in Rust owns.
    unsafe { core::ptr::read_volatile(address as *const u32) }
}

pub fn write(address: usize, value: u32) {
    // SAFETY: every caller names a register or a word of RAM that nothing in Rust owns.
    unsafe { core::ptr::write_volatile(address as *mut u32, value) }
}

fn read_byte(address: usize) -> u8 {
    // SAFETY: as for `read`.
    unsafe { core::ptr::read_volatile(address as *const u8) }
}

fn write_byte(address: usize, value: u8) {
    // SAFETY: as for `write`.
    unsafe { core::ptr::write_volatile(address as *mut u8, value) }
}

/// Ticks of 100 ns since the machine started.
fn ticks() -> u64 {
    loop {
        let high = read(CLINT + 0xbffc);
        let low = read(CLINT + 0xbff8);
        if read(CLINT + 0xbffc) == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

pub fn now() -> Micros {
    Micros(ticks() / 10)
}

/// Instructions that this hart has executed; exact under `-icount shift=0` alone.
pub fn instructions() -> u32 {
    let count;
    // SAFETY: reads a counter.
    unsafe { asm!("csrr {}, minstret", out(reg) count, options(nomem, nostack)) };
    count
}

/// Sleeps until `until`, a ring, or the network card.
///
/// Interrupts stay masked: `wfi` wakes for a pending one all the same, and the caller looks at all sources.
pub fn sleep(hart: usize, until: Option<Micros>) {
    let ticks = until.map_or(u64::MAX, |until| until.0.saturating_mul(10));
    write(CLINT + 0x4004 + 8 * hart, u32::MAX);
    write(CLINT + 0x4000 + 8 * hart, ticks as u32);
    write(CLINT + 0x4004 + 8 * hart, (ticks >> 32) as u32);
    // Software, timer and external interrupts of machine mode.
    // SAFETY: changes which interrupts end a `wfi`; none is taken.
    unsafe { asm!("csrw mie, {}", in(reg) 0x888, options(nomem, nostack)) };
    // SAFETY: waits.
    unsafe { asm!("wfi", options(nomem, nostack)) };
}

/// Wakes a hart.
pub fn ring(hart: usize) {
    write(CLINT + 4 * hart, 1);
}

/// Takes note of a ring.
pub fn unring(hart: usize) {
    write(CLINT + 4 * hart, 0);
}

/// Lets an interrupt line wake hart 1.
pub fn enable_line(line: u32) {
    write(PLIC + 4 * line as usize, 1);
    write(PLIC + 0x2000 + 0x80 * 2, 1 << line);
    write(PLIC + 0x20_0000 + 0x1000 * 2, 0);
}

/// Takes note of everything that came over the lines; the devices have been asked already.
pub fn settle_lines() {
    let claim = PLIC + 0x20_0004 + 0x1000 * 2;
    loop {
        let line = read(claim);
        if line == 0 {
            return;
        }
        write(claim, line);
    }
}

/// The serial line.
pub struct Serial;

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| write_byte(UART, byte));
        Ok(())
    }
}

impl Serial {
    pub fn read() -> Option<u8> {
        (read_byte(UART + 5) & 1 != 0).then(|| read_byte(UART))
    }
}

#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        if cfg!(not(feature = "bare")) {
            use core::fmt::Write as _;
            let _ = writeln!($crate::machine::Serial, $($text)*);
        }
    }};
}

/// Ends the emulation; `code` becomes QEMU's exit status.
pub fn exit(code: u32) -> ! {
    write(FINISHER, if code == 0 { 0x5555 } else { code << 16 | 0x3333 });
    loop {
        sleep(0, None);
    }
}

/// The settings' text.
pub fn settings(out: &mut [u8; 512]) -> &str {
    for (place, byte) in out.iter_mut().enumerate() {
        *byte = read_byte(SETTINGS + place);
    }
    let len = out.iter().position(|byte| *byte == 0).unwrap_or(0);
    core::str::from_utf8(out.get(..len).unwrap_or_default()).unwrap_or_default()
}

/// Bytes of a hart's stack that were ever in use.
pub fn stack_used(hart: usize) -> usize {
    let (low, high) = match hart {
        0 => (&raw const _stack0_low as usize, &raw const _stack0_high as usize),
        _ => (&raw const _stack1_low as usize, &raw const _stack1_high as usize),
    };
    let untouched = (low..high).step_by(4).take_while(|word| read(*word) == 0x5afe_5afe).count();
    high - low - 4 * untouched
}

/// Paints the stack below the caller anew, to measure what comes next.
#[inline(never)]
pub fn repaint_stack(hart: usize) {
    let marker = 0_u32;
    let top = (&raw const marker as usize) - 256;
    let low = if hart == 0 { &raw const _stack0_low as usize } else { &raw const _stack1_low as usize };
    (low..top & !3).step_by(4).for_each(|word| write(word, 0x5afe_5afe));
}

/// Bytes of a hart's stack below `from` that were in use since the last painting.
pub fn stack_used_below(hart: usize, from: usize) -> usize {
    let low = if hart == 0 { &raw const _stack0_low as usize } else { &raw const _stack1_low as usize };
    let untouched = (low..from).step_by(4).take_while(|word| read(*word) == 0x5afe_5afe).count();
    from - low - 4 * untouched
}

/// How many words of a hart's stack below `from` hold this value.
pub fn words_below(hart: usize, from: usize, value: u32) -> usize {
    let low = if hart == 0 { &raw const _stack0_low as usize } else { &raw const _stack1_low as usize };
    (low..from).step_by(4).filter(|word| read(*word) == value).count()
}

/// Memory that stands for the chip's flash.
pub struct KeyFlash;

impl KeyFlash {
    fn address(slot: Slot, offset: usize) -> usize {
        let base = match slot {
            Slot::A => KEYS,
            Slot::B => KEYS + KEY_SLOT_LEN,
        };
        base + offset
    }
}

impl Flash for KeyFlash {
    fn slot_len(&self) -> usize {
        KEY_SLOT_LEN
    }

    fn read(&mut self, slot: Slot, offset: usize, out: &mut [u8]) -> Result<(), FlashError> {
        for (place, byte) in out.iter_mut().enumerate() {
            *byte = read_byte(Self::address(slot, offset + place));
        }
        Ok(())
    }

    fn erase(&mut self, slot: Slot) -> Result<(), FlashError> {
        (0..KEY_SLOT_LEN).for_each(|offset| write_byte(Self::address(slot, offset), 0xff));
        Ok(())
    }

    fn write(&mut self, slot: Slot, offset: usize, bytes: &[u8]) -> Result<(), FlashError> {
        bytes.iter().enumerate().for_each(|(at, byte)| write_byte(Self::address(slot, offset + at), *byte));
        Ok(())
    }
}

/// Takes the static value once; later calls get nothing.
pub fn once(taken: &AtomicU32) -> bool {
    let first = taken.load(Ordering::Relaxed) == 0;
    taken.store(1, Ordering::Relaxed);
    first
}

const UART: usize = 0x1000_0000;
const FINISHER: usize = 0x10_0000;
const CLINT: usize = 0x0200_0000;
const PLIC: usize = 0x0c00_0000;
/// First of eight virtio slots, one page each.
pub const VIRTIO: usize = 0x1000_1000;
/// What QEMU's `-device loader` puts beside the image: settings as text.
const SETTINGS: usize = 0x80f0_0000;
/// Stands for the chip's flash: two slots of a key store.
const KEYS: usize = 0x80e0_0000;
const KEY_SLOT_LEN: usize = 4096;
/// Room for samples of many channels, which an 8-channel board would not have.
pub const WIDE_RING: usize = 0x80c0_0000;
/// The same for what sockets send; 2,048 slots of 128 channels take just over 1 MiB.
pub const WIDE_BUFFER: usize = 0x80d8_0000;
/// The same for a sample that is about to be pushed.
pub const WIDE_SAMPLE: usize = 0x80dc_0000;
