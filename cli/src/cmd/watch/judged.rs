//! What `schwann watch` says of its stream besides the samples: the verdict, on standard error.

use core::mem::{Discriminant, discriminant};
use std::time::Instant;

use schwann::security::{LastPeer, PeerIdentity};
use schwann::{Error, Inlet};
use schwann_recorder::words::quoted;
use schwann_recorder::{Chunk, Observed, Trouble, Verdict};

use super::LATE;
use crate::terminal::printable;

/// A stream that is watched, and what was said of it last.
pub(super) struct Judged {
    name: String,
    observed: Observed,
    said: Option<Discriminant<Trouble>>,
    last_peer: LastPeer,
    /// Since when samples wait because the sender's clock is not known, and whether that was said.
    waits: Option<(Instant, bool)>,
    has_reported: bool,
}

impl Judged {
    /// Nothing is known of the stream yet; the inlet begins to measure its sender's clock.
    pub(super) fn new(inlet: &Inlet) -> Self {
        let info = inlet.info();
        // The first question only begins the measurement.
        let _ = inlet.clock_offset(0.0);
        Self {
            name: info.name().to_string(),
            observed: Observed::new(info.nominal_rate()),
            said: None,
            last_peer: LastPeer::default(),
            waits: None,
            has_reported: false,
        }
    }

    /// Whether anything was wrong with the stream.
    pub(super) const fn has_reported(&self) -> bool {
        self.has_reported
    }

    /// Takes in what a pull came to; says what is wrong as soon as it is, and when it is over.
    pub(super) fn pulled(&mut self, inlet: &Inlet, chunk: &Chunk, outcome: &Result<(), Error>) {
        self.observed.pulled(inlet, chunk, outcome);
        if inlet.protection().is_some()
            && let Some(before) = self.last_peer.replace(inlet.peer())
        {
            eprintln!("schwann: {}", other_device(&self.name, &before, inlet.peer().as_ref()));
        }
        if matches!(outcome, Err(Error::Timeout)) && inlet.buffered_bytes() > 0 {
            return self.wait_for_clock(inlet);
        }
        self.waits = None;
        let verdict = self.observed.verdict();
        // What this end has passed over, because it was old or came too fast, is no fault of the stream.
        let is_ours = inlet.dropped_samples() > 0
            && matches!(verdict, Verdict::Trouble(Trouble::Gaps { .. } | Trouble::Rate { .. }));
        let news = if is_ours { None } else { self.news(verdict) };
        if let Some(sentence) = news {
            self.has_reported = true;
            eprintln!("schwann: {sentence}");
        }
    }

    /// Says once that samples come and cannot be shown: what is missing is the clock, not the device's doing.
    fn wait_for_clock(&mut self, inlet: &Inlet) {
        let (since, is_said) = self.waits.get_or_insert((Instant::now(), false));
        if *is_said || since.elapsed() <= LATE {
            return;
        }
        *is_said = true;
        eprintln!(
            "schwann: samples of {} arrive, but its clock does not answer over UDP, so they wait: schwann doctor {}; to print \
             them now: schwann watch --clock sender",
            printable(&self.name),
            quoted(&inlet.info().hostname().to_string())
        );
    }

    /// What has changed, in a sentence.
    fn news(&mut self, verdict: Verdict) -> Option<String> {
        let trouble = verdict.trouble();
        let kind = trouble.as_ref().map(discriminant);
        // A stream that is gone ends the command, which says so itself. Too early to tell is no news.
        let is_news = trouble.map_or(verdict.is_calm(), |trouble| trouble != Trouble::Gone);
        if !is_news || kind == self.said {
            return None;
        }
        self.said = kind;
        let what = match trouble {
            Some(trouble) => trouble.explained().unwrap_or_else(|| format!("({trouble})")),
            None => String::from("is well again"),
        };
        Some(format!("{} {what}", self.name.escape_debug()))
    }
}

/// That a stream is another device's now, and what keeps to one device.
fn other_device(name: &str, before: &PeerIdentity, now: Option<&PeerIdentity>) -> String {
    let of = |peer: &PeerIdentity| {
        let statement = &peer.statement;
        format!("{} (certificate {})", statement.name.as_str(), statement.serial)
    };
    let now = now.map_or_else(|| String::from("one that does not seal"), of);
    let text = format!(
        "{name} comes from another device than before: {now}, before {}; `schwann keys pin` refuses that",
        of(before)
    );
    printable(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_is_said_when_it_begins_and_when_it_is_over() {
        let mut judged = Judged {
            name: "EEG".to_owned(),
            observed: Observed::new(100.0),
            said: None,
            last_peer: LastPeer::default(),
            waits: None,
            has_reported: false,
        };
        let stopped = |seconds| Verdict::Trouble(Trouble::Stopped { seconds });
        assert_eq!(judged.news(Verdict::Early), None);
        assert_eq!(judged.news(Verdict::Well), None);
        let said = judged.news(stopped(2.0)).expect("news");
        assert!(said.starts_with("EEG is connected, but sent its last sample 2.0 s ago"), "{said}");
        assert_eq!(judged.news(stopped(3.0)), None);
        let away = judged.news(Verdict::Trouble(Trouble::Away)).expect("news");
        assert_eq!(away, "EEG (CONNECTION LOST)");
        assert_eq!(judged.news(Verdict::Early), None, "it is back, and too early to tell");
        assert_eq!(judged.news(Verdict::Well).as_deref(), Some("EEG is well again"));
    }
}
