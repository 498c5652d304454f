//! Sealed searches between members of a lab: what is wanted stays with the asker, and is found all the same.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use schwann::outlet::{Outlet, OutletOptions};
use schwann::security::Policy;
use schwann::{Context, StreamInfo, resolver};
use schwann_proto::stream::ChannelFormat;

use crate::sealing::{LONG, Lab, SHORT, context, network};

/// A lab of two computers.
struct Pair {
    sending: Arc<Context>,
    receiving: Arc<Context>,
}

impl Pair {
    fn new() -> Self {
        let (lab, network) = (Lab::new(), network());
        let [sending, receiving] =
            [1, 2].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
        Self { sending, receiving }
    }

    /// Serves a stream about a subject.
    fn outlet(&self, name: &str, subject: &str) -> Outlet {
        let info = StreamInfo::new(name, "EEG", 8, 100.0, ChannelFormat::Float32, name);
        let mut info = info.expect("a description");
        let document = info.document_mut();
        let element = document.child(document.root(), "info").expect("an element");
        let desc = document.child(element, "desc").expect("metadata");
        document.append_child_value(desc, "subject", subject.as_bytes());
        Outlet::in_context(&info, &OutletOptions::default(), Arc::clone(&self.sending)).expect("an outlet")
    }

    /// The names of what fulfils `predicate`.
    fn find(&self, predicate: &str, minimum: usize, timeout: f64) -> Vec<String> {
        let timeout = Duration::from_secs_f64(timeout);
        let found = resolver::resolve_bypred(&self.receiving, predicate, minimum, timeout);
        names(&found.expect("a search"))
    }
}

fn names(streams: &[StreamInfo]) -> Vec<String> {
    let mut names: Vec<_> = streams.iter().map(|info| info.name().to_string()).collect();
    names.sort();
    names
}

#[test]
fn only_what_is_wanted_is_found() {
    let pair = Pair::new();
    let _outlets = [pair.outlet("A", "p01"), pair.outlet("B", "p02")];
    assert_eq!(pair.find("name='B'", 1, LONG), ["B"]);
    assert_eq!(pair.find("type='EEG' and starts-with(name,'A')", 1, LONG), ["A"]);
    assert_eq!(pair.find("type='EEG'", 2, LONG), ["A", "B"]);
    assert!(pair.find("name='C'", 1, SHORT).is_empty());
}

#[test]
fn metadata_that_no_datagram_has_can_be_searched() {
    let pair = Pair::new();
    let _outlets = [pair.outlet("A", "p01"), pair.outlet("B", "p02")];
    assert_eq!(pair.find("desc/subject='p02'", 1, LONG), ["B"]);
    assert_eq!(pair.find("count(desc/subject)=1", 2, LONG), ["A", "B"]);
    assert!(pair.find("desc/subject='p03'", 1, SHORT).is_empty());
    let all = resolver::ContinuousResolver::by_predicate(
        Arc::clone(&pair.receiving),
        "//subject='p01'",
        Duration::from_secs(5),
    );
    let all = all.expect("a resolver");
    let deadline = Instant::now() + Duration::from_secs_f64(LONG);
    while names(&all.results()) != ["A"] {
        assert!(Instant::now() < deadline, "{:?}", all.results());
        std::thread::yield_now();
    }
}

#[test]
fn forty_sealed_outlets_of_one_computer_are_found() {
    let pair = Pair::new();
    let wanted: Vec<String> = (0..40).map(|number| format!("outlet-{number:02}")).collect();
    let _outlets: Vec<_> = wanted.iter().map(|name| pair.outlet(name, "p01")).collect();
    assert_eq!(pair.find("type='EEG'", 40, LONG), wanted);
}
