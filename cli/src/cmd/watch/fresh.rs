//! `--latest` and `--alert`: nothing old is printed unawares.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use schwann::Inlet;
use schwann::inlet::{Alarm, AlarmKind};

use crate::exit::Exit;

/// What is too old, and whether anything was the matter.
#[derive(Debug)]
pub(super) struct Freshness {
    latest: Option<f64>,
    was_alerted: Arc<AtomicBool>,
}

impl Freshness {
    /// Has the inlet keep to both options.
    pub(super) fn of(inlet: &Inlet, name: &str, latest: Option<f64>, alert: Option<f64>) -> Self {
        let was_alerted = Arc::new(AtomicBool::new(false));
        if let Some(max_lag) = latest {
            inlet.set_max_lag(max_lag);
        }
        if let Some(max_lag) = alert {
            let (name, alerted) = (name.to_owned(), Arc::clone(&was_alerted));
            inlet.set_alarm(max_lag, move |alarm| {
                if alarm.kind != AlarmKind::CaughtUp {
                    alerted.store(true, Ordering::Relaxed);
                }
                eprintln!("schwann: {name}: {}", sentence(alarm));
            });
        }
        Self { latest, was_alerted }
    }

    /// Says what was skipped, and how the command ends.
    pub(super) fn conclude(&self, inlet: &Inlet, name: &str) -> Exit {
        inlet.clear_alarm();
        let skipped = inlet.dropped_samples();
        if self.latest.is_some() {
            eprintln!("schwann: {name}: {skipped} samples skipped");
        }
        if self.was_alerted.load(Ordering::Relaxed) { Exit::Found } else { Exit::Good }
    }
}

fn sentence(alarm: Alarm) -> String {
    let Alarm { lag, skipped, .. } = alarm;
    match alarm.kind {
        AlarmKind::Behind => format!("behind by {lag:.1} s, {skipped} samples skipped so far"),
        AlarmKind::CaughtUp => format!("up to date again, {skipped} samples skipped so far"),
        _ => format!("silent for {lag:.1} s"),
    }
}

/// Reads a number of seconds above 0.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && f64::is_finite(seconds) => Ok(seconds),
        _ => Err(String::from("give a number of seconds above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_above_zero() {
        assert_eq!(seconds("0.2"), Ok(0.2));
        for wrong in ["0", "-1", "inf", "NaN", "EEG", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_alarm_is_a_sentence_with_its_figures() {
        let alarm = Alarm { kind: AlarmKind::Behind, lag: 2.34, skipped: 7 };
        assert_eq!(sentence(alarm), "behind by 2.3 s, 7 samples skipped so far");
        let silent = Alarm { kind: AlarmKind::Silent, ..alarm };
        assert_eq!(sentence(silent), "silent for 2.3 s");
    }
}
