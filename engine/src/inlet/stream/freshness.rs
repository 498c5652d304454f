//! Whether the program gets present samples, as the connection's thread sees it.

use schwann_proto::wire::feed::Report;

use super::Stream;
use crate::inlet::alarm::Findings;
use crate::inlet::shared::Phase;
use crate::local_clock;
use crate::net::link::Link;

impl Stream {
    /// Judges whether the program gets present samples.
    pub(crate) fn look_for_lag(&self) {
        let offset = self.known_clock_offset();
        let (oldest, waiting, skipped, silence, is_away, link) = {
            let mut state = self.shared.lock();
            let oldest = state.unread().and_then(|queue| queue.next_stamp());
            let is_away = state.phase != Phase::Open;
            let link = state.link.clone().filter(|_| state.takes_reports && !is_away);
            let silence = state.last_arrival.elapsed();
            (oldest, state.sample_count(), state.dropped(), silence, is_away, link)
        };
        let age = oldest.zip(offset).map(|(stamp, offset)| local_clock() - (stamp + offset));
        // Without the sender's clock, what waits says how old it must be.
        let waits = Some(waiting as f64 / self.nominal_rate).filter(|_| self.nominal_rate > 0.0);
        let silence = Some(silence.as_secs_f64()).filter(|_| is_away || self.nominal_rate > 0.0);
        let findings = Findings { age: age.or(waits), silence, is_away, skipped };
        if let Some(alarm) = self.alarms.look(findings) {
            self.events.push(alarm.kind.into());
            self.alarms.tell(alarm);
        }
        if let Some(link) = link
            && let Some(report) = self.alarms.report(findings)
        {
            tell_outlet(&link, report);
        }
    }
}

/// Tells the outlet that this program is too slow, or not any more.
fn tell_outlet(link: &Link, report: Report) {
    let mut line = Vec::new();
    // A vector takes all it is given.
    let _ = report.encode(&mut line);
    let progress = link.send(core::iter::once(line.as_slice()));
    // Nothing else goes this way, so there is room for a line; half of one would end the feed later.
    if progress.taken != 0 && progress.taken != line.len() {
        link.shut_down();
    }
}
