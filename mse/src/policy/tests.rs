use super::*;

fn at(stage: Stage, short_secret: bool) -> Progress {
    Progress { stage, received: 0, short_secret, group: Group::Mse768 }
}

const SILENT: Progress =
    Progress { stage: Stage::Key, received: 0, short_secret: false, group: Group::Mse768 };

#[test]
fn each_policy_dials_as_the_table_says() {
    let closed = Failure::mse(Cause::Closed, SILENT);
    let dropped = Failure::plain(Cause::Closed);
    for (policy, remembered, expected) in [
        (Policy::Disabled, None, vec![Attempt::Plain]),
        (Policy::Disabled, Some(Attempt::Mse), vec![Attempt::Plain]),
        (Policy::Allowed, None, vec![Attempt::Plain, Attempt::Mse]),
        (Policy::Allowed, Some(Attempt::Mse), vec![Attempt::Mse, Attempt::Plain]),
        (Policy::Preferred, None, vec![Attempt::Mse, Attempt::Plain]),
        (Policy::Preferred, Some(Attempt::Plain), vec![Attempt::Plain, Attempt::Mse]),
        (Policy::Required, None, vec![Attempt::Mse]),
        (Policy::Required, Some(Attempt::Plain), vec![Attempt::Mse]),
    ] {
        let mut attempts = Vec::new();
        let mut next = Some(Dialling::new(policy, remembered));
        while let Some(dialling) = next {
            attempts.push(dialling.attempt());
            let failure = match dialling.attempt() {
                Attempt::Mse | Attempt::MseAnyPayload => closed,
                Attempt::Plain => dropped,
            };
            next = dialling.after(&failure);
        }
        assert_eq!(attempts, expected, "{policy:?} {remembered:?}");
    }
}

#[test]
fn nobody_goes_plain_after_the_peer_has_shown_a_key() {
    let dialling = Dialling::new(Policy::Preferred, None);
    for stage in [Stage::Mark, Stage::Fields, Stage::Finished] {
        for cause in [Cause::TimedOut, Cause::Handshake(HandshakeError::NoSynchronisation)] {
            assert_eq!(dialling.after(&Failure::mse(cause, at(stage, false))), None);
        }
    }
    let plain = dialling.after(&Failure::mse(Cause::PlainPeer, SILENT)).expect("plain is open");
    assert_eq!(plain.attempt(), Attempt::Plain);
}

#[test]
fn a_peer_that_leaves_at_the_offer_of_rc4_is_asked_once_more_with_the_payload_left_to_it() {
    for cause in [Cause::Closed, Cause::Handshake(HandshakeError::MethodNotOffered { selected: 1 })] {
        let refused = Failure::mse(cause, at(Stage::Mark, false));
        for policy in [Policy::Preferred, Policy::Allowed] {
            let next = Dialling::new(policy, Some(Attempt::Mse)).after(&refused).expect("once more");
            assert_eq!(next.attempt(), Attempt::MseAnyPayload);
            assert_eq!(next.after(&refused), None);
        }
        assert_eq!(Dialling::new(Policy::Required, None).after(&refused), None);
    }
    // What worked before may have changed.
    let remembered = Dialling::new(Policy::Preferred, Some(Attempt::MseAnyPayload));
    assert_eq!(remembered.attempt(), Attempt::MseAnyPayload);
    let plain = remembered.after(&Failure::mse(Cause::Closed, SILENT)).expect("plain is open");
    assert_eq!(plain.attempt(), Attempt::Plain);
    assert_eq!(Dialling::new(Policy::Required, Some(Attempt::MseAnyPayload)).attempt(), Attempt::Mse);
}

#[test]
fn a_short_secret_is_tried_again_once_with_a_fresh_key_before_anything_else() {
    let unlucky = Failure::mse(Cause::Closed, at(Stage::Mark, true));
    for (policy, last) in [(Policy::Preferred, Some(Attempt::MseAnyPayload)), (Policy::Required, None)] {
        let again = Dialling::new(policy, None).after(&unlucky).expect("once more");
        assert_eq!(again.attempt(), Attempt::Mse);
        assert_eq!(again.after(&unlucky).map(|next| next.attempt()), last);
    }
}

#[test]
fn required_accepts_no_plaintext_and_offers_none() {
    let handshake = BtHandshake { reserved: [0; 8], info_hash: crate::InfoHash([0; 20]), peer_id: [0; 20] };
    assert_eq!(Policy::Required.accept().methods, Methods::RC4);
    assert!(!Policy::Required.accepts(Attempt::Plain));
    assert!(!Policy::Disabled.accepts(Attempt::Mse));
    assert!(Policy::Allowed.accepts(Attempt::Plain) && Policy::Preferred.accepts(Attempt::Mse));
    for policy in [Policy::Allowed, Policy::Preferred, Policy::Required] {
        let offer = policy.offer(&handshake);
        assert_eq!(offer.methods, Methods::RC4);
        assert_eq!(offer.initial_payload, handshake.encode());
    }
}

#[test]
fn a_different_group_is_named_as_the_likely_cause() {
    let progress =
        |stage, received| Progress { stage, received, short_secret: false, group: Group::Oakley1024 };
    let no_mark = Cause::Handshake(HandshakeError::NoSynchronisation);
    for failure in [
        Failure::mse(Cause::TimedOut, progress(Stage::Key, 100)),
        Failure::mse(Cause::Closed, progress(Stage::Mark, 300)),
        Failure::mse(Cause::Closed, progress(Stage::Key, 0)),
        Failure::mse(no_mark, progress(Stage::Finished, 660)),
    ] {
        assert!(failure.suggests_another_group(), "{failure:?}");
        assert!(alloc::format!("{failure}").contains("1,024-bit group"));
    }
    assert!(!Failure::mse(Cause::TimedOut, progress(Stage::Key, 0)).suggests_another_group());
    assert!(!Failure::mse(Cause::Closed, at(Stage::Mark, false)).suggests_another_group());
}

#[test]
fn memory_of_peers_is_bounded_and_forgets_the_oldest() {
    let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let mut memory = PeerMemory::new(2);
    for port in 1..=3 {
        memory.note(peer(port), Attempt::Plain);
    }
    memory.note(peer(3), Attempt::Mse);
    assert_eq!(memory.recall(&peer(1)), None);
    assert_eq!(memory.recall(&peer(2)), Some(Attempt::Plain));
    assert_eq!(memory.recall(&peer(3)), Some(Attempt::Mse));
    let mut none = PeerMemory::new(0);
    none.note(peer(1), Attempt::Mse);
    assert_eq!(none.recall(&peer(1)), None);
}
