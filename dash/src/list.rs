//! The list of streams as a page gets it.

use std::sync::Arc;

use schwann::inlet::Protection;
use schwann_recorder::{Gap, Trouble, Verdict, twins};
use serde_json::{Value, json};

use super::{monitor::Monitor, reading::Health};

/// All streams, one object each.
pub(super) fn rows(monitors: &[Arc<Monitor>]) -> Vec<Value> {
    let is_there = |monitor: &&Arc<Monitor>| !matches!(monitor.health(), Health::Listed | Health::Stopped);
    let there: Vec<_> = monitors.iter().filter(is_there).map(|monitor| monitor.info()).collect();
    let twins: Vec<_> = there.iter().zip(twins(there.iter())).filter(|(_, is_twin)| *is_twin).collect();
    let has_twin = |monitor: &Monitor| {
        let own = monitor.info();
        twins.iter().any(|(info, _)| info.uid() == own.uid())
    };
    monitors.iter().map(|monitor| row(monitor, has_twin(monitor))).collect()
}

fn row(monitor: &Monitor, has_twin: bool) -> Value {
    let (info, reading) = (monitor.info(), monitor.reading());
    // Gaps have a place of their own in the row, for as long as the dashboard runs.
    let trouble = reading.verdict.trouble().filter(|trouble| !matches!(trouble, Trouble::Gaps { .. }));
    let trouble = trouble.or(has_twin.then_some(Trouble::Twin));
    json!({
        "id": monitor.id,
        "name": info.name().to_string_lossy(),
        "content": info.stream_type().to_string_lossy(),
        "kind": monitor.kind(),
        "host": info.hostname().to_string_lossy(),
        "source": info.source_id().to_string_lossy(),
        "session": info.session_id().to_string_lossy(),
        "channels": info.channel_count(),
        "format": info.channel_format().name(),
        "nominal_rate": info.nominal_rate(),
        "lock": if reading.refusal.is_some() { Some("refused") } else { reading.protection.map(lock) },
        "sender": reading.sender,
        "refusal": reading.refusal,
        "gone": reading.gone,
        "health": reading.health,
        "is_judged": reading.health == Health::Listed || !matches!(reading.verdict, Verdict::Early | Verdict::Trouble(Trouble::NotConnected)),
        "trouble": reading.fault.or_else(|| trouble.and_then(Trouble::explained)),
        "rate": reading.rate,
        "lag": reading.lag,
        "clock_offset": reading.clock_offset,
        "clock_uncertainty": reading.clock_uncertainty,
        "total": reading.total,
        "gaps": reading.gap_count,
        "missing": reading.missing,
        "dropped": reading.dropped,
        "oldest": reading.oldest,
        "spark": reading.spark,
    })
}

/// Where samples of a stream are missing.
pub(super) fn gaps(monitor: &Monitor) -> Value {
    let one = |gap: &Gap| json!({ "from": gap.from, "to": gap.to, "missing": gap.missing });
    json!({ "stream": monitor.id, "gaps": monitor.gaps().iter().map(one).collect::<Vec<_>>() })
}

fn lock(protection: Protection) -> &'static str {
    match protection {
        Protection::Plain => "plain",
        Protection::Sealed => "sealed",
    }
}
