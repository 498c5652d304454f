//! The node on two harts of QEMU's virt machine, and its trials: the parts that make up two images.
//!
//! ```text
//!   hart 0: timer ─▶ sample ─▶ Producer::push ─▶ ring ─▶ doorbell ┐
//!   hart 1: wfi ◀──────────────────────────────────────────────────┘
//!           Consumer ─▶ Outlet ─▶ smoltcp ─▶ virtio-net
//! ```
//!
//! `schwann-qemu-node` is a device: it serves a stream and can do nothing else. `schwann-qemu-riscv32` measures, makes and
//! stores keys, and receives. What they are told, and what they say on the serial line: `settings.rs` and
//! `firmware/README.md`.
#![no_std]

pub mod application;
pub mod card;
pub mod handoff;
pub mod machine;
pub mod measure;
pub mod network;
pub mod provision;
pub mod receive;
pub mod settings;
#[path = "../../node/tests/common/transcript.rs"]
mod transcript;
