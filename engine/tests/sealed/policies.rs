//! Who finds and receives a stream: what policies, labs and admissions of both ends make of it.

use std::sync::Arc;

use schwann::inlet::{Protection, Recover};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::security::{Admitted, Member, Policy, StreamPolicies, Trust};
use schwann::{Config, Context, Error, StreamInfo};
use schwann_session::Roles;

use crate::sealing::{
    LONG, Lab, SHORT, context, description, description_of, find, inlet_of, network, outlet,
};

/// Whether a sample gets from an outlet of one kind to an inlet of the other.
fn passes(sender: (Policy, Option<Member>), receiver: (Policy, Option<Member>)) -> bool {
    let network = network();
    let sending = context(&network, sender.0, sender.1);
    let receiving = context(&network, receiver.0, receiver.1);
    let outlet = outlet(&sending).expect("an outlet");
    // Also strangers, who cannot find it, know where it is.
    let inlet = inlet_of(&description_of(&outlet), &receiving, Recover::BySourceId).expect("an inlet");
    if inlet.open_stream(SHORT).is_err() {
        assert!(!outlet.have_consumers());
        return false;
    }
    outlet.push_sample(&[1.0_f32; 8], 5.0, Flush::Now).expect("a push");
    let mut sample = [0.0_f32; 8];
    assert_eq!(inlet.pull_sample(&mut sample, LONG), Ok(Some(5.0)));
    assert_eq!(sample, [1.0; 8]);
    true
}

#[test]
fn members_of_a_lab_talk_sealed() {
    let lab = Lab::new();
    let (one, two) = (lab.member(1, |_| {}), lab.member(2, |_| {}));
    assert!(passes((Policy::Require, Some(one)), (Policy::Require, Some(two))));
}

#[test]
fn in_migration_members_seal_and_others_talk_plainly() {
    let lab = Lab::new();
    let member = |serial| Some(lab.member(serial, |_| {}));
    assert!(passes((Policy::Prefer, member(1)), (Policy::Prefer, member(2))));
    assert!(passes((Policy::Prefer, member(1)), (Policy::Require, member(2))));
    assert!(passes((Policy::Prefer, member(1)), (Policy::Off, None)));
    assert!(passes((Policy::Off, None), (Policy::Prefer, member(2))));
}

#[test]
fn strangers_get_nothing() {
    let (lab, other) = (Lab::new(), Lab::new());
    let member = || Some(lab.member(1, |_| {}));
    assert!(!passes((Policy::Require, member()), (Policy::Off, None)), "plain inlet");
    assert!(!passes((Policy::Off, None), (Policy::Require, member())), "plain outlet");
    assert!(
        !passes((Policy::Require, member()), (Policy::Require, Some(other.member(2, |_| {})))),
        "other lab"
    );
    let no_publish = lab.member(3, |statement| statement.roles = Roles::SUBSCRIBE);
    let network = network();
    assert_eq!(outlet(&context(&network, Policy::Require, Some(no_publish))).err(), Some(Error::Unsealed));
    assert_eq!(outlet(&context(&network, Policy::Require, None)).err(), Some(Error::Unsealed));
}

#[test]
fn a_revoked_device_is_out() {
    let mut lab = Lab::new();
    let revoked_inlet = lab.member(9, |_| {});
    lab.revoked = vec![9];
    assert!(!passes((Policy::Require, Some(lab.member(1, |_| {}))), (Policy::Require, Some(revoked_inlet))));
}

#[test]
fn who_may_find_a_stream_follows_from_the_policies_of_both_ends() {
    let (lab, other) = (Lab::new(), Lab::new());
    let member = |serial| Some(lab.member(serial, |_| {}));
    use Policy::{Off, Prefer, Require};
    for (sending, receiving, over_tcp, is_found) in [
        ((Require, member(1)), (Require, member(2)), false, true),
        ((Require, member(1)), (Prefer, member(2)), false, true),
        ((Prefer, member(1)), (Require, member(2)), false, true),
        ((Prefer, member(1)), (Off, None), false, true),
        ((Off, None), (Prefer, member(2)), false, true),
        ((Off, None), (Require, member(2)), false, false),
        ((Require, member(1)), (Off, None), false, false),
        ((Require, member(1)), (Require, Some(other.member(2, |_| {}))), false, false),
        ((Require, member(1)), (Require, member(2)), true, true),
        ((Require, member(1)), (Prefer, member(2)), true, true),
        ((Prefer, member(1)), (Off, None), true, true),
        ((Off, None), (Prefer, member(2)), true, true),
        ((Off, None), (Require, member(2)), true, false),
        ((Require, member(1)), (Off, None), true, false),
    ] {
        let case = format!("{:?} to {:?}, TCP {over_tcp}", sending.0, receiving.0);
        let network = network();
        let outlet = outlet(&context(&network, sending.0, sending.1)).expect("an outlet");
        // Over TCP alone: queries by datagram go to an address without a listener.
        let searching = match over_tcp {
            true => network
                .replace("[multicast]", "[multicast]\nMachineAddresses={}\nAddressesOverride={127.0.0.99}")
                .replace("[lab]", "[lab]\nResolveOverTCP=1"),
            false => network,
        };
        let receiving = context(&searching, receiving.0, receiving.1);
        let found = find(&receiving, if is_found { LONG } else { SHORT });
        assert_eq!(
            found.iter().map(StreamInfo::uid).collect::<Vec<_>>(),
            match is_found {
                true => vec![outlet.info().uid()],
                false => Vec::new(),
            },
            "{case}"
        );
    }
}

/// What a stream's own policy makes of a computer's.
#[test]
fn a_stream_may_have_a_policy_of_its_own_and_nothing_else_follows_it() {
    let lab = Lab::new();
    let member = || Some(lab.member(1, |_| {}));
    use Policy::{Off, Require};
    let of_name = |streams: &'static str| (streams, None);
    let of_description = |word: &'static str| ("", Some(word));
    let plain = || (Off, None);
    for (sender, own, receiver, receives) in [
        ((Require, member()), of_name("Sealed=off"), (plain(), ""), true),
        ((Require, member()), of_name("Other=off"), (plain(), ""), false),
        (plain(), of_name(""), ((Require, member()), "Sealed=off"), true),
        (plain(), of_name(""), ((Require, member()), "Other=off"), false),
        ((Off, member()), of_name("Sealed=require"), (plain(), ""), false),
        ((Off, member()), of_name("Sealed=require"), ((Require, member()), ""), true),
        ((Off, member()), of_name("Sealed=nonsense"), (plain(), ""), false),
        ((Off, member()), of_description("require"), (plain(), ""), false),
        ((Off, member()), of_description("require"), ((Require, member()), ""), true),
        // The description may not open up what the computer keeps shut.
        ((Require, member()), of_description("off"), (plain(), ""), false),
    ] {
        let case = format!("{:?} {own:?}, {:?} {:?}", sender.0, receiver.0.0, receiver.1);
        let network = network();
        let with = |(policy, member): (Policy, Option<Member>), streams: &str| {
            let trust = Trust::new(policy, member).with_streams(StreamPolicies::parse(streams));
            Arc::new(Context::with_trust(Config::parse(&network).expect("valid"), trust))
        };
        let sending = with(sender, own.0);
        let mut info = description();
        if let Some(word) = own.1 {
            let desc = info.desc().expect("a desc");
            let document = info.document_mut();
            let security = document.append_child(desc, "security").expect("a child");
            document.append_text(security, word).expect("a text");
        }
        let outlet = Outlet::in_context(&info, &OutletOptions::default(), sending).expect("an outlet");
        let receiving = with(receiver.0, receiver.1);
        let found = find(&receiving, if receives { LONG } else { SHORT });
        assert_eq!(found.len(), usize::from(receives), "{case}");
        // A program that knows the address gets nothing either.
        let inlet = inlet_of(&description_of(&outlet), &receiving, Recover::BySourceId).expect("an inlet");
        assert_eq!(inlet.open_stream(if receives { LONG } else { SHORT }).is_ok(), receives, "{case}");
    }
}

#[test]
fn an_admitted_stream_comes_in_the_clear_and_no_other() {
    let (lab, network) = (Lab::new(), network());
    let plain = outlet(&context(&network, Policy::Off, None)).expect("an outlet");
    let receiving = |condition: &str| {
        let trust = Trust::new(Policy::Require, Some(lab.member(1, |_| {})));
        let trust = trust.with_admitted(Admitted::parse(condition).expect("valid"));
        Arc::new(Context::with_trust(Config::parse(&network).expect("valid"), trust))
    };
    let host = plain.info().hostname().to_string();
    for (condition, is_admitted) in [
        (String::from("name='Sealed' and source_id='sealed'"), true),
        (format!("name='Other' or hostname='{host}'"), true),
        (format!("name='Sealed' and hostname='not-{host}'"), false),
        (String::from("source_id='another'"), false),
        (String::new(), false),
    ] {
        let receiving = receiving(&condition);
        let found = find(&receiving, if is_admitted { LONG } else { SHORT });
        assert_eq!(found.len(), usize::from(is_admitted), "{condition}");
        let known = inlet_of(&description_of(&plain), &receiving, Recover::No).expect("an inlet");
        assert_eq!(
            known.open_stream(if is_admitted { LONG } else { SHORT }).is_ok(),
            is_admitted,
            "{condition}"
        );
        if is_admitted {
            assert_eq!(known.protection(), Some(Protection::Plain));
        }
    }
}

#[test]
fn what_is_admitted_opens_no_stream_of_this_computer() {
    let (lab, network) = (Lab::new(), network());
    let trust = Trust::new(Policy::Require, Some(lab.member(1, |_| {})));
    let trust = trust.with_admitted(Admitted::parse("name='Sealed'").expect("valid"));
    let sending = Arc::new(Context::with_trust(Config::parse(&network).expect("valid"), trust));
    let outlet = outlet(&sending).expect("an outlet");
    let plain = context(&network, Policy::Off, None);
    assert!(find(&plain, SHORT).is_empty());
    let known = inlet_of(&description_of(&outlet), &plain, Recover::BySourceId).expect("an inlet");
    assert!(known.open_stream(SHORT).is_err());
}
