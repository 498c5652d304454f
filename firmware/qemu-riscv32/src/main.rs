//! The node on two harts of QEMU's virt machine: hart 0 measures, hart 1 serves.
//!
//! ```text
//!   hart 0: timer ─▶ sample ─▶ Producer::push ─▶ ring ─▶ doorbell ┐
//!   hart 1: wfi ◀──────────────────────────────────────────────────┘
//!           Consumer ─▶ Outlet ─▶ smoltcp ─▶ virtio-net
//! ```
//!
//! What it is told, and what it says on the serial line: `settings.rs` and `firmware/README.md`.
#![no_main]
#![no_std]

mod application;
mod card;
mod handoff;
mod machine;
mod measure;
mod network;
mod provision;
mod receive;
mod settings;
#[path = "../../node/tests/common/transcript.rs"]
mod transcript;

use settings::{Mode, Settings};

/// Where hart 0 begins.
#[unsafe(no_mangle)]
extern "C" fn application_hart() -> ! {
    let settings = Settings::read();
    match settings.mode {
        Mode::Serve => application::run(&settings),
        Mode::Measure => measure::run(),
        Mode::Provision => provision::run(),
        Mode::Receive => application::look_on(),
    }
}

/// Where hart 1 begins, once hart 0 has rung.
#[unsafe(no_mangle)]
extern "C" fn network_hart() -> ! {
    let settings = Settings::read();
    match settings.mode {
        Mode::Receive => receive::run(&settings),
        _ => network::run(&settings),
    }
}
