//! The lab for scripts, as `docs/json.md` describes it.

use schwann::inlet::Protection;
use schwann::security::Explained;
use schwann_recorder::{Limits, Trouble};
use serde_json::{Value, json};

use super::{Judged, Lab, PROBLEMS_MOST};

impl Lab {
    pub(super) fn json(&self, states: &[Judged]) -> Value {
        json!({
            "session": self.config.lab.session_id,
            "seconds": self.opened.elapsed().as_secs_f64(),
            "streams": states.iter().map(|judged| state_json(judged, &self.limits)).collect::<Vec<_>>(),
            "refused": self.hidden.unseen().iter().map(|unseen| json!({
                "name": unseen.name,
                "address": unseen.address,
                "refusal": unseen.reason,
            })).collect::<Vec<_>>(),
            "not_looked_at": self.probes.waiting(),
            "problems": self.problems.iter().take(PROBLEMS_MOST).collect::<Vec<_>>(),
            "remote": self.hubs.json(),
        })
    }
}

fn state_json(judged: &Judged, limits: &Limits) -> Value {
    let Judged { state, verdict, troubles } = judged;
    let (info, reading) = (&state.info, &state.reading);
    json!({
        "name": info.name().to_string_lossy(),
        "type": info.stream_type().to_string_lossy(),
        "source_id": info.source_id().to_string_lossy(),
        "uid": info.uid().to_string_lossy(),
        "hostname": info.hostname().to_string_lossy(),
        "channel_count": info.channel_count(),
        "channel_format": info.channel_format().name(),
        "nominal_rate": info.nominal_rate(),
        "rate": reading.rate,
        "sample_count": reading.sample_count,
        "lag_p50": reading.lag_p50,
        "lag_p99": reading.lag_p99,
        "gap_count": reading.gap_count,
        "missing": reading.missing,
        "clock_offset": state.clock.map(|clock| clock.offset),
        "clock_uncertainty": state.clock.map(|clock| clock.uncertainty / 2.0),
        "sealed": state.protection.map(|protection| protection == Protection::Sealed),
        "sender": state.peer.map(|peer| json!({
            "name": peer.statement.name.as_str(),
            "key": peer.statement.device.fingerprint().to_string(),
            "serial": peer.statement.serial,
        })),
        "refusal": state.refusal.map(|refusal| Explained(refusal).to_string()),
        "connection_breaks": state.breaks,
        "verdict": verdict.word(),
        "trouble": verdict.trouble().map(|trouble| trouble.to_string()),
        "explanation": verdict.trouble().and_then(Trouble::explained),
        "troubles": troubles.iter().map(|trouble| trouble_json(*trouble, limits)).collect::<Vec<_>>(),
    })
}

/// One trouble of a stream for scripts.
fn trouble_json(trouble: Trouble, limits: &Limits) -> Value {
    let mark = trouble.mark(limits);
    json!({
        "code": trouble.code(),
        "says": trouble.to_string(),
        "explanation": trouble.explained(),
        "number": mark.map(|mark| mark.number),
        "limit": mark.map(|mark| mark.limit),
        "unit": mark.map(|mark| mark.unit),
    })
}
