//! Memory for samples that wait is taken as they come, stays within its bounds, and is given back.
//!
//! The tests take turns, because they look at the memory of the whole process.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::alloc::System;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use schwann::inlet::{Inlet, InletOptions};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Config, Context, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;
use schwann_proto::stream_info::IpVersion;

mod ports;

use ports::ports;

const LONG: Duration = Duration::from_secs(20);
const CHANNELS: usize = 1000;
/// Samples of one push: eight megabytes.
const ROWS: usize = 1000;
const CHUNK_BYTES: u64 = (CHANNELS * ROWS * 8) as u64;
const CHUNKS: u64 = 16;
/// What an outlet and an inlet may keep for the next time: some blocks, and the buffer of one push.
const KEPT: u64 = 24 << 20;

static TURN: Mutex<()> = Mutex::new(());

fn outlet() -> (Outlet, Arc<Context>) {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=memory{base}\n",
        base + 38
    );
    let context = Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")));
    let info = StreamInfo::new("Memory", "T", CHANNELS as i32, 1000.0, ChannelFormat::Double64, "memory");
    let info = info.expect("a description");
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context)).expect("an outlet");
    (outlet, context)
}

/// Counts the bytes that this process has from the heap.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as this function's own contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as this function's own contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as this function's own contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn memory() -> u64 {
    BYTES.load(Ordering::Relaxed) as u64
}

fn push(outlet: &Outlet, chunk: &[f64]) {
    (0..CHUNKS).for_each(|_| outlet.push_chunk(chunk, 0.0, Flush::Now).expect("a push"));
}

#[test]
fn what_a_stalled_consumer_left_behind_goes_back_to_the_heap() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (outlet, _) = outlet();
    let chunk = vec![1.0; CHANNELS * ROWS];
    let before = memory();
    for _ in 0..3 {
        let port = outlet.info().endpoint(IpVersion::V4).data_port;
        let mut stalled = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stalled.write_all(b"LSL:streamfeed/110 \r\nMax-Buffer-Length: 100000\r\n\r\n").expect("a request");
        assert!(outlet.wait_for_consumers(1, Some(LONG)));
        push(&outlet, &chunk);
        // The kernel has some megabytes of it.
        assert!(outlet.buffered_bytes() as u64 > (CHUNKS - 4) * CHUNK_BYTES);
        assert!(outlet.buffered_bytes() as u64 <= CHUNKS * (CHUNK_BYTES + CHUNK_BYTES / 100));
        drop(stalled);
        while outlet.have_consumers() {
            std::thread::yield_now();
        }
        assert_eq!(outlet.buffered_bytes(), 0);
        assert!(memory() < before + KEPT, "{} of {before}", memory());
    }
}

#[test]
fn what_was_pulled_or_flushed_goes_back_to_the_heap() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (outlet, context) = outlet();
    let found = resolver::resolve_byprop(&context, "name", "Memory", 1, LONG).expect("a search");
    let inlet = Inlet::in_context(&found[0], &InletOptions::default(), context).expect("an inlet");
    inlet.open_stream(LONG.as_secs_f64()).expect("a connection");
    let mut chunk = vec![1.0; CHANNELS * ROWS];
    let before = memory();
    for flush in [true, false, true] {
        push(&outlet, &chunk);
        while (inlet.samples_available() as u64) < CHUNKS * ROWS as u64 {
            std::thread::yield_now();
        }
        assert!(inlet.buffered_bytes() as u64 >= CHUNKS * CHUNK_BYTES);
        if flush {
            assert_eq!(inlet.flush() as u64, CHUNKS * ROWS as u64);
        } else {
            (0..CHUNKS).for_each(|_| assert_eq!(inlet.pull_chunk(&mut chunk, &mut [], 20.0), Ok(ROWS)));
        }
        assert_eq!(inlet.buffered_bytes(), 0);
        // The outlet lets go of the last bytes a moment after they have arrived.
        while outlet.buffered_bytes() > 0 {
            std::thread::yield_now();
        }
        assert!(memory() < before + KEPT, "{} of {before}", memory());
    }
}
