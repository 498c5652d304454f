//! A figure of a suite that measures in steps.

use serde::{Deserialize, Serialize};

use crate::statistics::median;

/// One figure of a step, with its spread.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Reading {
    /// The step that gave it.
    pub step: String,
    /// Whose it is.
    pub subject: String,
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Where on the step's axis, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// The middle of the samples.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// How many samples.
    pub samples: u64,
    /// What it is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    /// Whether it holds; nothing where it is held against something and the machine was too restless to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// The samples themselves, in the order in which they were taken, where they are few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// Seconds since 1970, UTC, at which the step was done.
    #[serde(default)]
    pub done_at: u64,
    /// Load average of the last minute of the step, all processes of the machine.
    #[serde(default)]
    pub load: f64,
}

impl Reading {
    /// The median and the range of some samples, to be given a name.
    #[must_use]
    pub fn of(step: &str, values: Vec<f64>) -> Self {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        Self {
            step: step.to_owned(),
            subject: String::new(),
            name: String::new(),
            unit: String::new(),
            at: None,
            median: median(&sorted),
            low: sorted.first().copied().unwrap_or(f64::NAN),
            high: sorted.last().copied().unwrap_or(f64::NAN),
            samples: sorted.len() as u64,
            criterion: None,
            met: None,
            values: if (2..=MOST_VALUES).contains(&sorted.len()) { values } else { Vec::new() },
            done_at: 0,
            load: 0.0,
        }
    }

    /// The same, held against a limit.
    #[must_use]
    pub fn held_against(self, criterion: impl Into<String>, met: Option<bool>) -> Self {
        Self { criterion: Some(criterion.into()), met, ..self }
    }

    /// In a word: whether what it is held against holds; nothing if it is held against nothing.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.criterion.as_ref().map(|_| match self.met {
            Some(true) => Verdict::Met,
            Some(false) => Verdict::Missed,
            None => Verdict::NotResolved,
        })
    }
}

/// Whether a limit is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is.
    Met,
    /// It is not.
    Missed,
    /// The machine was too restless to tell.
    NotResolved,
}

/// More samples than this are kept as their median and range.
const MOST_VALUES: usize = 64;
