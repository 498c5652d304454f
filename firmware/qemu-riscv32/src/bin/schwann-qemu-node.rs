//! A device: hart 0 measures, hart 1 serves.
#![no_main]
#![no_std]

use schwann_qemu_riscv32::{application, machine, network, say, settings::Settings};

/// Where hart 0 begins.
#[unsafe(no_mangle)]
extern "C" fn application_hart() -> ! {
    application::run(&Settings::read())
}

/// Where hart 1 begins, once hart 0 has rung.
#[unsafe(no_mangle)]
extern "C" fn network_hart() -> ! {
    network::run(&Settings::read())
}

/// Without the reason: its text, and what makes it, would take flash.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    say!("panic");
    machine::exit(101)
}
