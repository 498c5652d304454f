//! What the image is told at start: `key=value` lines beside it in memory.

use schwann_node::{Pace, Visible};
use schwann_session::{Calendar, UnixSeconds};

use crate::machine;

#[derive(Clone, Copy)]
pub struct Settings {
    /// What the image does.
    pub mode: Mode,
    /// IPv4 address, in a network of 24 bits.
    pub address: [u8; 4],
    pub channel_count: usize,
    /// Samples that the ring holds. An emulation shares its computer and stands still now and then; a chip does
    /// not. A longer ring keeps that from looking like a loss of the node's.
    pub slots: usize,
    /// Samples per second, in Hz.
    pub rate: u32,
    pub pace: Pace,
    pub sealed: bool,
    /// The searchers that find a sealed stream.
    pub visible: Visible,
    /// Samples to receive.
    pub expect: u32,
    /// How long to run, in seconds; 0 runs for ever.
    pub run_s: u64,
    /// The date: QEMU could tell, a chip without a battery could not.
    pub calendar: Calendar,
    /// Stop hart 1 after this many seconds, to see whether the watchdog bites; 0 never does.
    pub hang_s: u64,
}

#[derive(Clone, Copy, Eq, PartialEq)]
pub enum Mode {
    /// Serve a stream on the network.
    Serve,
    /// Count instructions, without a network.
    Measure,
    /// Make a key, print the request, and read what is pasted.
    Provision,
    /// Find a stream on the network and receive it.
    Receive,
}

impl Settings {
    /// What a device that is told nothing does: it serves 8 channels at 1 kHz, sealed.
    const FIXED: Self = Self {
        mode: Mode::Serve,
        address: [10, 77, 0, 2],
        channel_count: 8,
        slots: 128,
        rate: 1000,
        pace: Pace::EverySample,
        sealed: true,
        visible: Visible::Members,
        expect: 0,
        run_s: 0,
        calendar: Calendar::NotBefore(UnixSeconds(0)),
        hang_s: 0,
    };

    pub fn read() -> Self {
        if cfg!(feature = "bare") {
            return Self::FIXED;
        }
        let mut room = [0; 512];
        let text = machine::settings(&mut room);
        let value = |key: &str| {
            text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::trim_ascii)
        };
        let number =
            |key, otherwise| value(key).and_then(|text| text.parse::<u64>().ok()).unwrap_or(otherwise);
        let mut address = Self::FIXED.address;
        for (byte, part) in address.iter_mut().zip(value("address").unwrap_or_default().split('.')) {
            *byte = part.parse().unwrap_or(*byte);
        }
        Self {
            mode: match value("mode") {
                Some("measure") => Mode::Measure,
                Some("provision") => Mode::Provision,
                Some("receive") => Mode::Receive,
                _ => Mode::Serve,
            },
            address,
            channel_count: (number("channels", 8) as usize).clamp(1, 128),
            slots: (number("slots", 128) as usize).clamp(2, 2048),
            rate: (number("rate", 1000) as u32).clamp(1, 10_000),
            pace: match number("within_us", 0) {
                0 => Pace::EverySample,
                micros => Pace::Within(micros),
            },
            sealed: value("sealed") == Some("1"),
            visible: if value("visible") == Some("1") { Visible::Everybody } else { Visible::Members },
            expect: number("expect", 0) as u32,
            run_s: number("run_s", 0),
            calendar: match number("calendar", 0) {
                0 => Self::FIXED.calendar,
                now => Calendar::Known(UnixSeconds(now)),
            },
            hang_s: number("hang_s", 0),
        }
    }
}
