//! What is known of one recorded stream at its end, for its certificate.

use schwann::security::PeerIdentity;
use schwann_xdf::{ClockMap, ClockOffset};

use super::rules::Rule;
use crate::course::Gap;
use crate::status::RecordingStream;

/// One recorded stream, and what its certificate tells of it.
#[derive(Clone, Debug)]
pub struct StreamAccount {
    /// Where it stood at the end.
    pub stream: RecordingStream,
    /// How it stood to each rule by which it was judged then.
    pub rules: Vec<Rule>,
    /// What was gathered while it was recorded.
    pub gathered: Gathered,
}

/// What is gathered of a stream while it is recorded.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// Where samples are missing, the first [`Gathered::GAPS_MAX`] places.
    pub gaps: Vec<Gap>,
    /// The measurements of its clock, as they are in the file.
    pub offsets: Vec<ClockOffset>,
    /// The largest uncertainty of one of them, in seconds: half of its round trip.
    pub uncertainty: Option<f64>,
    /// The device that sent it last, if it was sealed.
    pub sender: Option<Sender>,
}

/// A device that sent a sealed stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sender {
    /// Its name in the lab.
    pub name: String,
    /// The number of its certificate.
    pub serial: u64,
    /// The fingerprint of its key.
    pub key: String,
}

impl Gathered {
    /// Places of missing samples that are listed.
    pub const GAPS_MAX: usize = 1_000;

    /// Takes in a measurement of the clock.
    ///
    /// - Units: seconds; `collected` on the stream's clock, `round_trip` of the probe that counted.
    pub(crate) fn measured(&mut self, collected: f64, offset: f64, round_trip: f64) {
        self.offsets.push(ClockOffset { collected, offset });
        self.uncertainty = Some(self.uncertainty.unwrap_or_default().max(round_trip / 2.0));
    }

    /// How far the worst measurement is from the line through all of them, in seconds; none before there are two.
    pub(crate) fn residual(&self) -> Option<f64> {
        let mut map = ClockMap::fit(&self.offsets);
        let distances =
            self.offsets.iter().map(|one| (map.place(one.collected) - one.collected - one.offset).abs());
        distances
            .fold(None, |worst: Option<f64>, one| Some(worst.unwrap_or_default().max(one)))
            .filter(|_| self.offsets.len() > 1)
    }
}

impl From<PeerIdentity> for Sender {
    fn from(peer: PeerIdentity) -> Self {
        let said = peer.statement;
        Self {
            name: said.name.as_str().to_owned(),
            serial: said.serial,
            key: said.device.fingerprint().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_measurement_of_a_clock_is_told() {
        let mut gathered = Gathered::default();
        assert_eq!((gathered.residual(), gathered.uncertainty), (None, None));
        for n in 0..20 {
            let off_the_line = if n == 10 { 0.002 } else { 0.0 };
            gathered.measured(
                f64::from(n) * 5.0,
                1.0 + 1e-6 * f64::from(n) + off_the_line,
                0.001 + f64::from(n) * 1e-5,
            );
        }
        let residual = gathered.residual().expect("measurements");
        assert!((residual - 0.002).abs() < 1e-4, "{residual}");
        assert!((gathered.uncertainty.expect("measurements") - 0.000_595).abs() < 1e-9);
    }
}
