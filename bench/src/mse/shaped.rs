//! Transfers through a link of 1 Gbit/s, as in laboratories. The network is the limit there, and a cipher should
//! cost nothing.
//!
//! The link is the loopback interface of a network namespace, slowed down by the kernel's token bucket. If that is
//! not available, the sender is slowed down instead, and the rows say so.

use core::time::Duration;
use std::ffi::OsString;

use super::transfer::{Pace, VARIANTS, rounds};
use super::worker::Variant;
use super::{count, figure};
use crate::Reason;
use crate::record::Reading;
use crate::suite::Effort;
use crate::transfer::{Placement, Process};
use crate::worker::{Event, Job};

/// Starts this program again in a network namespace whose loopback interface is shaped.
pub(super) fn run(effort: Effort) -> Result<Vec<Reading>, Reason> {
    let enter = ["unshare", "-n", "sh", "-c", SCRIPT].map(OsString::from);
    let place = Placement { enter: &enter, ..Placement::default() };
    let said = Process::start(&Job::Shaped(effort), &place, TRANSFERS_TIMEOUT)
        .and_then(|mut process| process.hear());
    if let Ok(Event::Figures(lines)) = said {
        return lines.iter().map(|line| Ok(Reading::parse(line).ok_or("no figure")?)).collect();
    }
    eprintln!(
        "no shaped link (it takes root, unshare, ip, tc and the kernel's tbf): the sender is paced instead"
    );
    measure(effort, "sender paced to 1 Gbit/s", Pace::Paced(BITS_PER_SECOND))
}

/// What is measured in there.
pub(crate) fn inside(effort: Effort) -> Result<Vec<Reading>, Reason> {
    measure(effort, "1 Gbit/s link", Pace::Free)
}

fn measure(effort: Effort, link: &str, pace: Pace) -> Result<Vec<Reading>, Reason> {
    let figures = rounds(count(effort, 5).max(3), count(effort, 256 << 20) as u64, pace)?;
    let (mut plain, mut outcomes) = (0.0, Vec::new());
    for (variant, figures) in VARIANTS.into_iter().zip(figures) {
        let name = variant.name();
        let speeds: Vec<f64> = figures.iter().map(|figures| figures.mib_per_second).collect();
        let outcome = figure(format!("{link}, {name}"), "MiB/s", speeds);
        // The first is in the clear.
        plain = if variant == Variant::Plain { outcome.median } else { plain };
        let loss = 100.0 * (1.0 - outcome.median / plain);
        outcomes.push(outcome);
        if variant != Variant::Plain {
            let loss = figure(format!("{link}, {name}, reduction"), "%", vec![loss]);
            outcomes.push(loss.limited("< 2 %"));
        }
    }
    Ok(outcomes)
}

const BITS_PER_SECOND: u64 = 1_000_000_000;
/// Segments of ordinary length and a bucket of 2 ms, as a network card and a switch would have them.
const SCRIPT: &str = "ip link set lo up mtu 1500 \
    && tc qdisc add dev lo root tbf rate 1gbit burst 256k latency 20ms && exec \"$0\"";
/// All transfers are done in this time.
const TRANSFERS_TIMEOUT: Duration = Duration::from_secs(600);
