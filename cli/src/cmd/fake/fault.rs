//! What can be wrong with a made-up stream: each fault that `schwann` and `schwann verify` name.

use core::fmt;
use std::time::SystemTime;

use schwann::local_clock;

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fault {
    kind: Kind,
    /// How strong it is, in the unit of its kind.
    amount: f64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Backward,
    Bursts,
    DeviceSeconds,
    Drift,
    Duplicates,
    Gaps,
    Invalid,
    Jitter,
    Milliseconds,
    NoOffsets,
    Rate,
    Silence,
    Step,
    Twin,
    Unix,
}

impl Fault {
    /// Whether it can be made on the network.
    pub(super) fn is_live(self) -> bool {
        self.kind != Kind::NoOffsets
    }
}

impl core::str::FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, amount) = text.split_once('=').map_or((text, None), |(word, amount)| (word, Some(amount)));
        let known = KINDS.iter().find(|(known, ..)| *known == word);
        let words = || KINDS.map(|(word, ..)| word).join(", ");
        let (_, kind, usual) = known.ok_or_else(|| format!("the faults are {}", words()))?;
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        let amount = amount.map_or(Some(*usual), number).ok_or("a number must follow, as in drift=500")?;
        let is_possible = match kind {
            Kind::Bursts | Kind::Duplicates | Kind::Invalid => amount > 0.0,
            Kind::Gaps => amount > 0.0 && amount < 1.0,
            Kind::Rate => amount > -100.0,
            _ => true,
        };
        is_possible
            .then_some(Self { kind: *kind, amount })
            .ok_or_else(|| format!("{word}={amount} cannot be"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = KINDS.iter().find(|(_, kind, _)| *kind == self.kind).map_or("", |(word, ..)| *word);
        write!(out, "{word}={}", self.amount)
    }
}

/// All faults of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    all: Vec<Fault>,
    /// What to add to the local clock to have seconds since 1970.
    unix_ahead: f64,
}

impl Faults {
    pub(super) fn new(all: &[Fault]) -> Self {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Self { all: all.to_vec(), unix_ahead: unix - local_clock() }
    }

    /// The stamp of a sample that is taken `time` seconds after the beginning, when the sender's clock says `stamp`.
    pub(super) fn stamp(&self, stamp: f64, time: f64, sample: u64, period: f64) -> f64 {
        self.all.iter().fold(stamp, |stamp, &Fault { kind, amount }| match kind {
            Kind::Backward if (time * 2.0) as u64 % 2 == 1 => stamp + amount,
            Kind::DeviceSeconds => 700_000.0 + time,
            Kind::Drift => stamp + time * amount * 1e-6,
            Kind::Duplicates if sample.is_multiple_of((amount as u64).max(2)) => stamp - period,
            Kind::Invalid if sample.is_multiple_of(amount as u64) => f64::NAN,
            Kind::Jitter => stamp + amount * spread(sample),
            Kind::Milliseconds => stamp * 1e3,
            // Every other second, so that a short look sees it.
            Kind::Step if time as u64 % 2 == 1 => stamp + amount,
            Kind::Unix => stamp + self.unix_ahead,
            _ => stamp,
        })
    }

    /// Whether a sample that is taken `time` seconds after the beginning is sent.
    pub(super) fn is_sent(&self, time: f64) -> bool {
        self.all.iter().all(|fault| match fault.kind {
            Kind::Gaps => time % 1.0 >= fault.amount,
            Kind::Silence => time < fault.amount,
            _ => true,
        })
    }

    /// How many times as many samples come as the stream says.
    pub(super) fn rate_factor(&self) -> f64 {
        let rates = self.all.iter().filter(|fault| fault.kind == Kind::Rate);
        rates.map(|fault| 1.0 + fault.amount / 100.0).product()
    }

    /// Until when samples are sent at `time`. This lags if they come in bursts.
    pub(super) fn sent_until(&self, time: f64) -> f64 {
        let bursts = self.all.iter().filter(|fault| fault.kind == Kind::Bursts);
        bursts.fold(time, |time, fault| (time / fault.amount).floor() * fault.amount)
    }

    /// Whether another stream claims to be this one.
    pub(super) fn has_twin(&self) -> bool {
        self.has(Kind::Twin)
    }

    /// Whether the clock is measured.
    pub(super) fn has_offsets(&self) -> bool {
        !self.has(Kind::NoOffsets)
    }

    fn has(&self, kind: Kind) -> bool {
        self.all.iter().any(|fault| fault.kind == kind)
    }
}

/// A number from 0 to 1 that looks random.
fn spread(sample: u64) -> f64 {
    (sample.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The word of each kind, and how strong it is unless said otherwise.
const KINDS: [(&str, Kind, f64); 15] = [
    ("backward", Kind::Backward, 0.2),
    ("bursts", Kind::Bursts, 5.0),
    ("device-seconds", Kind::DeviceSeconds, 0.0),
    ("drift", Kind::Drift, 40_000.0),
    ("duplicates", Kind::Duplicates, 10.0),
    ("gaps", Kind::Gaps, 0.3),
    ("invalid", Kind::Invalid, 10.0),
    ("jitter", Kind::Jitter, 0.4),
    ("milliseconds", Kind::Milliseconds, 0.0),
    ("no-offsets", Kind::NoOffsets, 0.0),
    ("rate", Kind::Rate, -20.0),
    ("silence", Kind::Silence, 1.0),
    ("step", Kind::Step, 3.0),
    ("twin", Kind::Twin, 0.0),
    ("unix", Kind::Unix, 0.0),
];

/// The end of the help of `schwann fake`.
pub(super) const HELP: &str = "\
Faults: unix, milliseconds and device-seconds stamp by another clock. drift=PPM runs the clock fast. step=SECONDS
makes it jump, every other second. rate=PERCENT changes the rate. gaps=SECONDS leaves out that much of each second. silence=SECONDS
stops the stream after that time. bursts=SECONDS sends in blocks of that length. jitter=SECONDS and backward=SECONDS shift stamps.
duplicates=N repeats one stamp in N. twin sends a second stream with the same source id. invalid=N gives one stamp in N that is not a time.
no-offsets leaves the clock unmeasured in a recording.";

#[cfg(test)]
mod tests {
    use super::{Fault, KINDS};

    #[test]
    fn a_fault_is_a_word_and_perhaps_a_number() {
        for (word, kind, amount) in KINDS {
            assert_eq!(word.parse(), Ok(Fault { kind, amount }));
        }
        assert_eq!("drift=-500".parse::<Fault>().map(|fault| fault.amount), Ok(-500.0));
        for wrong in ["", "drift=", "drift=fast", "gaps=0", "gaps=1", "rate=-100", "unknown", "bursts=inf"] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }
}
