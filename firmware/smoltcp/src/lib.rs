//! The node on smoltcp: what moves between an outlet and its sockets, for any board with a network device.
//!
//! ```text
//!   Outlet ◀──▶ Server ◀──▶ smoltcp ◀──▶ the board's device
//! ```
//!
//! A board makes a [`Server`] in memory of its own. It calls [`Server::turn`] whenever its device, a push or the
//! time returned by the last turn wakes it. Otherwise it sleeps. [`w5500`] drives an Ethernet chip on an SPI bus.
//!
//! It does not find out addresses for itself unless asked (feature `dhcp`), and speaks IPv4 alone.
#![forbid(unsafe_code)]
#![no_std]

#[cfg(test)]
extern crate std;

mod server;
pub mod w5500;

pub use server::{Board, Buffers, LINKS, SOCKETS, Server, instant};
