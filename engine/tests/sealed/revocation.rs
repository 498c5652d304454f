//! A device is put out while all members stream.

use core::time::Duration;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use schwann::Context;
use schwann::inlet::Recover;
use schwann::outlet::Flush;
use schwann::security::Refusal;
use schwann::security::{Member, Policy, UpdateError};
use schwann_session::UnixSeconds;

use crate::sealing::{LONG, Lab, context, find, inlet, network, outlet};

fn member(context: &Context) -> Arc<Member> {
    Arc::clone(context.trust().expect("a trust").member().expect("a member"))
}

/// Waits for something that another thread brings about.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs_f64(LONG);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_revocation_entered_at_one_member_reaches_all_and_cuts_the_revoked_one() {
    let (mut lab, network) = (Lab::new(), network());
    let require = |serial, lab: &Lab| context(&network, Policy::Require, Some(lab.member(serial, |_| {})));
    let [sending, staying, leaving] = [1, 2, 3].map(|serial| require(serial, &lab));
    let outlet = outlet(&sending).expect("an outlet");
    let [stays, leaves] =
        [&staying, &leaving].map(|context| inlet(context, Recover::BySourceId).expect("an inlet"));
    [&stays, &leaves].iter().for_each(|inlet| inlet.open_stream(LONG).expect("a connection"));
    assert!(outlet.wait_for_consumers(2, Some(Duration::from_secs_f64(LONG))));

    // Entered at a device that does not send: it goes to the outlet first, and from there on.
    let update = lab.revoke(3);
    assert_eq!(member(&staying).take_in(&update), Ok(true));
    until("the outlet has the list", || member(&sending).revocation_number() == 2);
    until("the revoked inlet is cut off", || outlet.consumer_count() == 1);
    until("it is told why", || leaves.refusal() == Some(Refusal::Revoked));
    outlet.push_sample(&[7.0_f32; 8], 5.0, Flush::Now).expect("a push");
    assert_eq!(stays.pull_sample(&mut [0.0_f32; 8], LONG), Ok(Some(5.0)));
    assert_eq!(leaves.pull_sample(&mut [0.0_f32; 8], 1.0), Ok(None));
    // It cannot find the stream any more, and others can.
    assert!(find(&leaving, 1.0).is_empty());
    assert_eq!(find(&require(4, &lab), LONG).len(), 1);
}

#[test]
fn a_session_ends_when_a_certificate_expires() {
    let lab = Lab::new();
    for which in [1, 2] {
        let network = network();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let [sending, receiving] = [1, 2].map(|serial| {
            let member = lab.member(serial, |statement| {
                if serial == which {
                    // Time enough to connect on a busy machine.
                    statement.not_after = UnixSeconds(now + 6);
                }
            });
            context(&network, Policy::Require, Some(member))
        });
        let outlet = outlet(&sending).expect("an outlet");
        let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
        inlet.open_stream(LONG).expect("a connection");
        assert_eq!(inlet.refusal(), None);
        until("it ends", || outlet.consumer_count() == 0);
        until("its reason is told", || inlet.refusal() == Some(Refusal::Expired));
    }
}

#[test]
fn a_revoked_outlet_loses_its_inlets() {
    let (mut lab, network) = (Lab::new(), network());
    let [sending, receiving] =
        [1, 2].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
    let outlet = outlet(&sending).expect("an outlet");
    let inlet = inlet(&receiving, Recover::BySourceId).expect("an inlet");
    inlet.open_stream(LONG).expect("a connection");
    // By its key: the list need not know its certificate.
    let key = member(&sending).credentials().certificate().statement.device;
    assert_eq!(member(&receiving).take_in(&lab.revoke(key.revocation_entry())), Ok(true));
    until("the inlet has gone", || !outlet.have_consumers());
    assert_eq!(inlet.refusal(), Some(Refusal::Revoked));
}

#[test]
fn members_whose_lists_differ_find_each_other_and_agree_on_the_newer_one() {
    for newer in ["outlet", "inlet"] {
        let (mut lab, network) = (Lab::new(), network());
        let [sending, receiving] =
            [1, 2].map(|serial| context(&network, Policy::Require, Some(lab.member(serial, |_| {}))));
        let knows = if newer == "outlet" { &sending } else { &receiving };
        assert_eq!(member(knows).take_in(&lab.revoke(9)), Ok(true));
        let outlet = outlet(&sending).expect("an outlet");
        let inlet = inlet(&receiving, Recover::BySourceId).expect("it was found");
        inlet.open_stream(LONG).expect("a connection");
        assert!(outlet.have_consumers());
        let numbers = [&sending, &receiving].map(|context| member(context).revocation_number());
        assert_eq!(numbers, [2, 2], "newer: {newer}");
    }
}

#[test]
fn old_and_forged_lists_are_not_taken_in() {
    let (mut lab, mut other) = (Lab::new(), Lab::new());
    let member = lab.member(1, |_| {});
    let (second, third) = (lab.revoke(2), lab.revoke(3));
    assert_eq!(member.take_in(&third), Ok(true));
    assert_eq!((member.take_in(&second), member.take_in(&third)), (Ok(false), Ok(false)));
    assert!(matches!(member.take_in(&other.revoke(1)), Err(UpdateError::List(_))));
    let mut wrong_key = lab.revoke(4);
    *wrong_key.last_mut().expect("a key") ^= 1;
    assert_eq!(member.take_in(&wrong_key), Err(UpdateError::Malformed));
    assert_eq!(member.take_in(b"short"), Err(UpdateError::Malformed));
    assert_eq!(member.revocation_number(), 3);
}
