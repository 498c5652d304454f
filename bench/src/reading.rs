//! A figure, and the line of a record that holds it.

use crate::statistics::median;

/// One figure of a step, or of a cell by the runs of one subject, with its spread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// The step or the cell that gave it.
    pub(crate) step: String,
    /// The subject that it measures.
    pub(crate) subject: String,
    /// What it is.
    pub(crate) name: String,
    /// Its unit.
    pub(crate) unit: String,
    /// Where on the step's axis, if it has one.
    pub(crate) at: Option<f64>,
    /// The middle of the samples.
    pub(crate) median: f64,
    /// The least, or the lower end of an interval.
    pub(crate) low: f64,
    /// The greatest, or the upper end of an interval.
    pub(crate) high: f64,
    /// How many samples.
    pub(crate) samples: u64,
    /// What it is held against.
    pub(crate) criterion: Option<String>,
    /// Whether it holds; nothing where it is held against something and the machine was too restless to tell.
    pub(crate) met: Option<bool>,
    /// The samples themselves, where they are few. Of a cell: one for each pass, NaN where there is none.
    pub(crate) values: Vec<f64>,
    /// Seconds since 1970, UTC.
    pub(crate) done_at: u64,
    /// Load average of the last minute, all processes of the machine.
    pub(crate) load: f64,
    /// Why it is not believed, if it is not; it then takes no part in comparisons.
    pub(crate) fault: Option<String>,
}

/// Whether a limit is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// It is.
    Met,
    /// It is not.
    Missed,
    /// The machine was too restless to tell.
    NotResolved,
}

impl Verdict {
    /// In a word or two.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::NotResolved => "not resolved",
        }
    }
}

impl Reading {
    /// The median and the range of some samples, to be given a name.
    pub(crate) fn of(step: &str, values: Vec<f64>) -> Self {
        let (median, low, high, samples) = middle(&values);
        Self {
            step: step.to_owned(),
            subject: String::new(),
            name: String::new(),
            unit: String::new(),
            at: None,
            median,
            low,
            high,
            samples,
            criterion: None,
            met: None,
            values: if (2..=MOST_VALUES).contains(&values.len()) { values } else { Vec::new() },
            done_at: 0,
            load: 0.0,
            fault: None,
        }
    }

    /// [`Reading::of`] with its names.
    pub(crate) fn named(step: &str, subject: &str, name: &str, unit: &str, values: Vec<f64>) -> Self {
        let (subject, name, unit) = (subject.to_owned(), name.to_owned(), unit.to_owned());
        Self { subject, name, unit, ..Self::of(step, values) }
    }

    /// A figure that is one value.
    pub(crate) fn one(step: &str, subject: &str, name: &str, unit: &str, value: f64) -> Self {
        Self::named(step, subject, name, unit, vec![value])
    }

    /// What one run of a cell gave in its pass.
    pub(crate) fn of_pass(step: &str, subject: &str, name: &str, (pass, value): (u32, f64)) -> Self {
        let mut values = vec![f64::NAN; pass as usize];
        values.push(value);
        Self { values, ..Self::named(step, subject, name, unit_of(name), vec![value]) }
    }

    /// The same, held against a limit.
    pub(crate) fn held_against(self, criterion: impl Into<String>, met: Option<bool>) -> Self {
        Self { criterion: Some(criterion.into()), met, ..self }
    }

    /// The same, held against a limit of its median, such as `<= 2` or `< 0.25 ms`; as it is if that is none.
    pub(crate) fn limited(self, limit: impl Into<String>) -> Self {
        let limit = limit.into();
        match is_met(&limit, self.median) {
            None => self,
            met => self.held_against(limit, met),
        }
    }

    /// In a word: whether what it is held against holds; nothing if it is held against nothing.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.criterion.as_ref().map(|_| match self.met {
            Some(true) => Verdict::Met,
            Some(false) => Verdict::Missed,
            None => Verdict::NotResolved,
        })
    }

    /// Takes the passes of another run of the same cell, subject and name.
    pub(crate) fn join(&mut self, other: &Self) {
        self.values.resize(self.values.len().max(other.values.len()), f64::NAN);
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine = if mine.is_nan() { *theirs } else { *mine };
        }
        (self.median, self.low, self.high, self.samples) = middle(&self.values);
        self.load = self.load.max(other.load);
    }

    /// Rounds to as many digits as any table shows, and one or two more.
    pub(crate) fn round(&mut self) {
        self.values.iter_mut().for_each(|value| *value = format!("{value:.4e}").parse().unwrap_or(*value));
        if self.values.is_empty() {
            for value in [&mut self.median, &mut self.low, &mut self.high] {
                *value = format!("{value:.5e}").parse().unwrap_or(*value);
            }
        } else {
            (self.median, self.low, self.high, self.samples) = middle(&self.values);
        }
        (self.done_at, self.load) = (0, (self.load * 10.0).round() / 10.0);
    }

    /// The line of a record: fields with tabs between them. What follows from the values is left out.
    pub(crate) fn line(&self) -> String {
        let number = |value: f64| if value.is_finite() { value.to_string() } else { "-".to_owned() };
        let derived = middle(&self.values) == (self.median, self.low, self.high, self.samples);
        let [median, low, high, samples] = match derived {
            true => Default::default(),
            false => [number(self.median), number(self.low), number(self.high), self.samples.to_string()],
        };
        let met = self.met.map_or("", |met| if met { "met" } else { "missed" });
        let fields = [
            self.step.clone(),
            self.subject.clone(),
            self.name.clone(),
            self.unit.clone(),
            self.at.map_or_else(String::new, number),
            median,
            low,
            high,
            samples,
            self.values.iter().copied().map(number).collect::<Vec<_>>().join(" "),
            number(self.load),
            self.criterion.clone().unwrap_or_default(),
            met.to_owned(),
            if self.done_at == 0 { String::new() } else { self.done_at.to_string() },
            self.fault.clone().unwrap_or_default(),
        ];
        fields.map(|field| field.replace(['\t', '\n'], " ")).join("\t").trim_end_matches('\t').to_owned()
    }

    /// Reads a [`Reading::line`]; nothing of one that a crash cut off.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let number = |text: &str| if text == "-" { Some(f64::NAN) } else { text.parse().ok() };
        let (step, subject, name, unit, at) = (next(), next(), next(), next(), next());
        let [median, low, high, samples] = [next(), next(), next(), next()];
        let values = next().split_whitespace().map(number).collect::<Option<Vec<f64>>>()?;
        let written = (number(&median), number(&low), number(&high), samples.parse().ok());
        let (median, low, high, samples) = match written {
            (Some(median), Some(low), Some(high), Some(samples)) => (median, low, high, samples),
            _ if values.is_empty() => return None,
            _ => middle(&values),
        };
        let (load, criterion, met, done_at, fault) = (number(&next())?, next(), next(), next(), next());
        let text = |text: String| Some(text).filter(|text| !text.is_empty());
        Some(Self {
            step,
            subject,
            name,
            unit,
            at: number(&at),
            median,
            low,
            high,
            samples,
            criterion: text(criterion),
            met: text(met).map(|word| word == "met"),
            values,
            done_at: done_at.parse().unwrap_or(0),
            load,
            fault: text(fault),
        })
    }
}

/// Whether a value keeps a limit: a relation, a number and, if need be, more words. Nothing if that is none.
fn is_met(limit: &str, value: f64) -> Option<bool> {
    let mut words = limit.split_whitespace();
    let (relation, bound) = (words.next()?, words.next()?.trim_end_matches(';').parse::<f64>().ok()?);
    match relation {
        "<" => Some(value < bound),
        "<=" => Some(value <= bound),
        ">" => Some(value > bound),
        ">=" => Some(value >= bound),
        _ => None,
    }
}

/// The median, the range and the number of those values that are there.
fn middle(values: &[f64]) -> (f64, f64, f64, u64) {
    let there: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let low = there.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
    let high = there.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
    (median(&there), low, high, there.len() as u64)
}

/// The unit that the name of a cell's figure ends in.
pub(crate) fn unit_of(name: &str) -> &'static str {
    const UNITS: [(&str, &str); 5] = [
        ("_us", "µs"),
        ("_mb_per_s", "MB/s"),
        ("_samples_per_s", "samples/s"),
        ("_percent", "%"),
        ("_mb", "MB"),
    ];
    UNITS.into_iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// More samples than this are kept as their median and range.
const MOST_VALUES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_all_of_a_reading() {
        let few = Reading::named("64 B", "ring", "seal", "MB/s", vec![3.0, 1.0, 2.0]);
        let many =
            Reading { at: Some(64.0), load: 0.5, ..Reading::of("x", (0..100).map(f64::from).collect()) };
        let judged = Reading { low: 0.5, ..few.clone().held_against("<= 2", Some(false)) };
        let open = few.clone().held_against("<= 2", None);
        let failed = Reading { fault: Some("3 samples lost".to_owned()), done_at: 7, ..few.clone() };
        for reading in [few, many, judged, open, failed] {
            assert_eq!(Reading::parse(&reading.line()), Some(reading));
        }
        assert_eq!(Reading::parse("64 B\tring\tse"), None, "a crash cut it off");
    }

    #[test]
    fn a_limit_is_a_relation_and_a_number_and_is_kept_at_its_bound() {
        for (limit, value, expected) in [
            ("<= 0.2", 0.2, Some(true)),
            ("<= 0.2 x; a bare peer in this run: 0.1 x", 0.3, Some(false)),
            ("< 0.25 ms", 0.25, Some(false)),
            ("> 4.5", 4.6, Some(true)),
            (">= 5", 5.1, Some(true)),
            (">= 5", f64::NAN, Some(false)),
            ("", 1.0, None),
            ("none", 1.0, None),
        ] {
            let reading = Reading::one("step", "subject", "name", "", value).limited(limit);
            assert_eq!(reading.met, expected, "{limit}");
            assert_eq!(reading.criterion.as_deref(), expected.map(|_| limit));
        }
    }

    #[test]
    fn the_passes_of_runs_join_into_one_line() {
        let run = |pass| Reading::of_pass("cell", "liblsl", "push_p50_us", (pass, f64::from(pass) + 1.0));
        let mut joined = run(2);
        joined.join(&run(0));
        assert_eq!((joined.values[0], joined.values[1].is_nan(), joined.values[2]), (1.0, true, 3.0));
        assert_eq!((joined.median, joined.low, joined.high, joined.samples), (2.0, 1.0, 3.0, 2));
        assert!(joined.line().contains("\tµs\t") && joined.line().contains("\t1 - 3\t"), "{}", joined.line());
    }
}
