//! A member of the lab takes a stream over by its source id. An inlet says so, and refuses it if the stream is pinned.

use core::time::Duration;
use std::sync::Arc;

use schwann::inlet::{Inlet, Recover, StreamEvent};
use schwann::outlet::Flush;
use schwann::security;
use schwann::security::{Pins, Policy, Refusal, Trust};
use schwann::{Config, Context};

use crate::sealing::{LONG, Lab, SHORT, context, find, inlet, network, outlet};

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

/// Receives on this network, and takes the stream from the device of `sender` alone.
fn pinned_to(sender: &Context, lab: &Lab, network: &str) -> Arc<Context> {
    let trust = sender.trust().expect("keys");
    let device = trust.member().expect("a member").credentials().certificate().statement.device;
    let pins = Pins::parse(&format!("name='Sealed' -> {}", device.fingerprint())).expect("valid");
    let trust = Trust::new(Policy::Require, Some(lab.member(9, |_| {}))).with_pins(pins);
    Arc::new(Context::with_trust(Config::parse(network).expect("valid"), trust))
}

#[test]
fn a_pinned_stream_is_not_taken_from_another_device() {
    let (lab, network) = (Lab::new(), network());
    let [owner, impostor] =
        [1, 2].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
    let receiving = pinned_to(&owner, &lab, &network);
    let _false_sender = outlet(&impostor).expect("an outlet");
    let inlet = inlet(&receiving, Recover::No).expect("an inlet");
    assert!(inlet.open_stream(LONG).is_err());
    assert_eq!(inlet.refusal(), Some(Refusal::WrongDevice));
    assert!(inlet.full_info(SHORT).is_err(), "its description neither");
}

#[test]
fn a_pinned_stream_passes_over_who_takes_it_over_and_comes_back_with_its_device() {
    let (lab, network) = (Lab::new(), network());
    let [owner, impostor] =
        [1, 2].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
    let receiving = pinned_to(&owner, &lab, &network);
    let sender = outlet(&owner).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    drop(sender);
    let false_sender = outlet(&impostor).expect("an outlet");
    while inlet.next_event(LONG).expect("an event") != StreamEvent::Refused {}
    assert_eq!(inlet.refusal(), Some(Refusal::WrongDevice));
    false_sender.push_sample(&[6.0_f32; 8], 6.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0.0_f32; 8], SHORT), Ok(None));
    // The true one is there beside the false one, and is chosen.
    let sender = outlet(&owner).expect("an outlet");
    assert!(sender.wait_for_consumers(1, Some(Duration::from_secs_f64(LONG))));
    sender.push_sample(&[7.0_f32; 8], 7.0, Flush::Now).expect("a push");
    assert_eq!(inlet.pull_sample(&mut [0.0_f32; 8], LONG), Ok(Some(7.0)));
    assert_eq!(inlet.peer().map(|peer| peer.statement.serial), Some(1));
}

#[test]
fn a_pinned_stream_is_not_taken_in_the_clear() {
    let (lab, network) = (Lab::new(), network());
    let owner = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let device = pinned_to(&owner, &lab, &network).trust().expect("keys").pins().to_string();
    let plain = context(&network, Policy::Off, None);
    let _sender = outlet(&plain).expect("an outlet");
    let trust = Trust::new(Policy::Prefer, Some(lab.member(9, |_| {})));
    let trust = trust.with_pins(Pins::parse(&device).expect("valid"));
    let receiving = Arc::new(Context::with_trust(Config::parse(&network).expect("valid"), trust));
    assert!(find(&receiving, SHORT).is_empty(), "it is not even found");
}
