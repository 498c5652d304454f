//! What hart 0 makes and hart 1 takes: one end of the ring.

use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, Ordering},
};

use schwann_node::{Consumer, Control, Keep, Producer, Shape, ring};
use schwann_proto::stream::ChannelFormat;

use crate::machine;

/// Apart from the rest, which is not all zeros: these take no room in the image.
struct Words(UnsafeCell<[AtomicU32; WORDS]>);

// SAFETY: `prepare` takes them, and runs once.
unsafe impl Sync for Words {}

struct Memory {
    control: UnsafeCell<Control>,
    consumer: UnsafeCell<Option<Consumer<'static>>>,
}

// SAFETY: `prepare` and `take` each run once, `take` after `prepare`, on different harts.
unsafe impl Sync for Memory {}

/// Makes the ring, keeps the application's end, and leaves the other to be taken.
pub fn prepare(channel_count: usize, slots: usize) -> Option<Producer<'static>> {
    if !machine::once(&TAKEN) {
        return None;
    }
    let shape = Shape::numbers(ChannelFormat::Float32, channel_count);
    let words: &'static mut [AtomicU32] = if channel_count <= 8 && slots <= 128 {
        // SAFETY: taken once, here.
        unsafe { &mut *RING.0.get() }
    } else {
        // SAFETY: RAM that nothing else owns, zero at start, taken once, here.
        unsafe {
            core::slice::from_raw_parts_mut(machine::WIDE_RING as *mut AtomicU32, slots * (channel_count + 2))
        }
    };
    // SAFETY: taken once, here.
    let control = unsafe { &mut *MEMORY.control.get() };
    let (producer, consumer) = ring(words, control, shape, Keep::Newest)?;
    // SAFETY: hart 1 looks at it after `PREPARED` alone.
    unsafe { *MEMORY.consumer.get() = Some(consumer) };
    PREPARED.store(1, Ordering::Release);
    Some(producer)
}

/// The network's end, once.
pub fn take() -> Option<Consumer<'static>> {
    if PREPARED.load(Ordering::Acquire) == 0 {
        return None;
    }
    // SAFETY: hart 0 has let go of it before `PREPARED`.
    unsafe { (*MEMORY.consumer.get()).take() }
}

/// Words for 128 samples of 8 channels of 4 bytes.
const WORDS: usize = 128 * 10;

static RING: Words = Words(UnsafeCell::new([const { AtomicU32::new(0) }; WORDS]));

static MEMORY: Memory = Memory { control: UnsafeCell::new(Control::new()), consumer: UnsafeCell::new(None) };
static PREPARED: AtomicU32 = AtomicU32::new(0);
static TAKEN: AtomicU32 = AtomicU32::new(0);
