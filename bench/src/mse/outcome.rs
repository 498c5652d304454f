//! One figure, its spread, and what it was to be.

use core::fmt;

use serde_json::{Value, json};

use super::Error;
use crate::statistics;

/// A measured figure.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The samples, sorted.
    samples: Vec<f64>,
    /// What the figure is held against, if anything.
    verdict: Option<Verdict>,
}

/// A criterion and whether it is met.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// In words.
    pub criterion: String,
    /// Whether it is.
    pub met: bool,
}

impl Outcome {
    /// A figure from its samples.
    #[must_use]
    pub fn new(name: impl Into<String>, unit: &'static str, mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self { name: name.into(), unit, samples, verdict: None }
    }

    /// Holds the median against a criterion.
    #[must_use]
    pub fn held_against(self, criterion: impl Into<String>, met: impl Fn(f64) -> bool) -> Self {
        let met = met(self.median());
        self.with_verdict(criterion, met)
    }

    /// Adds a verdict that the caller reached.
    #[must_use]
    pub fn with_verdict(mut self, criterion: impl Into<String>, met: bool) -> Self {
        self.verdict = Some(Verdict { criterion: criterion.into(), met });
        self
    }

    /// The middle sample.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The sample below which the share `p` of all lies.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        statistics::quantile_of_sorted(&self.samples, p)
    }

    /// Whether the criterion is met, if there is one.
    #[must_use]
    pub fn met(&self) -> Option<bool> {
        self.verdict.as_ref().map(|verdict| verdict.met)
    }

    /// Reads back what another process measured; the spread survives as its ends and its middle.
    pub(super) fn from_json(value: &Value) -> Result<Self, Error> {
        let number = |name: &str| value[name].as_f64().ok_or("a figure is missing");
        let unit = ["MiB/s", "KiB", "%"].into_iter().find(|unit| value["unit"] == *unit);
        let samples = match value["samples"].as_u64() {
            Some(1) => vec![number("median")?],
            _ => vec![number("min")?, number("median")?, number("max")?],
        };
        let name = value["name"].as_str().ok_or("a figure has no name")?;
        let mut outcome = Self::new(name, unit.ok_or("an unknown unit")?, samples);
        if let (Some(criterion), Some(met)) = (value["criterion"].as_str(), value["met"].as_bool()) {
            outcome = outcome.with_verdict(criterion, met);
        }
        Ok(outcome)
    }

    pub(super) fn to_json(&self, scenario: &str) -> Value {
        json!({
            "scenario": scenario,
            "name": self.name,
            "unit": self.unit,
            "samples": self.samples.len(),
            "median": self.median(),
            "min": self.quantile(0.0),
            "p95": self.quantile(0.95),
            "p99": self.quantile(0.99),
            "max": self.quantile(1.0),
            "criterion": self.verdict.as_ref().map(|verdict| &verdict.criterion),
            "met": self.verdict.as_ref().map(|verdict| verdict.met),
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.median().abs() < 100.0 { 3 } else { 0 };
        let Self { name, unit, .. } = self;
        write!(f, "{name:<44} {:>10.digits$} {unit:<6}", self.median())?;
        if self.samples.len() > 1 {
            write!(f, " ({:.digits$} to {:.digits$}", self.quantile(0.0), self.quantile(1.0))?;
            if self.samples.len() >= 100 {
                write!(f, ", p99 {:.digits$}", self.quantile(0.99))?;
            }
            write!(f, ", n {})", self.samples.len())?;
        }
        match &self.verdict {
            Some(Verdict { criterion, met: true }) => write!(f, "  met: {criterion}"),
            Some(Verdict { criterion, met: false }) => write!(f, "  NOT MET: {criterion}"),
            None => Ok(()),
        }
    }
}
