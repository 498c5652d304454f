//! What sealing costs: streams side by side, the handshake, key stream made ahead, the state of a connection, and
//! constant time.

use crate::record::Reading;
use crate::statistics::quantile_interval;

pub(crate) mod handshake;
pub(crate) mod lab;
mod link;
pub(crate) mod paired;
pub(crate) mod prepared;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod suite;
pub(crate) mod timing;

/// The median of times in µs, with its 95 % interval.
fn timed(step: &str, name: String, subject: &str, mut times: Vec<f64>) -> Reading {
    times.sort_by(f64::total_cmp);
    let interval = quantile_interval(&times, 0.5, 0.95);
    let reading =
        Reading { name, subject: subject.to_owned(), unit: "µs".to_owned(), ..Reading::of(step, times) };
    interval.map_or(reading.clone(), |interval| Reading { low: interval.low, high: interval.high, ..reading })
}
