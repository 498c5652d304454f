//! The FieldTrip buffer: codec, store, server and client.
//!
//! MEG sites, clinical groups and decades of MATLAB code exchange samples and events through a FieldTrip buffer. This
//! is one that old programs use unchanged: the same bytes, the same ring, the same refusals. It answers them
//! without the stalls of the original. A hostile client can end only its own connection.
//!
//! ```text
//!  programs of others ── TCP, UNIX socket ── Server ─ Conversation ─┐
//!  Client, Follower ──── TCP, UNIX socket ── Server ─ Conversation ─┼─ Buffer ─ Store
//!  this program ────────────────────────────────────────────────────┘    └─ Tap ─ Recording
//! ```
//!
//! [`wire`], [`store`] and [`conversation`] are sans-IO: bytes and time come in as arguments. [`Buffer`] shares a store
//! between threads and is what a program uses directly. [`Server`] has a thread for each client.
//!
//! ```
//! use schwann_fieldtrip::wire::{DataType, Header};
//! use schwann_fieldtrip::{Address, Buffer, Client, Options, Policy, Server};
//!
//! let server = Server::start(&Address::loopback(0), Buffer::default(), Policy::default())?;
//! let mut client = Client::connect(server.address().clone(), Options::default())?;
//! client.put_header(&Header::new(2, 250.0, DataType::Float32).with_channel_names(["Fz", "Cz"]))?;
//! client.put_samples(2, &[0.5_f32, -0.5, 1.5, -1.5])?;
//! assert_eq!(client.samples(1, 1)?.to_f64(), [1.5, -1.5]);
//!
//! let mut back = [0.0_f32; 2];
//! server.buffer().read_samples(0, &mut back)?;
//! assert_eq!(back, [0.5, -0.5]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The commands without a reply are younger than many servers. Older ones die of them or reply all the same, so
//! nothing here uses them unless asked to. What the protocol does not have, this crate does not add: no
//! authentication and no encryption. Listen on this machine alone, and go further through a tunnel.
#![forbid(unsafe_code)]

mod address;
mod block;
mod buffer;
mod client;
pub mod conversation;
pub mod door;
mod generate;
pub mod local;
mod onlooker;
mod policy;
pub mod recording;
pub mod serve;
mod socket;
pub mod store;
mod sys;
mod tap;
mod wait;
pub mod wire;

pub use address::{Address, BadAddress, PORT};
pub use block::{Block, to_f64};
pub use buffer::{Buffer, Sample};
pub use client::{Answer, Client, ClientError, Follower, Options, Pipeline, Start, Style, Update};
pub use generate::{Signal, generate};
pub use onlooker::{Onlooker, Stopped};
pub use policy::{Access, Gate, Limits, PeerId, Policy, Verdict};
pub use serve::{Server, Stats, Stream, serve_stream};
pub use store::{Capacity, Refused};
pub use tap::{Change, Tap, TapEnd, Values};
