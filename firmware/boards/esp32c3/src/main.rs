//! The node on an ESP32-C3: four inputs, read 1,000 times a second, as a sealed stream.
//!
//! ```text
//!   timer's interrupt: inputs ─▶ Producer::push ─▶ ring
//!   main loop:         Consumer ─▶ Outlet ─▶ smoltcp ─▶ W5500 over SPI, or the radio (feature `wifi`)
//! ```
//!
//! With a cable nothing here has a heap. Built and made into an image by `firmware/boards/build.sh`; it has not been run: see
//! `firmware/README.md`.
#![no_main]
#![no_std]

mod application;
mod board;
mod keys;
mod serve;
#[cfg(feature = "wifi")]
mod wifi;
#[cfg(not(feature = "wifi"))]
mod wired;

#[cfg(feature = "wifi")]
use wifi::run;
#[cfg(not(feature = "wifi"))]
use wired::run;

use esp_backtrace as _;
use esp_hal::clock::CpuClock;

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_hal::main]
fn main() -> ! {
    run(esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max())))
}
