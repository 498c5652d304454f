//! The microcontroller node for C programs: `include/schwann_node.h` is its manual.
//!
//! A thin layer over `schwann-node`. All memory is the caller's; nothing here allocates, blocks or knows a
//! socket. One core may push while another does everything else: they touch different parts of the node.
//!
//! Every incoming pointer is checked for null. The header makes the caller promise that it is valid otherwise.
#![cfg_attr(not(feature = "std"), no_std)]

mod node;
mod push;
mod settings;

pub use node::*;
pub use push::*;
pub use settings::{Counters, Settings};

#[cfg(not(feature = "std"))]
unsafe extern "C" {
    /// Ends the program; the header says how.
    fn schwann_node_panic() -> !;
}

#[cfg(not(feature = "std"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the program provides it, and it does not return.
    unsafe { schwann_node_panic() }
}
