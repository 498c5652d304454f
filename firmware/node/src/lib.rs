//! An LSL outlet and inlet for microcontrollers, from the crates that a computer uses.
//!
//! ```text
//!   application's core                       network's core
//!   Producer::push ──▶ Ring ──▶ Consumer ──▶ Outlet ──▶ transmit ──▶ TCP
//!     (never waits)                            ▲  │
//!                                  receive ────┘  └── handle_datagram ──▶ UDP
//! ```
//!
//! The caller brings memory, time, randomness and bytes. It owns the sockets, and gives what arrives to
//! [`Outlet::receive`] and [`Outlet::handle_datagram`]. It calls [`Outlet::poll`] when time has passed or
//! samples were pushed, and sends what [`Outlet::transmit`] holds. [`Wait`] says until when it may sleep.
//! [`Inlet`] is driven in the same way.
//!
//! Nothing here needs a heap, an operating system or unsafe code. Its only atomic instructions are loads and
//! stores, as on the smallest RISC-V chips.
//!
//! It does not serve protocol 1.00 or queries about `desc`; `firmware/README.md` has the whole list.
#![forbid(unsafe_code)]
#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::as_conversions,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used
    )
)]

#[cfg(test)]
extern crate std;

mod condition;
mod description;
mod finder;
mod inlet;
mod intake;
mod link;
mod outgoing;
mod outlet;
mod ring;
mod security;
mod time;

pub use description::{Description, InvalidDescription, Ports, Uid};
pub use finder::{Finder, Found};
pub use inlet::{Inlet, InletError, InletState, Wanted};
pub use link::{LinkState, Pace};
pub use outlet::{Counters, InvalidOutlet, MAX_SUBSCRIBERS, Outlet, Reply, Service};
pub use ring::{Consumer, Control, Keep, MAX_SAMPLE_LEN, Producer, PushError, Shape, ring};
pub use schwann_proto::stream::MULTICAST_PORT;
pub use security::{Member, Security, Surroundings, Visible};
pub use time::{Micros, Ticks32, Wait};
