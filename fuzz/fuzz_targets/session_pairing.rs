//! A pairing whose peer sends anything: no message is taken but a right one.
#![no_main]

#[path = "../../session/tests/common/mod.rs"]
mod common;

use common::{NOW, Seeded};
use libfuzzer_sys::fuzz_target;
use schwann_session::{
    DeviceKey, DeviceName, envelope,
    pairing::{Invitation, Joining, MESSAGE_4_HEAD, TRIES, Words},
};

fuzz_target!(|bytes: &[u8]| {
    let mut entropy = Seeded(NOW.0);
    let words = || Words::new("abandon ability able about above absent");
    let key = DeviceKey::from_seed(&[7; 32]);
    let Some(name) = DeviceName::new("device") else { return };
    let mut invitation = Invitation::new(words());
    let Ok((joining, first)) = Joining::begin(&words(), &mut entropy) else { return };
    // The first byte chooses which message the peer makes up.
    let Some((which, bytes)) = bytes.split_first() else { return };
    match which % 5 {
        0 => {
            if let Some(message) = bytes.first_chunk() {
                let _ = invitation.answer(message, &mut entropy);
            }
        }
        1 => {
            let Ok((answered, _)) = invitation.answer(&first, &mut entropy) else { return };
            if let Some(message) = bytes.first_chunk() {
                assert!(invitation.judge(answered, message).is_err());
                assert_eq!(invitation.tries_left(), TRIES - 1);
            }
        }
        2 => {
            if let Some(message) = bytes.first_chunk() {
                let _ = joining.prove(message, &key, &name);
            }
        }
        3 => {
            let Ok((_, second)) = invitation.answer(&first, &mut entropy) else { return };
            let Ok((awaiting, _)) = joining.prove(&second, &key, &name) else { return };
            if let Some((head, sealed)) = bytes.split_first_chunk::<MESSAGE_4_HEAD>() {
                assert!(awaiting.open(head, sealed).is_err());
            }
        }
        _ => assert!(envelope::open(&key, bytes).is_none()),
    }
});
