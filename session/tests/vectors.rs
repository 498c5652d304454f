//! The published vectors, made from fixed keys and fixed randomness, equal what the code does.
//!
//! `SCHWANN_WRITE_VECTORS=1 cargo test -p schwann-session --test vectors` writes them anew.

mod common;

use core::fmt::Write;
use std::path::PathBuf;

use common::{DISCOVERY_KEY, Device, NOW, Seeded, authority, certify, open_all, seal};
use schwann_session::{
    ClassicSuite, Context, Credentials, DATAGRAM_OVERHEAD, DeviceKey, Entropy, Flags, Initiator, NoEntropy,
    Progress, Responder, RevocationList, Secure, Suite,
    discovery::{DiscoveryKey, QUERY_OVERHEAD, REPLY_OVERHEAD},
    keystore::{self, Cost, Kind},
};

#[test]
fn the_published_vectors_are_what_the_code_does() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/vectors/secure-session.json");
    let made = vectors();
    if std::env::var_os("SCHWANN_WRITE_VECTORS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &made).unwrap();
    }
    let published = std::fs::read_to_string(&path).expect("docs/spec/vectors/secure-session.json is there");
    // Git may have given the file the line ends of this system.
    assert!(published.replace('\r', "") == made, "the vectors differ from what the code does");
}

/// Remembers what was drawn, and for what.
struct Noted {
    source: Seeded,
    names: std::vec::IntoIter<&'static str>,
    prefix: &'static str,
    drawn: Vec<(String, String)>,
}

impl Noted {
    fn new(prefix: &'static str, seed: u64, names: Vec<&'static str>) -> Self {
        Self { source: Seeded(seed), names: names.into_iter(), prefix, drawn: Vec::new() }
    }
}

impl Entropy for Noted {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        self.source.fill(out)?;
        let name = self.names.next().expect("every draw has a name");
        self.drawn.push((format!("{}{name}", self.prefix), hex(out)));
        Ok(())
    }
}

/// One end, with its randomness on record.
struct End {
    credentials: Credentials,
    entropy: Noted,
    revoked: RevocationList<Vec<u8>>,
}

impl End {
    fn new(serial: u64, mut entropy: Noted) -> Self {
        let key = DeviceKey::generate(&mut entropy).unwrap();
        let certificate = certify(&authority(), &key, serial, |s| s.flags = Flags::CLASSIC);
        let credentials = Credentials::new(key, certificate, &mut entropy).unwrap();
        let revoked = RevocationList::sign(&authority(), 1, NOW, &DISCOVERY_KEY, &[99]).unwrap();
        Self { credentials, entropy, revoked }
    }

    fn with<R>(&mut self, step: impl FnOnce(&mut Context<'_>) -> R) -> R {
        let lab = authority().lab();
        step(&mut Context {
            calendar: NOW.into(),
            classic: ClassicSuite::Certified,
            credentials: &self.credentials,
            entropy: &mut self.entropy,
            lab: &lab,
            revoked: self.revoked.view(),
        })
    }
}

/// The file: objects of names and bytes in hexadecimal, and a list of what must be refused.
struct Json(String);

impl Json {
    fn object(&mut self, name: &str, entries: &[(String, String)]) {
        let lines: Vec<_> =
            entries.iter().map(|(name, value)| format!("    \"{name}\": \"{value}\"")).collect();
        writeln!(self.0, "  \"{name}\": {{\n{}\n  }},", lines.join(",\n")).unwrap();
    }
}

fn vectors() -> String {
    let mut json = Json(String::from("{\n  \"specification\": \"secure-session, version 1\",\n"));
    let seed = *authority().seed();
    json.object(
        "lab",
        &entries(&[
            ("authority_seed", &seed),
            ("authority_public", &authority().lab().authority().0),
            ("lab_id", &authority().lab().id().0),
            ("discovery_key", &DISCOVERY_KEY),
            ("now_unix_seconds_le64", &NOW.0.to_le_bytes()),
        ]),
    );
    let mut bad = Vec::new();
    for (suite, name) in [(Suite::Hybrid, "hybrid"), (Suite::Classic, "classic")] {
        session(suite, name, &mut json, &mut bad);
    }
    stored(&mut json, &mut bad);
    let bad: Vec<_> = bad
        .iter()
        .map(|(to, why, refusal, bytes)| {
            format!("    {{ \"to\": \"{to}\", \"change\": \"{why}\", \"refusal\": \"{refusal}\", \"bytes\": \"{bytes}\" }}")
        })
        .collect();
    writeln!(json.0, "  \"must_fail\": [\n{}\n  ]\n}}", bad.join(",\n")).unwrap();
    json.0
}

/// The receiver, what was changed, how it must end, and the bytes.
type Bad = (String, &'static str, String, String);

/// A whole session in `suite`, and changes to it.
fn session(suite: Suite, name: &str, json: &mut Json, bad: &mut Vec<Bad>) {
    let make = || {
        let inlet = vec!["device_seed", "noise_static_secret", "noise_ephemeral_secret", "ml_kem_seed_d_z"];
        let mut outlet = vec!["device_seed", "noise_static_secret", "noise_ephemeral_secret"];
        if suite == Suite::Hybrid {
            outlet.push("ml_kem_encapsulation_randomness");
        }
        outlet.extend(["session_id", "datagram_key_outlet_to_inlet", "datagram_key_inlet_to_outlet"]);
        (End::new(1, Noted::new("inlet_", 0x11, inlet)), End::new(2, Noted::new("outlet_", 0x22, outlet)))
    };
    let (mut inlet, mut outlet) = make();
    let Met { message_1, message_2, message_3, welcome, inlet: mut a, outlet: mut b } =
        meet(suite, &mut inlet, &mut outlet);
    let records = records(&mut a, &mut b);

    let mut all = entries(&[
        ("first_line_and_message_1", &message_1),
        ("message_2", &message_2),
        ("message_3", &message_3),
        ("welcome", &welcome),
    ]);
    all.extend(records);
    let certificates = entries(&[
        ("inlet_certificate", &inlet.credentials.certificate().encode()),
        ("outlet_certificate", &outlet.credentials.certificate().encode()),
    ]);
    let drawn = [inlet.entropy.drawn, outlet.entropy.drawn, certificates, all].concat();
    json.object(name, &drawn);

    for (why, at) in [
        ("a bit of the first line", 15),
        ("a bit of the length", suite_line(suite).len()),
        ("a bit of e", suite_line(suite).len() + 2),
        ("a bit of the tag", message_1.len() - 1),
    ] {
        let mut changed = message_1.clone();
        changed[at] ^= 1;
        let mut outlet = make().1;
        let refusal = outlet.with(|context| Responder::new().handle(&changed, context)).unwrap_err();
        bad.push((format!("{name} outlet, message 1"), why, format!("{refusal:?}"), hex(&changed)));
    }
    for (why, at) in
        [("a bit of e", 2), ("a bit of s", 40), ("a bit of the payload", 200), ("a bit of the length", 0)]
    {
        let mut changed = message_2.clone();
        changed[at] ^= 1;
        let mut inlet = make().0;
        let mut initiator = inlet.with(|context| Initiator::new(suite, context)).unwrap();
        let refusal = inlet.with(|context| initiator.handle(&changed, context)).unwrap_err();
        bad.push((format!("{name} inlet, message 2"), why, format!("{refusal:?}"), hex(&changed)));
    }
    for (why, at) in
        [("a bit of s", 2), ("a bit of the payload", 100), ("a bit of the tag", message_3.len() - 1)]
    {
        let mut changed = message_3.clone();
        changed[at] ^= 1;
        let mut outlet = make().1;
        let mut responder = Responder::new();
        let _ = outlet.with(|context| responder.handle(&message_1, context)).unwrap();
        let refusal = outlet.with(|context| responder.handle(&changed, context)).unwrap_err();
        bad.push((format!("{name} outlet, message 3"), why, format!("{refusal:?}"), hex(&changed)));
    }
    let met = || {
        let (mut inlet, mut outlet) = make();
        meet(suite, &mut inlet, &mut outlet)
    };
    bad_records(name, met, bad);
    bad_datagrams(name, met, bad);
}

fn suite_line(suite: Suite) -> &'static str {
    match suite {
        Suite::Classic => "LSL:secure/1 classic\r\n",
        Suite::Hybrid => "LSL:secure/1 hybrid\r\n",
    }
}

/// What was said until both ends have a session.
struct Met {
    message_1: Vec<u8>,
    message_2: Vec<u8>,
    message_3: Vec<u8>,
    welcome: Vec<u8>,
    inlet: Secure,
    outlet: Secure,
}

fn meet(suite: Suite, inlet: &mut End, outlet: &mut End) -> Met {
    let mut initiator = inlet.with(|context| Initiator::new(suite, context)).unwrap();
    let mut responder = Responder::new();
    let message_1 = initiator.poll_output().to_vec();
    initiator.sent(message_1.len());
    let _ = outlet.with(|context| responder.handle(&message_1, context)).unwrap();
    let message_2 = responder.poll_output().to_vec();
    responder.sent(message_2.len());
    let done = inlet.with(|context| initiator.handle(&message_2, context));
    assert!(matches!(done, Ok(Progress::Done { .. })));
    let message_3 = initiator.poll_output().to_vec();
    initiator.sent(message_3.len());
    let done = outlet.with(|context| responder.handle(&message_3, context));
    assert!(matches!(done, Ok(Progress::Done { .. })));
    let welcome = responder.poll_output().to_vec();
    responder.sent(welcome.len());
    let (mut inlet, outlet) = (initiator.finish().unwrap().session, responder.finish().unwrap().session);
    assert!(open_all(&mut inlet, &welcome).is_ok());
    Met { message_1, message_2, message_3, welcome, inlet, outlet }
}

/// Changes to the outlet's records 1 and 2, and records where they do not belong; each to a fresh inlet.
fn bad_records(name: &str, met: impl Fn() -> Met, bad: &mut Vec<Bad>) {
    let (first, second, close, own) = {
        let mut met = met();
        let (first, second) = (seal(&mut met.outlet, b"sample"), seal(&mut met.outlet, b"another"));
        let mut close = vec![0; 64];
        let length = met.outlet.close(&mut close).unwrap();
        close.truncate(length);
        (first, second, close, seal(&mut met.inlet, b"sample"))
    };
    let with = |at: usize, mask: u8| {
        let mut changed = first.clone();
        let at = at % changed.len();
        changed[at] ^= mask;
        changed
    };
    let cases: [(&'static str, Vec<u8>); 11] = [
        ("the type control", with(0, 1)),
        ("a type that is not there", with(0, 4)),
        ("a length one less", [&with(1, 3)[..], &second].concat()),
        ("a length of 2^22", with(3, 0x40)),
        ("a bit of the ciphertext", with(4, 1)),
        ("a bit of the tag", with(first.len() - 1, 0x80)),
        ("repeated", [&first[..], &first].concat()),
        ("dropped", second.clone()),
        ("swapped with the next", [&second[..], &first].concat()),
        ("reflected", own),
        ("the end too early", close),
    ];
    for (why, bytes) in cases {
        let refusal = open_all(&mut met().inlet, &bytes).unwrap_err();
        bad.push((format!("{name} inlet, record 1"), why, format!("{refusal:?}"), hex(&bytes)));
    }
}

/// Changes to the outlet's first datagram, each to a fresh inlet.
fn bad_datagrams(name: &str, met: impl Fn() -> Met, bad: &mut Vec<Bad>) {
    let sealed = |from: &mut Secure| {
        let mut datagram = vec![0; 6 + DATAGRAM_OVERHEAD];
        from.take_datagrams().unwrap().seal(b"answer", &mut datagram).unwrap();
        datagram
    };
    let mut ends = met();
    let (answer, own) = (sealed(&mut ends.outlet), sealed(&mut ends.inlet));
    for (why, at) in [
        ("a bit of the magic", 0),
        ("a bit of the session id", 4),
        ("a bit of the counter", 12),
        ("a bit of the ciphertext", 20),
        ("a bit of the tag", answer.len() - 1),
    ] {
        let mut changed = answer.clone();
        changed[at] ^= 1;
        let refusal = met().inlet.take_datagrams().unwrap().open(&mut changed.clone()).unwrap_err();
        bad.push((format!("{name} inlet, datagram"), why, format!("{refusal:?}"), hex(&changed)));
    }
    let refusal = met().inlet.take_datagrams().unwrap().open(&mut own.clone()).unwrap_err();
    bad.push((format!("{name} inlet, datagram"), "reflected", format!("{refusal:?}"), hex(&own)));
    let mut twice = met().inlet.take_datagrams().unwrap();
    twice.open(&mut answer.clone()).unwrap();
    let refusal = twice.open(&mut answer.clone()).unwrap_err();
    bad.push((format!("{name} inlet, datagram"), "the second time", format!("{refusal:?}"), hex(&answer)));
}

/// Records of every type, datagrams both ways.
fn records(inlet: &mut Secure, outlet: &mut Secure) -> Vec<(String, String)> {
    let request = seal(inlet, b"LSL:streamfeed/110 uid\r\n");
    let data = seal(outlet, b"sample");
    outlet.request_rekey();
    let after = seal(outlet, b"sample after rekey");
    let mut end = [0; 64];
    let length = outlet.close(&mut end).unwrap();
    let mut probes = Vec::new();
    for (side, text) in [(&mut *inlet, b"probe".as_slice()), (&mut *outlet, b"answer".as_slice())] {
        let mut datagram = vec![0; text.len() + DATAGRAM_OVERHEAD];
        side.take_datagrams().unwrap().seal(text, &mut datagram).unwrap();
        probes.push(datagram);
    }
    let all = [&data[..], &after, &end[..length]].concat();
    assert_eq!(open_all(inlet, &all), Ok((b"samplesample after rekey".to_vec(), true)));
    entries(&[
        ("inlet_record_0_data_request", &request),
        ("outlet_record_1_data_sample", &data),
        ("outlet_record_2_rekey_and_3_data_sample_after_rekey", &after),
        ("outlet_record_4_close", &end[..length]),
        ("inlet_datagram_0_probe", &probes[0]),
        ("outlet_datagram_0_answer", &probes[1]),
    ])
}

/// Discovery, a revocation list and a sealed file.
fn stored(json: &mut Json, bad: &mut Vec<Bad>) {
    let key = DiscoveryKey::new(&DISCOVERY_KEY);
    let text = b"LSL:shortinfo\r\n\r\n16604 1234\r\n";
    let mut query = [0; 29 + QUERY_OVERHEAD];
    let (_, asked) = key.seal_query(text, NOW, &mut Seeded(0x33), &mut query).unwrap();
    let (asker, _) = key.open_query(&mut { query }, NOW).unwrap();
    let mut reply = [0; 13 + REPLY_OVERHEAD];
    key.seal_reply(&asker, b"1234\r\n<info/>", &mut Seeded(0x44), &mut reply).unwrap();
    assert!(key.open_reply(&asked, &mut { reply }).is_ok());
    // What the two sides draw, in order; the secrets are X25519's, before they are clamped.
    let (mut asking, mut answering) = (Seeded(0x33), Seeded(0x44));
    let draw = |source: &mut Seeded, length: usize| {
        let mut drawn = vec![0; length];
        source.fill(&mut drawn).unwrap();
        drawn
    };
    draw(&mut asking, 24);
    let secrets = [draw(&mut asking, 32), draw(&mut answering, 32)];
    let list = RevocationList::sign(&authority(), 7, NOW, &DISCOVERY_KEY, &[99, 3]).unwrap();
    let cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
    let file = keystore::seal(Kind::Device, &[7; 32], b"passphrase", cost, &mut Seeded(0x55)).unwrap();
    json.object(
        "stored",
        &entries(&[
            ("sealed_query_at_port_16604", &query),
            ("query_ephemeral_secret", &secrets[0]),
            ("sealed_reply_info", &reply),
            ("reply_ephemeral_secret", &secrets[1]),
            ("revocation_list_7_of_serials_3_99", list.as_bytes()),
            ("sealed_file_device_seed_32_times_07_passphrase", &file),
        ]),
    );
    let mut late = query;
    let refusal = key.open_query(&mut late, schwann_session::UnixSeconds(NOW.0 + 31)).unwrap_err();
    bad.push(("member, query".into(), "nothing, but 31 s later", format!("{refusal:?}"), hex(&query)));
    for (what, at) in [("a bit of the answerer's key", 28), ("a bit of the description", 64)] {
        let mut changed = reply;
        changed[at] ^= 1;
        let refusal = key.open_reply(&asked, &mut { changed }).unwrap_err();
        bad.push(("asker, reply".into(), what, format!("{refusal:?}"), hex(&changed)));
    }
    let mut changed = list.as_bytes().to_vec();
    changed[72] ^= 1;
    let refusal = RevocationList::parse(&changed, &authority().lab()).unwrap_err();
    bad.push(("member, revocation list".into(), "a serial", format!("{refusal:?}"), hex(&changed)));
    let mut changed = file;
    changed[70] ^= 1;
    let refusal = keystore::open(&changed, b"passphrase").unwrap_err();
    bad.push(("owner, sealed file".into(), "a bit of the content", format!("{refusal:?}"), hex(&changed)));
    let expired = Device::of(&authority(), 5, |s| s.not_after = s.not_before);
    let check = expired.credentials.check(&expired.lab, &expired.revoked, schwann_session::Roles::BOTH, NOW);
    let bytes = expired.credentials.certificate().encode();
    bad.push(("member, certificate".into(), "expired", format!("{:?}", check.unwrap_err()), hex(&bytes)));
}

fn entries(pairs: &[(&str, &[u8])]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, bytes)| ((*name).to_string(), hex(bytes))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
