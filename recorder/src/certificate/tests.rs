//! Certificates: what is whole is proven, and nothing else is.

use std::env;
use std::io::Cursor;

use schwann::security::{Lab, Member};
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList, Roles, Statement,
    SystemEntropy, UnixSeconds,
};
use schwann_xdf::{Ledger, Proof};

use super::*;

/// A lab with one device.
fn lab() -> (Lab, Member) {
    let authority = AuthorityKey::generate(&mut SystemEntropy).expect("randomness");
    let device = DeviceKey::generate(&mut SystemEntropy).expect("randomness");
    let certificate = authority.certify(Statement {
        device: device.public(),
        flags: Flags::default(),
        lab: LabId([0; 16]),
        name: DeviceName::new("amp-pc").expect("a name"),
        not_after: UnixSeconds(2_000_000_000),
        not_before: UnixSeconds(1_000_000_000),
        roles: Roles::BOTH,
        serial: 7,
    });
    let credentials = Credentials::new(device, certificate, &mut SystemEntropy).expect("its own key");
    let list = RevocationList::sign(&authority, 1, UnixSeconds(1), &[1; 32], &[]).expect("a list");
    (authority.lab(), Member::new(authority.lab(), credentials, list, &[1; 32]))
}

/// A file with pieces as a recorder makes them, and its hashes.
fn file() -> (Vec<u8>, Proof) {
    let path = env::temp_dir().join(format!(
        "schwann-certificate-{}-{:?}.xdf",
        std::process::id(),
        std::thread::current().id()
    ));
    let mut options = schwann_xdf::Options::default();
    options.boundary_every = core::time::Duration::ZERO;
    options.flush_every = core::time::Duration::from_millis(1);
    let writer = schwann_xdf::Writer::create(&path, options).expect("a file");
    let xml = "<info><channel_count>1</channel_count><nominal_srate>100</nominal_srate>\
               <channel_format>int16</channel_format></info>";
    let stream = writer.add_stream(xml).expect("a stream");
    for n in 0..20_i16 {
        stream.push(&[f64::from(n)], &[n]).expect("room");
        while writer.health().backlog_bytes > 0 {
            std::thread::yield_now();
        }
    }
    drop(stream);
    let proof = writer.finish().expect("a disk").proof;
    let bytes = fs::read(&path).expect("a file");
    fs::remove_file(path).expect("it is there");
    assert!(proof.pieces.len() > 10, "{}", proof.pieces.len());
    (bytes, proof)
}

fn facts(proof: &Proof, end: u64) -> Facts {
    let mut events = Events::default();
    ["start", "came: EEG (stream 1)", "stop"].into_iter().for_each(|what| events.note(what));
    Facts {
        name: "x.xdf".to_owned(),
        proof: proof.clone(),
        wall_clock: [end - 60, end],
        events: events.list(),
        ..Facts::default()
    }
}

const END: u64 = 1_800_000_000;

#[test]
fn a_signed_certificate_proves_its_recording_and_names_who_signed() {
    let ((ours, member), (bytes, proof)) = (lab(), file());
    let text = Certificate::encode(&facts(&proof, END).statement(Some(&member)), Some(&member));
    let read = Certificate::parse(&text, Some(&ours)).expect("a certificate");
    let signer = read.signer.as_ref().expect("it is signed");
    assert_eq!((signer.name.as_str(), signer.serial, signer.standing), ("amp-pc", 7, LabStanding::Ours));
    assert_eq!(compare(Cursor::new(&bytes), &read.proof, |_| {}).expect("memory"), Standing::Whole);
    assert_eq!(
        Certificate::parse(&text, None).expect("a certificate").signer.map(|it| it.standing),
        Some(LabStanding::NotKnown)
    );
    let another = Certificate::parse(&text, Some(&lab().0)).expect("a certificate");
    assert_eq!(another.signer.map(|it| it.standing), Some(LabStanding::Another));
}

#[test]
fn an_unsigned_certificate_says_so() {
    let (_, proof) = file();
    let text = Certificate::encode(&facts(&proof, END).statement(None), None);
    assert!(Certificate::parse(&text, None).expect("a certificate").signer.is_none());
}

#[test]
fn a_certificate_outside_of_the_time_of_its_signer_is_none() {
    let ((_, member), (_, proof)) = (lab(), file());
    let text = Certificate::encode(&facts(&proof, 2_100_000_000).statement(None), Some(&member));
    assert_eq!(Certificate::parse(&text, None).err(), Some(CertificateError::NotCertified));
}

#[test]
fn an_endorsement_is_of_its_recording_alone() {
    let ((ours, member), (_, proof)) = (lab(), file());
    let one = Certificate::encode(&facts(&proof, END).statement(None), Some(&member));
    let read = |text: &[u8]| Certificate::parse(text, Some(&ours));
    let endorsed = read(&one).expect("a certificate").endorsed("M. Curie", "reviewed", END + 9, &member);
    let said = read(&endorsed).expect("a certificate").endorsements;
    assert_eq!(
        (said[0].name.as_str(), said[0].meaning.as_str(), said[0].time),
        ("M. Curie", "reviewed", END + 9)
    );
    // The endorsement of one is put under another.
    let other = Certificate::encode(&facts(&proof, END + 1).statement(None), Some(&member));
    let (mut one, other): (serde_json::Value, serde_json::Value) =
        (serde_json::from_slice(&endorsed).expect("JSON"), serde_json::from_slice(&other).expect("JSON"));
    one["payload"] = other["payload"].clone();
    one["signatures"] = other["signatures"].clone();
    assert!(read(serde_json::to_string_pretty(&one).expect("JSON").as_bytes()).is_err());
}

#[test]
fn an_event_that_is_changed_or_left_out_breaks_the_chain() {
    let mut events = Events::default();
    ["start", "lost", "stop"].into_iter().for_each(|what| events.note(what));
    let whole = serde_json::Value::from(events.list());
    assert!(events::is_chained(&whole));
    let mut changed = whole.clone();
    changed[1]["what"] = "nothing".into();
    let mut without = whole.clone();
    without.as_array_mut().expect("a list").remove(1);
    assert!(!events::is_chained(&changed) && !events::is_chained(&without));
}

#[test]
fn what_is_cut_off_or_an_excerpt_is_proven_as_far_as_it_goes() {
    let (bytes, proof) = file();
    let places: Vec<u64> =
        proof.pieces.iter().scan(0, |at, piece| Some(core::mem::replace(at, *at + piece.bytes))).collect();
    let standing = |file: &[u8]| compare(Cursor::new(file), &proof, |_| {}).expect("memory");
    assert_eq!(standing(&bytes[..places[5] as usize + 3]), Standing::CutOff { proven: places[5] });
    let part = &bytes[places[4] as usize..places[9] as usize];
    let Standing::Parts { proven, changed } = standing(part) else { panic!("an excerpt") };
    assert_eq!(proven.iter().map(|(from, to)| to - from).sum::<u64>(), part.len() as u64);
    assert_eq!(changed, []);
    let mut flipped = bytes.clone();
    flipped[places[7] as usize + 2] ^= 4;
    let Standing::Parts { proven, changed } = standing(&flipped) else { panic!("changed") };
    assert_eq!(changed, [(places[7], places[8])]);
    assert_eq!(proven.len(), proof.pieces.len() - 1);
}

/// A number that looks random.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// `CERTIFICATE_MUTATIONS=100000` runs the long form.
#[test]
fn nothing_forged_or_damaged_is_accepted() {
    let ((ours, member), (bytes, proof)) = (lab(), file());
    let signed = Certificate::encode(&facts(&proof, END).statement(Some(&member)), Some(&member));
    let (_, stranger) = lab();
    let forged = Certificate::encode(&facts(&proof, END).statement(None), Some(&stranger));
    let rounds = env::var("CERTIFICATE_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(3_000);
    let accepts = |certificate: &[u8], file: &[u8]| {
        let read = Certificate::parse(certificate, Some(&ours));
        read.is_ok_and(|read| {
            let is_ours = read.signer.as_ref().is_some_and(|signer| signer.standing == LabStanding::Ours);
            is_ours && compare(Cursor::new(file), &read.proof, |_| {}).expect("memory") == Standing::Whole
        })
    };
    assert!(accepts(&signed, &bytes) && !accepts(&forged, &bytes), "a stranger's is not ours");
    let mut state = 1;
    for round in 0..rounds {
        let (mut certificate, mut file) = (signed.clone(), bytes.clone());
        let target = if round % 3 == 0 { &mut file } else { &mut certificate };
        let at = next(&mut state) % target.len();
        match round % 7 {
            0 | 1 => target[at] ^= 1 << (next(&mut state) % 8),
            2 => drop(target.remove(at)),
            3 => target.truncate(at),
            4 => target.insert(at, next(&mut state) as u8),
            5 => {
                let other = next(&mut state) % target.len();
                if target[at] == target[other] {
                    target[at] = target[at].wrapping_add(1);
                }
                target.swap(at, other);
            }
            // A part of a stranger's certificate, or of another place.
            _ => {
                let from = next(&mut state) % forged.len();
                let len = 1 + next(&mut state) % 80;
                let part: Vec<u8> = forged.iter().copied().skip(from).take(len).collect();
                target.splice(at..(at + part.len()).min(target.len()), part);
            }
        }
        let is_same = certificate == signed && file == bytes;
        assert!(is_same || !accepts(&certificate, &file), "round {round}: at {at}");
    }
}

#[test]
fn a_ledger_hashes_what_a_file_holds() {
    let (bytes, proof) = file();
    let mut ledger = Ledger::default();
    ledger.take_in(&bytes);
    assert_eq!(ledger.finish().sha256, proof.sha256);
}
