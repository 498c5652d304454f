//! What a stream may do before it is accused: the limits of every verdict, and profiles of them.

use core::fmt;
use std::fs;

use serde::Deserialize;

use super::SILENCE_PERIODS;

/// The limits of all verdicts.
///
/// A profile in a TOML file has them in its table `[limits]`; what it leaves out is as in [`Limits::USUAL`].
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How far the rate may be from the nominal one, in percent.
    pub rate_percent: f64,
    /// How much faster or slower one clock may run than the other, in parts per million.
    pub drift_ppm: f64,
    /// How long the clock offset may not be measured, in seconds.
    pub offsets_seconds: f64,
    /// How far 99 of 100 intervals may be from the nominal one, in seconds; three periods are allowed in any case.
    pub jitter_seconds: f64,
    /// How long the pauses between blocks may be, in seconds.
    pub burst_seconds: f64,
    /// How long a regular stream may be silent, in seconds; three periods are allowed in any case.
    pub silence_seconds: f64,
    /// How old samples of a regular stream may be, in seconds.
    pub late_seconds: f64,
    /// How far ahead samples of a regular stream may be, in seconds.
    pub ahead_seconds: f64,
    /// How old events may be, in seconds.
    pub event_late_seconds: f64,
    /// How far ahead events may be, in seconds.
    pub event_ahead_seconds: f64,
    /// Places where samples may be missing.
    pub gaps: u64,
}

impl Limits {
    /// What holds for streams of which nothing more is known.
    ///
    /// Programs that sleep between two samples run some percent slow, and recordings cope with it. Radio amplifiers
    /// send up to half a second at a time, and a busy computer may be late by as much again. Filters and radio delay
    /// samples by less than ten seconds. Events may be announced ahead, and found long after they happened.
    pub const USUAL: Self = Self {
        rate_percent: 5.0,
        drift_ppm: 200.0,
        offsets_seconds: 30.0,
        jitter_seconds: 0.1,
        burst_seconds: 3.0,
        silence_seconds: 1.5,
        late_seconds: 10.0,
        ahead_seconds: 1.0,
        event_late_seconds: 3600.0,
        event_ahead_seconds: 60.0,
        gaps: 0,
    };

    /// For amplifiers with a crystal of their own.
    pub const EEG: Self = Self {
        rate_percent: 1.0,
        drift_ppm: 100.0,
        jitter_seconds: 0.02,
        burst_seconds: 0.5,
        late_seconds: 1.0,
        ..Self::USUAL
    };

    /// For events that must be on time.
    pub const MARKERS: Self = Self { event_late_seconds: 1.0, event_ahead_seconds: 0.1, ..Self::USUAL };

    /// Takes a profile by its name, `usual`, `eeg` or `markers`, or from the TOML file at this path.
    ///
    /// - Errors: [`ProfileError`].
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        match name {
            "usual" => Ok(Self::USUAL),
            "eeg" => Ok(Self::EEG),
            "markers" => Ok(Self::MARKERS),
            path => {
                let text = fs::read_to_string(path).map_err(|error| {
                    let what = format!(
                        "{path}: {}; the limits with a name are usual, eeg and markers",
                        error.kind()
                    );
                    ProfileError(what)
                })?;
                Self::parse(&text).map_err(|ProfileError(what)| ProfileError(format!("{path}: {what}")))
            }
        }
    }

    /// Takes the table `[limits]` of a profile; other tables are for others.
    ///
    /// - Errors: [`ProfileError`]: no TOML, or a limit that is not known, no number, or negative.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Profile =
            toml::from_str(text).map_err(|error| ProfileError(error.message().to_owned()))?;
        let limits = profile.limits.ok_or_else(|| ProfileError(String::from("it has no table [limits]")))?;
        limits.checked()
    }

    /// These limits, if they are some.
    ///
    /// - Errors: [`ProfileError`]: a limit is no number, or negative.
    pub(crate) fn checked(self) -> Result<Self, ProfileError> {
        let are_sane = self.numbers().into_iter().all(|limit| limit.is_finite() && limit >= 0.0);
        are_sane
            .then_some(self)
            .ok_or_else(|| ProfileError("a limit is not below 0, and is a number".to_owned()))
    }

    /// How far samples of a stream with this rate may be ahead, and behind, in seconds.
    pub(super) fn lag(&self, nominal_rate: f64) -> [f64; 2] {
        if nominal_rate <= 0.0 {
            return [self.event_ahead_seconds, self.event_late_seconds];
        }
        let slack = SILENCE_PERIODS / nominal_rate;
        [self.ahead_seconds + slack, self.late_seconds + slack]
    }

    fn numbers(&self) -> [f64; 10] {
        [
            self.rate_percent,
            self.drift_ppm,
            self.offsets_seconds,
            self.jitter_seconds,
            self.burst_seconds,
            self.silence_seconds,
            self.late_seconds,
            self.ahead_seconds,
            self.event_late_seconds,
            self.event_ahead_seconds,
        ]
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::USUAL
    }
}

/// For the command line.
impl core::str::FromStr for Limits {
    type Err = ProfileError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::named(name)
    }
}

/// What is wrong with a profile, in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProfileError(String);

impl ProfileError {
    pub(crate) const fn new(what: String) -> Self {
        Self(what)
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl core::error::Error for ProfileError {}

#[derive(Default, Deserialize)]
struct Profile {
    limits: Option<Limits>,
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn a_profile_changes_what_it_names_and_nothing_else() {
        let own = Limits::parse("[limits]\nrate_percent = 0.5\ngaps = 3\n\n[record]\nstreams = [\"EEG\"]\n");
        assert_eq!(own, Ok(Limits { rate_percent: 0.5, gaps: 3, ..Limits::USUAL }));
        assert_eq!(Limits::named("eeg"), Ok(Limits::EEG));
    }

    #[test]
    fn a_wrong_profile_says_what_is_wrong() {
        let cases = [
            ("[limits]\nrate_percents = 1", "rate_percents"),
            ("[limits]\nrate_percent = -1.0", "below 0"),
            ("[limits]\nrate_percent = nan", "a number"),
            ("limits", "expected"),
            ("[limit]\ngaps = 3", "no table [limits]"),
            ("", "no table [limits]"),
        ];
        for (text, word) in cases {
            let error = Limits::parse(text).expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert!(Limits::named("no-such").expect_err("no file").to_string().contains("eeg and markers"));
    }
}
