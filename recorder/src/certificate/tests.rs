//! Certificates: what is whole is proven, and nothing else is.

use core::ops::Range;
use std::env;
use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schwann::security::Member;
use schwann_session::{
    AuthorityKey, Credentials, DeviceKey, DeviceName, Flags, LabId, RevocationList, Roles, Statement,
    SystemEntropy, UnixSeconds,
};
use schwann_xdf::{Ledger, Proof};

use super::*;

/// A lab with one device.
fn lab() -> (AuthorityKey, Member) {
    let authority = AuthorityKey::generate(&mut SystemEntropy).expect("randomness");
    let member = member(&authority, 7, &[]);
    (authority, member)
}

/// A member of that lab, which knows that these certificates are revoked.
fn member(authority: &AuthorityKey, serial: u64, revoked: &[u64]) -> Member {
    let device = DeviceKey::generate(&mut SystemEntropy).expect("randomness");
    let certificate = authority.certify(Statement {
        device: device.public(),
        flags: Flags::default(),
        lab: LabId([0; 16]),
        name: DeviceName::new("amp-pc").expect("a name"),
        not_after: UnixSeconds(2_000_000_000),
        not_before: UnixSeconds(1_000_000_000),
        roles: Roles::BOTH,
        serial,
    });
    let credentials = Credentials::new(device, certificate, &mut SystemEntropy).expect("its own key");
    let list = RevocationList::sign(authority, 1, UnixSeconds(1), &[1; 32], revoked).expect("a list");
    Member::new(authority.lab(), credentials, list, &[1; 32])
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
    let ((authority, member), (bytes, proof)) = (lab(), file());
    let text = Certificate::encode(&facts(&proof, END).statement(Some(&member)), Some(&member));
    let read = Certificate::parse(&text, Some(&member)).expect("a certificate");
    let signer = read.signer.as_ref().expect("it is signed");
    assert_eq!((signer.name.as_str(), signer.serial, signer.standing), ("amp-pc", 7, LabStanding::Ours));
    assert_eq!(compare(Cursor::new(&bytes), &read.proof, |_| {}).expect("memory"), Standing::Whole);
    assert_eq!(
        Certificate::parse(&text, None).expect("a certificate").signer.map(|it| it.standing),
        Some(LabStanding::NotKnown)
    );
    let another = Certificate::parse(&text, Some(&lab().1)).expect("a certificate");
    assert_eq!(another.signer.map(|it| it.standing), Some(LabStanding::Another));
    let later = Certificate::parse(&text, Some(&self::member(&authority, 8, &[7]))).expect("a certificate");
    assert_eq!(later.signer.map(|it| it.standing), Some(LabStanding::Revoked));
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
    let ((_, member), (_, proof)) = (lab(), file());
    let one = Certificate::encode(&facts(&proof, END).statement(None), Some(&member));
    let read = |text: &[u8]| Certificate::parse(text, Some(&member));
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

/// Where the values are in the text of a certificate; two of the same kind have them in the same order.
fn values(certificate: &[u8]) -> Vec<Range<usize>> {
    let text = str::from_utf8(certificate).expect("text");
    let begins = text.match_indices("\": \"").map(|(at, found)| at + found.len());
    begins.map(|at| at..at + text[at..].find('"').expect("its end")).collect()
}

/// A certificate in the one right form, with some values of another one.
fn mixed(certificate: &[u8], other: &[u8], state: &mut u64) -> Vec<u8> {
    let mut out = certificate.to_vec();
    for _ in 0..=next(state) % 4 {
        let (mine, theirs) = (values(&out), values(other));
        let place = next(state) % mine.len();
        out.splice(mine[place].clone(), other[theirs[place].clone()].iter().copied());
    }
    out
}

/// A certificate in the one right form, in whose statement or endorsement a letter or digit is another one.
fn restated(certificate: &[u8], state: &mut u64) -> Vec<u8> {
    let decoded = |place: Range<usize>| Some((place.clone(), STANDARD.decode(&certificate[place]).ok()?));
    // What is signed is JSON; signatures and keys are not.
    let said =
        values(certificate).into_iter().filter_map(decoded).filter(|(_, said)| said.first() == Some(&b'{'));
    let mut said: Vec<_> = said.collect();
    let (place, mut said) = said.swap_remove(next(state) % said.len());
    let letters: Vec<_> = (0..said.len()).filter(|at| said[*at].is_ascii_alphanumeric()).collect();
    let letter = &mut said[letters[next(state) % letters.len()]];
    *letter = if letter.is_ascii_digit() { b'0' + (*letter - b'0' + 1) % 10 } else { *letter ^ 0x20 };
    let mut out = certificate.to_vec();
    out.splice(place, STANDARD.encode(said).bytes());
    out
}

/// Bytes changed by chance; of `other` where parts are put in.
fn damaged(bytes: &[u8], other: &[u8], kind: usize, state: &mut u64) -> Vec<u8> {
    let mut target = bytes.to_vec();
    let at = next(state) % target.len();
    match kind {
        0 | 1 => target[at] ^= 1 << (next(state) % 8),
        2 => drop(target.remove(at)),
        3 => target.truncate(at),
        4 => target.insert(at, next(state) as u8),
        5 => {
            let swapped = next(state) % target.len();
            if target[at] == target[swapped] {
                target[at] = target[at].wrapping_add(1);
            }
            target.swap(at, swapped);
        }
        _ => {
            let from = next(state) % other.len();
            let len = 1 + next(state) % 80;
            let part: Vec<u8> = other.iter().copied().skip(from).take(len).collect();
            target.splice(at..(at + part.len()).min(target.len()), part);
        }
    }
    target
}

/// A certificate that is signed, and endorsed by a person.
fn certificate_of(proof: &Proof, end: u64, member: &Member) -> Vec<u8> {
    let signed = Certificate::encode(&facts(proof, end).statement(Some(member)), Some(member));
    Certificate::parse(&signed, None).expect("a certificate").endorsed(
        "M. Curie",
        "reviewed",
        end + 9,
        member,
    )
}

/// `CERTIFICATE_MUTATIONS=100000` runs the long form.
#[test]
fn nothing_forged_or_damaged_is_accepted() {
    let ((_, member), (bytes, proof)) = (lab(), file());
    let signed = certificate_of(&proof, END, &member);
    let stranger = certificate_of(&proof, END, &lab().1);
    let other = Proof::of(&bytes[..bytes.len() - 9], [], |_| {}).expect("memory");
    let other = certificate_of(&other, END + 1, &member);
    let rounds =
        env::var("CERTIFICATE_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(3_000_u32);
    let read = |text: &[u8]| Certificate::parse(text, Some(&member));
    let is_ours = |read: &Certificate| {
        let device = read.signer.as_ref().is_some_and(|signer| signer.standing == LabStanding::Ours);
        device && read.endorsements.iter().all(|said| said.device.standing == LabStanding::Ours)
    };
    let accepts = |certificate: &[u8], file: &[u8]| {
        read(certificate).is_ok_and(|read| {
            is_ours(&read)
                && compare(Cursor::new(file), &read.proof, |_| {}).expect("memory") == Standing::Whole
        })
    };
    assert!(accepts(&signed, &bytes) && !accepts(&stranger, &bytes) && !accepts(&other, &bytes));
    let (mut state, mut counts) = (1, [0_u32; 4]);
    for round in 0..rounds {
        let from = if round % 2 == 0 { &stranger } else { &other };
        let (certificate, file) = match round % 10 {
            7 => (mixed(&signed, from, &mut state), bytes.clone()),
            8 => (restated(&signed, &mut state), bytes.clone()),
            kind if round % 3 == 0 => (signed.clone(), damaged(&bytes, from, kind as usize, &mut state)),
            kind => (damaged(&signed, from, kind as usize, &mut state), bytes.clone()),
        };
        let is_same = certificate == signed && file == bytes;
        assert!(is_same || !accepts(&certificate, &file), "round {round}");
        let place = match (is_same, file == bytes, read(&certificate)) {
            (true, ..) => 0,
            (_, false, _) => 1,
            (_, _, Err(CertificateError::Malformed)) => 2,
            _ => 3,
        };
        counts[place] += 1;
    }
    let [same, files, malformed, forged] = counts;
    println!(
        "{rounds} rounds: {files} files and {malformed} texts damaged, {forged} forged, {same} left as they were: none accepted"
    );
    assert!(files > rounds / 5 && forged > rounds / 20 && same < rounds / 20, "{counts:?}");
}

#[test]
fn a_ledger_hashes_what_a_file_holds() {
    let (bytes, proof) = file();
    let mut ledger = Ledger::default();
    ledger.take_in(&bytes);
    assert_eq!(ledger.finish().sha256, proof.sha256);
}
