//! Measures, provisions and receives: everything that is tried but serving, which `schwann-qemu-node` does.
#![no_main]
#![no_std]

use schwann_qemu_riscv32::{
    application, machine, measure, provision, receive, say,
    settings::{Mode, Settings},
};

/// Where hart 0 begins.
#[unsafe(no_mangle)]
extern "C" fn application_hart() -> ! {
    match Settings::read().mode {
        Mode::Measure => measure::run(),
        Mode::Provision => provision::run(),
        Mode::Receive => application::look_on(),
        Mode::Serve => {
            say!("schwann-qemu-node serves; give this image a mode");
            machine::exit(2)
        }
    }
}

/// Where hart 1 begins, once hart 0 has rung.
#[unsafe(no_mangle)]
extern "C" fn network_hart() -> ! {
    receive::run(&Settings::read())
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    say!("panic: {info}");
    machine::exit(101)
}
