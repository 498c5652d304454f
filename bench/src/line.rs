//! A network of two computers on one: two network namespaces, and a line between them. The line has a rate, a
//! delay, jitter and loss.
//!
//! Both ends share one clock, so latency is a difference of two of its readings. Frames leave a namespace through a tap
//! device, wait in this process, and enter the other namespace through another (`relay`). All delays and losses
//! follow from a seed (`weather`), so every subject of a pass has the same ones. The kernel's `netem` draws anew
//! each time, and many kernels do not have it. How late the line itself was is kept with every run.
//!
//! It models a medium, not a network card: there is no interrupt, no driver, no radio.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::ffi::OsString;
use std::io;

use crate::ffi::tap::Tap;

mod namespace;
mod relay;
mod weather;

use namespace::Namespace;
pub(crate) use relay::Carried;
use relay::Relay;

/// What a line is like, either way.
#[derive(Debug, PartialEq)]
pub(crate) struct Profile {
    /// Part of the names of cells.
    pub(crate) name: &'static str,
    /// For the reader of the table.
    pub(crate) about: &'static str,
    /// The least and the greatest delay of a frame.
    pub(crate) delay: (Duration, Duration),
    /// How the delay changes between them.
    pub(crate) jitter: Jitter,
    /// The share of frames that never arrive.
    pub(crate) loss: f64,
    /// Bits per second.
    pub(crate) rate: u64,
    /// Frames that would wait longer for those before them are dropped, as a full switch does.
    pub(crate) queue: Duration,
}

/// How a delay changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Jitter {
    /// Every frame has its own delay.
    EachFrame,
    /// The delay moves from one drawn value to the next in this time, as on a shared medium.
    Gradual(Duration),
}

/// Two namespaces joined by a line; gone when dropped.
pub(crate) struct Line {
    near: Namespace,
    far: Namespace,
    relay: Relay,
}

impl Line {
    /// Makes the namespaces and the line, whose delays and losses follow from `seed`.
    ///
    /// # Errors
    ///
    /// [`LineError`] says what this computer lacks.
    pub(crate) fn lay(profile: &'static Profile, seed: u64) -> Result<Self, LineError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        namespace::remove_abandoned();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let end = |letter: char, address| -> Result<(Namespace, Tap), LineError> {
            let name = format!("sb{:x}{letter}{number:x}", std::process::id());
            let tap = Tap::create(&name).map_err(LineError::tap)?;
            let space = Namespace::add(&format!("{letter}{number}"))?;
            space.take_in(&name, address)?;
            Ok((space, tap))
        };
        let (near, near_tap) = end('a', NEAR)?;
        let (far, far_tap) = end('b', FAR)?;
        let relay = Relay::start(profile, seed, near_tap, far_tap).map_err(LineError::tap)?;
        Ok(Self { near, far, relay })
    }

    /// The words before a command that make it run where samples are sent from.
    pub(crate) fn near(&self) -> Vec<OsString> {
        self.near.enter()
    }

    /// The words before a command that make it run where samples are received.
    pub(crate) fn far(&self) -> Vec<OsString> {
        self.far.enter()
    }

    /// Takes the line away and says what it carried.
    pub(crate) fn end(self) -> Carried {
        self.relay.end()
    }
}

/// Why there is no line, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("a line between two network namespaces cannot be made here: {0}")]
pub(crate) struct LineError(String);

impl LineError {
    /// The program `ip` could not be run.
    fn no_ip(error: &io::Error) -> Self {
        Self(format!("`ip` does not run ({error}); install iproute2"))
    }

    /// `ip` refused: what it was asked, and its words.
    fn refused(command: &str, words: &str) -> Self {
        Self(if words.contains("not permitted") {
            format!("`{command}` is not permitted; run the same command as root")
        } else {
            format!("`{command}` says: {}", words.trim())
        })
    }

    /// The kernel gives no tap device.
    fn tap(error: io::Error) -> Self {
        Self(match error.kind() {
            io::ErrorKind::NotFound => {
                "there is no /dev/net/tun; `modprobe tun` brings it where the kernel has it".to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                "a tap device needs root; run the same command as root".to_owned()
            }
            _ => format!("no tap device: {error}"),
        })
    }
}

/// A cable to a switch: 1 Gbit/s, 0.4 to 1.2 ms each way.
pub(crate) const ETHERNET: Profile = Profile {
    name: "ethernet",
    about: "direct Ethernet (1 Gbit/s, 0.4 to 1.2 ms each way)",
    delay: (Duration::from_micros(400), Duration::from_micros(1200)),
    jitter: Jitter::EachFrame,
    loss: 0.0,
    rate: 1_000_000_000,
    queue: Duration::from_millis(5),
};

/// A radio that others use, too: 100 Mbit/s, 5 to 20 ms each way, one frame in a thousand lost.
pub(crate) const WIFI: Profile = Profile {
    name: "wifi",
    about: "Wi-Fi (100 Mbit/s, 5 to 20 ms each way, 0.1 % of the frames lost)",
    delay: (Duration::from_millis(5), Duration::from_millis(20)),
    jitter: Jitter::Gradual(Duration::from_millis(50)),
    loss: 0.001,
    rate: 100_000_000,
    queue: Duration::from_millis(50),
};

/// The address of the sender's namespace.
pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(10, 99, 7, 1);
/// The address of the receivers' namespace.
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(10, 99, 7, 2);

#[cfg(test)]
mod tests;
