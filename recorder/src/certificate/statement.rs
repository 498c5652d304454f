//! What a certificate states of a recording.
//!
//! Source: certificate §3.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schwann::inlet::Protection;
use schwann::security::Member;
use schwann_xdf::Proof;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::account::{Gathered, StreamAccount};
use super::envelope::{IN_TOTO, PREDICATE, hex};
use super::rules::Rule;
use crate::meter::Reading;
use crate::status::{Phase, RecordingStream};
use crate::time_service::TimeService;

/// What is known of a recording at its end.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The name of the file, without its folder.
    pub name: String,
    /// The public keys that its file is sealed to; none if it is not.
    pub sealed_to: Option<String>,
    /// Its hashes.
    pub proof: Proof,
    /// When it began and ended, in seconds since 1970.
    pub wall_clock: [u64; 2],
    /// Its streams at the end, or when a next file was begun.
    pub streams: Vec<StreamAccount>,
    /// What happened, each event chained to the one before.
    pub events: Vec<Value>,
    /// What it was made from, by the hash of that certificate and of that file; none for a recording.
    pub replaces: Option<Value>,
}

impl Facts {
    /// The statement of these facts, by a device of `member`'s lab.
    pub fn statement(&self, member: Option<&Member>) -> Value {
        let lab = member.map(|member| member.lab().authority().fingerprint().to_string());
        json!({
            "_type": IN_TOTO,
            "subject": [{
                "name": self.name,
                "digest": {"sha256": hex(&self.proof.sha256), "schwannTree": hex(&self.proof.head())},
            }],
            "predicateType": PREDICATE,
            "predicate": {
                "bytes": self.proof.bytes,
                "sealed_to": self.sealed_to,
                "pieces": pieces_text(&self.proof),
                "recorder": {"name": "schwann", "version": env!("CARGO_PKG_VERSION"), "lab": lab},
                "machine": {
                    "hostname": schwann::host_name(),
                    "system": std::env::consts::OS,
                    "processor": std::env::consts::ARCH,
                },
                "wall_clock": wall_clock_json(self.wall_clock),
                "streams": self.streams.iter().map(stream_json).collect::<Vec<_>>(),
                "events": self.events,
                "replaces": self.replaces,
            },
        })
    }
}

/// The lengths and hashes of all pieces, one after the other, in Base64.
fn pieces_text(proof: &Proof) -> String {
    let pieces = proof.pieces.iter();
    let pieces: Vec<u8> =
        pieces.flat_map(|piece| [&piece.bytes.to_le_bytes()[..], &piece.hash].concat()).collect();
    STANDARD.encode(pieces)
}

fn number(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn gathered_json(gathered: &Gathered) -> [Value; 3] {
    let gaps: Vec<_> = gathered
        .gaps
        .iter()
        .map(|gap| json!({"from": number(Some(gap.from)), "to": number(Some(gap.to)), "count": gap.missing}))
        .collect();
    let offsets = json!({
        "count": gathered.offsets.len(),
        "uncertainty": number(gathered.uncertainty),
        "residual": number(gathered.residual()),
    });
    let sender = gathered
        .sender
        .as_ref()
        .map(|sender| json!({"name": sender.name, "certificate": sender.serial, "key": sender.key}));
    [gaps.into(), offsets, sender.into()]
}

fn stream_json(account: &StreamAccount) -> Value {
    let StreamAccount { stream, rules, gathered } = account;
    let [gaps, offsets, sender] = gathered_json(gathered);
    json!({
        "origin": origin_json(stream, &sender),
        "completeness": completeness_json(stream, &gaps),
        "timing": timing_json(&stream.reading, &offsets),
        "verdict": rules.iter().map(Rule::json).collect::<Vec<_>>(),
    })
}

fn origin_json(stream: &RecordingStream, sender: &Value) -> Value {
    let info = &stream.info;
    json!({
        "name": info.name().to_string_lossy(),
        "type": info.stream_type().to_string_lossy(),
        "source_id": info.source_id().to_string_lossy(),
        "uid": info.uid().to_string_lossy(),
        "hostname": info.hostname().to_string_lossy(),
        "description_sha256": hex(&Sha256::digest(info.fullinfo()).into()),
        "travelled": match stream.protection {
            Some(Protection::Sealed) => Some("sealed"),
            Some(Protection::Plain) => Some("plain"),
            None => None,
        },
        "sender": sender,
    })
}

fn completeness_json(stream: &RecordingStream, gaps: &Value) -> Value {
    let reading = &stream.reading;
    json!({
        "received": reading.sample_count,
        "written": reading.sample_count.saturating_sub(stream.unrecorded),
        "dropped_by_the_recorder": stream.unrecorded,
        "gaps": reading.gap_count,
        "missing_before_they_were_sent": reading.missing,
        "missing": gaps,
        "interruptions": stream.recoveries,
        "away_seconds": number(Some(stream.away_seconds)),
        "was_there_at_the_end": stream.phase == Phase::Recording,
    })
}

fn timing_json(reading: &Reading, offsets: &Value) -> Value {
    json!({
        "nominal_rate": number(Some(reading.nominal_rate)),
        "rate": number(reading.measured_rate.map(|rate| rate.hz)),
        "drift_ppm": number(reading.drift.map(|drift| drift.ppm)),
        "drift_plus_minus_ppm": number(reading.drift.map(|drift| drift.plus_minus)),
        "jitter_p50": number(reading.jitter.map(|jitter| jitter[0])),
        "jitter_p99": number(reading.jitter.map(|jitter| jitter[1])),
        "lag_p50": number(reading.lag_p50),
        "lag_p99": number(reading.lag_p99),
        "backward": reading.backward_count,
        "clock_offsets": offsets,
        "clock_steps": reading.steps.map_or(0, |steps| steps.count),
    })
}

fn wall_clock_json([begin, end]: [u64; 2]) -> Value {
    let service = TimeService::ask();
    json!({
        "begin": begin,
        "end": end,
        "ntp": service.map_or("not known", |service| service.name),
        "bound": service.and_then(|service| service.bound),
    })
}
