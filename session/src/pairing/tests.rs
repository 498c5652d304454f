use std::{string::String, vec::Vec};

use super::*;
use crate::{NoEntropy, SystemEntropy};

const WORDS: &str = "abandon ability able about above absent";

fn device() -> (DeviceKey, DeviceName) {
    (DeviceKey::generate(&mut SystemEntropy).unwrap(), DeviceName::new("EEG room").unwrap())
}

fn begin(words: &str) -> (Joining, [u8; MESSAGE_1]) {
    Joining::begin(&Words::new(words), &mut SystemEntropy).unwrap()
}

/// Goes on to message 3.
fn ask(invitation: &Invitation, words: &str) -> (Answered, Awaiting, [u8; MESSAGE_3]) {
    let (joining, first) = begin(words);
    let (answered, second) = invitation.answer(&first, &mut SystemEntropy).unwrap();
    let (key, name) = device();
    let (awaiting, third) = joining.prove(&second, &key, &name).unwrap();
    (answered, awaiting, third)
}

fn head_of(message: &[u8]) -> (&[u8; MESSAGE_4_HEAD], &[u8]) {
    message.split_first_chunk().unwrap()
}

#[test]
fn a_device_that_knows_the_words_gets_what_the_lab_sends() {
    let mut invitation = Invitation::new(Words::new(WORDS));
    let (joining, first) = begin(WORDS);
    let (answered, second) = invitation.answer(&first, &mut SystemEntropy).unwrap();
    let (key, name) = device();
    let (awaiting, third) = joining.prove(&second, &key, &name).unwrap();
    let candidate = invitation.judge(answered, &third).ok().unwrap();
    assert_eq!((candidate.device, candidate.name), (key.public(), name));
    assert_eq!(candidate.screen(), awaiting.screen());
    assert!(candidate.screen().0.iter().all(|number| *number < 2048));
    let fourth = candidate.admit(b"membership").unwrap();
    assert_eq!(refused(fourth[0]), None);
    let (head, sealed) = head_of(&fourth);
    assert_eq!(awaiting.open(head, sealed).unwrap().as_slice(), b"membership");
}

#[test]
fn words_open_nothing_a_second_time() {
    let mut invitation = Invitation::new(Words::new(WORDS));
    let (answered, _, third) = ask(&invitation, WORDS);
    let (later, _, third_later) = ask(&invitation, WORDS);
    assert!(invitation.judge(answered, &third).is_ok());
    assert_eq!(invitation.judge(later, &third_later).err(), Some(PairingError::Ended));
    assert_eq!(invitation.answer(&begin(WORDS).1, &mut SystemEntropy).err(), Some(PairingError::Ended));
}

#[test]
fn of_ten_thousand_guesses_three_are_judged() {
    let mut invitation = Invitation::new(Words::new(WORDS));
    let mut outcomes = Vec::new();
    for guess in 0..10_000_u32 {
        let words = std::format!("guess {guess}");
        let (joining, first) = begin(&words);
        let outcome = match invitation.answer(&first, &mut SystemEntropy) {
            Err(error) => error,
            Ok((answered, second)) => {
                let (key, name) = device();
                let (_, third) = joining.prove(&second, &key, &name).unwrap();
                invitation.judge(answered, &third).err().unwrap()
            }
        };
        outcomes.push(outcome);
    }
    let of = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!((of(PairingError::WrongWords), of(PairingError::Ended)), (3, 9_997));
}

#[test]
fn guesses_side_by_side_count_like_guesses_one_after_another() {
    let mut invitation = Invitation::new(Words::new(WORDS));
    let begun: Vec<_> = (0..8).map(|guess| ask(&invitation, &std::format!("guess {guess}"))).collect();
    let outcomes: Vec<_> = begun
        .into_iter()
        .map(|(answered, _, third)| invitation.judge(answered, &third).err().unwrap())
        .collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == PairingError::WrongWords).count(), 3);
    // And the right words come too late.
    assert_eq!(invitation.answer(&begin(WORDS).1, &mut SystemEntropy).err(), Some(PairingError::Ended));
}

#[test]
fn a_conversation_without_a_proof_tells_nothing_and_costs_no_try() {
    let mut invitation = Invitation::new(Words::new(WORDS));
    for _ in 0..50 {
        drop(invitation.answer(&begin("guess").1, &mut SystemEntropy).unwrap());
    }
    assert_eq!(invitation.tries_left(), TRIES);
    let (answered, _, third) = ask(&invitation, WORDS);
    assert!(invitation.judge(answered, &third).is_ok());
}

#[test]
fn a_recorded_conversation_does_not_work_again() {
    let mut first_day = Invitation::new(Words::new(WORDS));
    let (joining, first) = begin(WORDS);
    let (answered, second) = first_day.answer(&first, &mut SystemEntropy).unwrap();
    let (key, name) = device();
    let (_, third) = joining.prove(&second, &key, &name).unwrap();
    assert!(first_day.judge(answered, &third).is_ok());
    // The same words once more, and everything that the device sent before.
    let mut next_day = Invitation::new(Words::new(WORDS));
    let (answered, _) = next_day.answer(&first, &mut SystemEntropy).unwrap();
    assert_eq!(next_day.judge(answered, &third).err(), Some(PairingError::WrongWords));
}

#[test]
fn a_stranger_in_the_lab_machines_place_learns_nothing_and_gives_nothing() {
    let mut strangers = Invitation::new(Words::new("another six words"));
    let (answered, awaiting, third) = ask(&strangers, WORDS);
    assert_eq!(strangers.judge(answered, &third).err(), Some(PairingError::WrongWords));
    // It goes on as if the words were right.
    let head: [u8; MESSAGE_4_HEAD] = concat(&[&[ADMITTED], &[7; PROOF], &9_u32.to_le_bytes()]);
    assert_eq!(awaiting.head(&head), Err(PairingError::WrongWords));
}

#[test]
fn a_third_party_between_the_two_cannot_pass_messages_on_with_changes() {
    for (message, offset) in [(1, 4), (1, 40), (1, 1000), (2, 3), (2, 31), (2, 500)] {
        let mut invitation = Invitation::new(Words::new(WORDS));
        let (joining, mut first) = begin(WORDS);
        if message == 1 {
            first[offset] ^= 1;
        }
        let Ok((answered, mut second)) = invitation.answer(&first, &mut SystemEntropy) else { continue };
        if message == 2 {
            second[offset] ^= 1;
        }
        let (key, name) = device();
        let Ok((_, third)) = joining.prove(&second, &key, &name) else { continue };
        assert_eq!(
            invitation.judge(answered, &third).err(),
            Some(PairingError::WrongWords),
            "{message} {offset}"
        );
    }
}

#[test]
fn both_screens_differ_if_a_third_party_knows_the_words() {
    let mut labs = Invitation::new(Words::new(WORDS));
    let mut theirs = Invitation::new(Words::new(WORDS));
    let (answered, device_side, third) = ask(&theirs, WORDS);
    assert!(theirs.judge(answered, &third).is_ok());
    let (answered, _, third) = ask(&labs, WORDS);
    let lab_side = labs.judge(answered, &third).ok().unwrap();
    assert_ne!(device_side.screen(), lab_side.screen());
}

#[test]
fn every_changed_byte_of_the_last_two_messages_is_refused() {
    for offset in 0..MESSAGE_3 {
        let mut invitation = Invitation::new(Words::new(WORDS));
        let (answered, _, mut third) = ask(&invitation, WORDS);
        third[offset] ^= 0x20;
        assert!(invitation.judge(answered, &third).is_err(), "message 3, byte {offset}");
    }
    let mut invitation = Invitation::new(Words::new(WORDS));
    let (answered, awaiting, third) = ask(&invitation, WORDS);
    let fourth = invitation.judge(answered, &third).ok().unwrap().admit(b"membership").unwrap();
    for offset in 0..MESSAGE_4_HEAD {
        let mut changed = fourth.clone();
        changed[offset] ^= 0x20;
        let (head, sealed) = head_of(&changed);
        assert!(awaiting.head(head).is_err() || awaiting.head(head) != Ok(sealed.len()), "byte {offset}");
    }
    let mut changed = fourth.clone();
    *changed.last_mut().unwrap() ^= 1;
    let (head, sealed) = head_of(&changed);
    assert_eq!(awaiting.open(head, sealed).err(), Some(PairingError::Malformed));
}

#[test]
fn a_broken_generator_ends_it() {
    struct Broken;
    impl Entropy for Broken {
        fn fill(&mut self, _: &mut [u8]) -> Result<(), NoEntropy> {
            Err(NoEntropy)
        }
    }
    let begun = Joining::begin(&Words::new(WORDS), &mut Broken);
    assert_eq!(begun.err(), Some(PairingError::NoEntropy));
    let invitation = Invitation::new(Words::new(WORDS));
    assert_eq!(invitation.answer(&begin(WORDS).1, &mut Broken).err(), Some(PairingError::NoEntropy));
}

#[test]
fn a_refusal_says_why() {
    for error in [PairingError::Declined, PairingError::Ended, PairingError::WrongWords] {
        assert_eq!(refused(refusal(error)[0]), Some(error));
        assert!(!String::from_iter(std::format!("{error}").chars()).is_empty());
    }
}
