//! In steady state a push and a pull take nothing from the heap.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::alloc::System;
use std::sync::Arc;

use schwann::inlet::{Inlet, InletOptions};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Config, Context, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;

mod ports;

use ports::ports;

/// Counts allocations of the thread that asks for it.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

std::thread_local! {
    static COUNTED: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

fn note() {
    if COUNTED.try_with(core::cell::Cell::get).unwrap_or(false) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as this function's own contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as this function's own contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as this function's own contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn pushing_and_pulling_allocate_nothing_in_steady_state() {
    let base = ports();
    let text = format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nIPv6=disable\n[multicast]\nResolveScope=machine\n\
         [lab]\nSessionID=allocation{base}\n",
        base + 38
    );
    let context = Arc::new(Context::new(Config::parse(&text).expect("a valid configuration")));
    let info = StreamInfo::new("Heap", "EEG", 64, 1000.0, ChannelFormat::Float32, "heap").expect("valid");
    let outlet =
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&context)).expect("an outlet");
    let found =
        resolver::resolve_byprop(&context, "name", "Heap", 1, Duration::from_secs(20)).expect("a search");
    let inlet = Inlet::in_context(&found[0], &InletOptions::default(), context).expect("an inlet");
    inlet.open_stream(20.0).expect("a connection");
    let (sample, mut pulled) = ([1.0_f32; 64], [0.0_f32; 64]);
    let (chunk, mut chunk_out, mut stamps) = ([1.0_f32; 640], [0.0_f32; 640], [0.0; 10]);
    let mut round = |counted: bool| {
        COUNTED.set(counted);
        outlet.push_sample(&sample, 0.0, Flush::Now).expect("a push");
        inlet.pull_sample(&mut pulled, 20.0).expect("a stream").expect("a sample");
        outlet.push_chunk(&chunk, 0.0, Flush::Now).expect("a push");
        assert_eq!(inlet.pull_chunk(&mut chunk_out, &mut stamps, 20.0), Ok(10));
        COUNTED.set(false);
    };
    // The first rounds fill the buffers that are used again.
    (0..200).for_each(|_| round(false));
    // Where a busy machine holds a thread up, a buffer grows once more: then the next rounds are those that count.
    let counts_nothing = (0..5).any(|_| {
        ALLOCATIONS.store(0, Ordering::Relaxed);
        (0..2000).for_each(|_| round(true));
        ALLOCATIONS.load(Ordering::Relaxed) == 0
    });
    assert!(counts_nothing, "each time some of 2000 rounds allocate");
}
