//! Synthetic signals: the same for the same seed, however they are asked for.
//!
//! A [`Spec`] such as `eeg:64@1000` says what and how much. A [`Source`] makes it, sample by sample, with
//! its labels and events. Pure computation: no clock, no thread, no file.

pub(crate) mod describe;
mod eeg;
mod montage;

use core::fmt;

use schwann_proto::stream::ChannelFormat;

pub(crate) use eeg::{Eeg, Moment};

/// What a synthetic stream is to carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spec {
    /// What it looks like.
    pub(crate) kind: Kind,
    /// Channels; at least 1.
    pub(crate) channel_count: usize,
    /// Samples per second.
    pub(crate) rate: f64,
    /// How its values are sent.
    pub(crate) format: ChannelFormat,
}

/// What a synthetic stream looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// The number of the sample, in every channel: nothing can be lost unseen.
    Counter,
    /// Brain waves with all that comes with them.
    Eeg,
    /// A sine of 1 Hz times the channel's number, of amplitude 1.
    Sine,
}

/// Why a text is no [`Spec`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub(crate) enum SpecError {
    /// The number of channels is not one between 1 and [`Spec::CHANNELS_MAX`].
    Channels,
    /// There is no such format, or it is not made here.
    Format,
    /// There is no such kind.
    Kind,
    /// The rate is not one between 1 Hz and [`Spec::RATE_MAX`].
    Rate,
}

impl Spec {
    /// The most channels of a synthetic stream.
    pub(crate) const CHANNELS_MAX: usize = 100_000;
    /// The highest rate of a synthetic stream, in hertz.
    pub(crate) const RATE_MAX: f64 = 1_000_000.0;

    /// Returns the stream's content type, as the stream's header says it.
    pub(crate) const fn content_type(self) -> &'static str {
        match self.kind {
            Kind::Eeg => "EEG",
            Kind::Counter | Kind::Sine => "Test",
        }
    }
}

impl core::str::FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        parse_spec(text)
    }
}

/// Parses `KIND[:CHANNELS][@RATE][/FORMAT]`, such as `eeg:64@1000/int16`. Without them: 64 channels of EEG at
/// 1,000 Hz, one channel of anything else, in float32.
///
/// - Errors: [`SpecError`], by the part that is wrong.
pub(crate) fn parse_spec(text: &str) -> Result<Spec, SpecError> {
    let (text, format) = text.split_once('/').map_or((text, None), |(text, format)| (text, Some(format)));
    let format = match format {
        None | Some("float32") => ChannelFormat::Float32,
        Some("int16") => ChannelFormat::Int16,
        Some(_) => return Err(SpecError::Format),
    };
    let (text, rate) = text.split_once('@').map_or((text, None), |(text, rate)| (text, Some(rate)));
    let (kind, channels) =
        text.split_once(':').map_or((text, None), |(kind, channels)| (kind, Some(channels)));
    let (kind, usual_channels) = match kind {
        "counter" => (Kind::Counter, 1),
        "eeg" => (Kind::Eeg, 64),
        "sine" => (Kind::Sine, 1),
        _ => return Err(SpecError::Kind),
    };
    let channel_count = match channels {
        None => usual_channels,
        Some(text) => text
            .parse()
            .ok()
            .filter(|count| (1..=Spec::CHANNELS_MAX).contains(count))
            .ok_or(SpecError::Channels)?,
    };
    let rate = match rate {
        None => 1000.0,
        Some(text) => {
            text.parse().ok().filter(|rate| (1.0..=Spec::RATE_MAX).contains(rate)).ok_or(SpecError::Rate)?
        }
    };
    Ok(Spec { kind, channel_count, rate, format })
}

impl fmt::Display for Spec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Eeg => "eeg",
            Kind::Sine => "sine",
        };
        write!(out, "{kind}:{}@{}", self.channel_count, self.rate)?;
        match self.format {
            ChannelFormat::Float32 => Ok(()),
            format => write!(out, "/{format}"),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channels => {
                write!(out, "channels must be a number from 1 to {}, as in eeg:64@1000", Spec::CHANNELS_MAX)
            }
            Self::Format => out.write_str("the format must be float32 or int16, as in eeg:64@1000/int16"),
            Self::Kind => out.write_str("the kind must be eeg, sine or counter, as in eeg:64@1000"),
            Self::Rate => {
                write!(out, "the rate must be a number from 1 to {} Hz, as in eeg:64@1000", Spec::RATE_MAX)
            }
        }
    }
}

impl core::error::Error for SpecError {}

/// Makes the samples of a [`Spec`].
#[derive(Clone, Debug)]
pub(crate) struct Source {
    spec: Spec,
    labels: Vec<String>,
    /// Samples made so far.
    made: u64,
    eeg: Option<Eeg>,
}

impl Source {
    /// Begins at sample 0. The same seed gives the same samples.
    pub(crate) fn new(spec: Spec, seed: u64) -> Self {
        let eeg = (spec.kind == Kind::Eeg).then(|| Eeg::new(spec.channel_count, spec.rate, seed));
        let labels = match &eeg {
            Some(_) => montage::labels(spec.channel_count),
            None => (1..=spec.channel_count).map(|channel| format!("{channel}")).collect(),
        };
        Self { spec, labels, made: 0, eeg }
    }

    /// Fills `out` with the next samples.
    ///
    /// - Units: EEG in microvolts.
    /// - Shape: `out` is samples × channels, one row per sample; its length is a multiple of the channels.
    pub(crate) fn fill(&mut self, out: &mut [f32]) {
        debug_assert!(out.len().is_multiple_of(self.spec.channel_count));
        for row in out.chunks_exact_mut(self.spec.channel_count) {
            match (&mut self.eeg, self.spec.kind) {
                (Some(eeg), _) => eeg.next_sample(row),
                (None, Kind::Sine) => {
                    let time = self.made as f64 / self.spec.rate;
                    for (channel, value) in (1_u32..).zip(row) {
                        *value = (core::f64::consts::TAU * f64::from(channel) * time).sin() as f32;
                    }
                }
                // A float counts exactly up to 2^24; then it begins again.
                (None, _) => row.fill((self.made % (1 << 24)) as f32),
            }
            self.made += 1;
        }
    }

    /// Fills `out` with the next samples as integers.
    ///
    /// - Units: EEG in microvolts; a sine in ten-thousandths; a counter goes on at -32,768 after 32,767.
    /// - Shape: as [`Self::fill`].
    pub(crate) fn fill_int16(&mut self, out: &mut [i16]) {
        let mut exact = vec![0.0; self.spec.channel_count];
        for row in out.chunks_exact_mut(self.spec.channel_count) {
            if self.spec.kind == Kind::Counter {
                row.fill(self.made as i16);
                self.made += 1;
                continue;
            }
            self.fill(&mut exact);
            let scale = if self.spec.kind == Kind::Sine { 1e4 } else { 1.0 };
            for (value, exact) in row.iter_mut().zip(&exact) {
                *value = (exact * scale).round() as i16;
            }
        }
    }

    /// Returns the channels' labels: the 10-20 system's for EEG.
    pub(crate) fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Removes and returns the events of the samples made so far.
    pub(crate) fn take_moments(&mut self) -> Vec<Moment> {
        self.eeg.as_mut().map(Eeg::take_moments).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
