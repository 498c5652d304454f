//! A member of the lab takes a stream over by its source id.

use schwann::inlet::{Inlet, Recover, StreamEvent};
use schwann::security;
use schwann::security::Policy;

mod sealing;

use sealing::{LONG, Lab, context, inlet, network, outlet};

/// Waits until samples arrive over a new connection; says whether another device sends them.
fn is_other_device(inlet: &Inlet) -> bool {
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Connected {}
    // It follows at once, or not at all.
    inlet.next_event(0.5) == Some(StreamEvent::OtherDevice)
}

#[test]
fn an_inlet_that_finds_its_stream_at_another_device_says_so() {
    let (lab, network) = (Lab::new(), network());
    let [first, second, receiving] =
        [1, 2, 3].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
    let log = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("takeover.log");
    let _ = std::fs::remove_file(&log);
    security::log_to(&log);
    let sender = outlet(&first).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    assert!(!is_other_device(&inlet), "it is the first one");
    drop(sender);
    let sender = outlet(&first).expect("an outlet");
    assert!(!is_other_device(&inlet), "the same device, started again");
    drop(sender);
    let _sender = outlet(&second).expect("an outlet");
    assert!(is_other_device(&inlet));
    assert_eq!(inlet.peer().map(|peer| peer.statement.serial), Some(2));
    let told = std::fs::read_to_string(&log).expect("the log");
    let events = told.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let takeovers: Vec<serde_json::Value> =
        events.filter(|event: &serde_json::Value| event["event"] == "takeover").collect();
    assert_eq!(takeovers.len(), 1, "{told}");
    assert_eq!(
        (&takeovers[0]["device"], &takeovers[0]["device_before"]),
        (&"device 2".into(), &"device 1".into())
    );
}
