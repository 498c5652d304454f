//! Short slices of the processor for a measuring thread, as our library asks for in a waiting thread
//! (`capi/src/sys/linux/slices.rs`). An opponent must not wait longer for the scheduler.

use core::ffi::{c_int, c_long};

use libloading::os::unix::Library;

/// `struct sched_attr` of an ordinary thread, first version (`sched_setattr(2)`).
#[repr(C)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline: u64,
    period: u64,
}

type Syscall = unsafe extern "C" fn(c_long, c_int, *const Scheduling, c_int) -> c_long;

/// Asks for the shortest slices there are for this thread; a system that knows none (Linux before 6.12) changes nothing.
pub(crate) fn ask() {
    let shortest = Scheduling {
        size: size_of::<Scheduling>() as u32,
        policy: 0,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime_ns: 100_000,
        deadline: 0,
        period: 0,
    };
    let program = Library::this();
    // SAFETY: the C library's `syscall` takes a number and up to six arguments; this call uses three.
    if let Ok(syscall) = unsafe { program.get::<Syscall>(b"syscall\0") } {
        // SAFETY: the system reads the structure, of the size that it says of itself.
        unsafe { syscall(SCHED_SETATTR, 0, &raw const shortest, 0) };
    }
}

#[cfg(target_arch = "x86_64")]
const SCHED_SETATTR: c_long = 314;
/// The number of all newer architectures.
#[cfg(not(target_arch = "x86_64"))]
const SCHED_SETATTR: c_long = 274;
