//! An attacker on the wire between two real processes, by the hundred thousand.
//!
//! ```text
//!   inlets (one process, a thread each) ──▶ this process ──▶ outlet (one process)
//!   prober (one process)                ──▶ (the attacker) ──▶ its clock service
//! ```
//!
//! Every connection is under one attack on one record; the inlet must end with an error and have delivered nothing of
//! that record or of any after it. Sealed clock probes do not end a session, so each genuine one goes behind dozens of
//! changed ones. None of those may be answered, or taken for an answer. Prints what was refused, and fails if anything
//! was not, if one of the processes dies, or if its memory grows.
//!
//! ```sh
//! SCHWANN_ATTACKS=1000000 SCHWANN_ATTACKED_PROBES=1000000 cargo run --release --example attacker
//! ```
//!
//! `SCHWANN_ATTACK_SEED` makes other attacks. Ctrl-C ends it early, with what was counted until then.
//! `checks/54-attacker.sh` runs a short form.
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "it reads /proc"))]

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
mod attack;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod prober;
#[cfg(target_os = "linux")]
mod probes;
#[cfg(target_os = "linux")]
mod records;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod tally;
#[cfg(target_os = "linux")]
mod wire;

/// Set by Ctrl-C.
static STOPPED: AtomicBool = AtomicBool::new(false);

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("this program reads /proc, which only Linux has");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Failed> {
    // What the ends say of each attack would bury the counts.
    schwann::set_config_content("[log]\nlevel=-3\n").expect("nothing has used it yet");
    schwann::Context::get();
    let role = std::env::args().nth(1).unwrap_or_default();
    match role.as_str() {
        "outlet" => ends::outlet(),
        "inlets" => ends::inlets(),
        "prober" => prober::run(),
        _ => return attack(),
    }
    Ok(())
}

/// Plays the attacker.
#[cfg(target_os = "linux")]
fn attack() -> Result<(), Failed> {
    ctrlc::set_handler(|| STOPPED.store(true, Ordering::Relaxed)).expect("the only handler");
    let seed = number("SCHWANN_ATTACK_SEED", 1);
    let stage = stage::Stage::set();
    let records = records::attack(&stage, number("SCHWANN_ATTACKS", 10_000), seed);
    let probes = probes::attack(&stage, number("SCHWANN_ATTACKED_PROBES", 200_000), seed);
    if records.is_clean() && probes.is_clean() { Ok(()) } else { Err(Failed) }
}

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Whether the program was asked to end.
fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// An attack succeeded; it was printed which.
struct Failed;

impl fmt::Debug for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an attack succeeded")
    }
}
