//! How a row takes in what comes of its stream: samples, events, its description and its clock.

use std::sync::{Arc, PoisonError, Weak};

use schwann::{StreamInfo, clock::Estimate, inlet::StreamEvent, local_clock, security::PeerIdentity};
use schwann_xdf::is_time;

use super::{
    Kind, Monitor,
    state::{Clock, Contact, MonitorState},
};
use crate::{
    batch::Batch, chain, follow::Follower, gauge::Continuity, labels::labels, marker::Marker,
    reading::SPARK_COLUMNS,
};

impl Monitor {
    /// Takes in the stream's whole description.
    pub(crate) fn describe(&self, info: &StreamInfo) {
        self.lock().labels = Arc::new(labels(info));
    }

    /// Takes in how far the sender's clock is from ours.
    pub(crate) fn set_clock(&self, estimate: Estimate) {
        let Estimate { offset, uncertainty, remote_time } = estimate;
        self.lock().clock = Some(Clock { offset, uncertainty, measured: remote_time + offset });
    }

    /// Takes in what happened to the connection.
    pub(crate) fn take_in_event(&self, event: StreamEvent, follower: &Follower) {
        let mut state = self.lock();
        match event {
            StreamEvent::Connected => {
                (state.refusal, state.has_answered) = (None, true);
                state.change_contact(Contact::Connected);
                // Each return of a sender has a follower, and an inlet, of its own.
                let now = follower.inlet.peer();
                if let Some(before) = state.last_peer.replace(now) {
                    self.tell_takeover(&before, now.as_ref());
                }
            }
            StreamEvent::Lost | StreamEvent::Recovering => state.change_contact(Contact::Gone),
            StreamEvent::Refused => state.refusal = follower.inlet.refusal(),
            StreamEvent::ClockReset => state.clock = None,
            _ => {}
        }
    }

    /// Takes in samples, and how old the newest one was when it came.
    pub(crate) fn take_in(&self, batch: &mut Batch, age: Option<f64>) {
        let mut state = self.lock();
        let state = &mut *state;
        // Until the sender's clock is known, its stamps tell no age.
        if let (Some(age), Some(clock)) = (age.filter(|age| is_time(*age)), state.clock) {
            state.gauge.add_lag(age - clock.offset);
        }
        let offset = state.clock.map_or(0.0, |clock| clock.offset);
        if !batch.stamps.is_empty() {
            state.gauge.arrived(&batch.stamps, local_clock());
            // While the sender is gone, samples that came before may still wait.
            if state.contact == Contact::New {
                state.contact = Contact::Connected;
            }
        }
        state.place(batch, offset);
        if self.kind == Kind::Markers {
            self.publish(batch, offset);
        }
        batch.clear();
        state.views.retain(|view| view.strong_count() > 0);
        state.spark_columns.extend(state.spark.take());
        let surplus = state.spark_columns.len().saturating_sub(SPARK_COLUMNS);
        state.spark_columns.drain(..surplus);
    }

    fn publish(&self, batch: &Batch, offset: f64) {
        for (row, &stamp) in batch.stamps.iter().enumerate() {
            let text =
                batch.texts.get(row).cloned().or_else(|| {
                    chain::value(self.format, batch.sample(row), 0).map(|value| value.to_string())
                });
            // An event without a time is shown at the time when it came.
            let time = if is_time(stamp) { stamp + offset } else { local_clock() };
            self.markers.add(Marker { stream: self.id, time, text: text.unwrap_or_default() });
        }
    }

    /// Puts into the list of events that another device sends the stream than before.
    fn tell_takeover(&self, before: &PeerIdentity, now: Option<&PeerIdentity>) {
        let name = |peer: &PeerIdentity| peer.statement.name.as_str().to_owned();
        let now = now.map_or_else(|| String::from("one that does not seal"), name);
        let text = format!("from another device: {now}, before {}", name(before));
        self.markers.add(Marker { stream: self.id, time: local_clock(), text });
    }
}

impl MonitorState {
    /// Hands the samples of a batch on to what shows, counts and remembers them.
    fn place(&mut self, batch: &Batch, offset: f64) {
        let views: Vec<_> = self.views.iter().filter_map(Weak::upgrade).collect();
        let mut views: Vec<_> =
            views.iter().map(|view| view.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        if batch.lacks_dropped {
            views.iter_mut().for_each(|view| view.interrupt());
        }
        for (row, &stamp) in batch.stamps.iter().enumerate() {
            let (stamp, sample) = (stamp + offset, batch.sample(row));
            if batch.lacks_dropped {
                self.gauge.dropped();
            }
            if self.gauge.add(stamp) == Continuity::Broken {
                views.iter_mut().for_each(|view| view.interrupt());
            }
            // A sample without a time has no place on the axis.
            if !is_time(stamp) {
                continue;
            }
            self.spark.add(stamp, sample);
            self.history.add(stamp, sample);
            views.iter_mut().for_each(|view| view.add(stamp, sample));
        }
    }
}

#[cfg(test)]
mod tests {
    use schwann::ChannelFormat;

    use super::*;
    use crate::marker::Markers;

    #[test]
    fn what_is_dropped_here_is_no_gap_of_the_sender() {
        let info =
            StreamInfo::new("Fast", "EEG", 1, 100.0, ChannelFormat::Float32, "fast").expect("a description");
        let monitor = Monitor::new(0, &info, Arc::default(), Arc::default());
        let mut batch = Batch::new(ChannelFormat::Float32, 1);
        let mut gaps_after = |stamps: [f64; 2], dropped| {
            batch.stamps.extend(stamps);
            batch.note_dropped(dropped);
            monitor.take_in(&mut batch, None);
            monitor.lock().gauge.course().gap_count()
        };
        assert_eq!(gaps_after([1.0, 1.01], 0), 0);
        assert_eq!(gaps_after([2.0, 3.0], 150), 0, "dropped before them, or between");
        assert_eq!(gaps_after([4.0, 4.01], 150), 0, "or behind the last ones");
        assert_eq!(gaps_after([5.0, 5.01], 150), 1, "and this is the sender's");
    }

    #[test]
    fn an_event_without_a_time_is_shown_when_it_came() {
        let (markers, before) = (Arc::<Markers>::default(), local_clock());
        let info =
            StreamInfo::new("Odd", "Markers", 1, 0.0, ChannelFormat::String, "odd").expect("a description");
        let monitor = Monitor::new(0, &info, Arc::clone(&markers), Arc::default());
        let mut batch = Batch::new(ChannelFormat::String, 1);
        batch.stamps.push(f64::NAN);
        batch.texts.push("go".to_owned());
        monitor.take_in(&mut batch, Some(f64::NAN));
        let [marker] = &markers.since(&mut 0)[..] else { panic!("one event") };
        assert!((before..=local_clock()).contains(&marker.time) && marker.text == "go", "{marker:?}");
    }
}
