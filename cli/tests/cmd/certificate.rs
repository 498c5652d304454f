//! A recording's certificate, from `record` to `verify` and `sign`.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Lab, samples, stream};

/// Records a stream of counters until it has some samples, with these variables.
fn record(lab: &Lab, variables: &[(&str, &str)]) {
    let with = |arguments: &[&str]| {
        let mut command = lab.schwann(arguments);
        command.envs(variables.iter().copied());
        crate::harness::Running::of(command)
    };
    let mut fake = with(&["fake", "counter:2@200"]);
    fake.wait_for_line("sending");
    let mut recorder =
        with(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", "Fake counter:2@200"]);
    recorder.wait_for(|line| samples(line, "Fake counter:2@200") >= 200);
    recorder.interrupt();
}

/// What a certificate states.
fn statement(lab: &Lab, name: &str) -> Value {
    use base64::Engine as _;

    let envelope: Value =
        serde_json::from_slice(&fs::read(lab.path(name)).expect("a certificate")).expect("JSON");
    let payload = envelope["payload"].as_str().expect("a payload");
    let payload = base64::engine::general_purpose::STANDARD.decode(payload).expect("base64");
    serde_json::from_slice(&payload).expect("JSON")
}

fn run(lab: &Lab, variables: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
    let output = lab.schwann(arguments).envs(variables.iter().copied()).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

#[test]
fn a_recording_is_certified_unsigned_without_keys_and_a_change_is_seen() {
    let lab = Lab::new("certificate-plain");
    record(&lab, &[]);
    let (code, out) = run(&lab, &[], &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("UNSIGNED") && out.contains("bit by bit"), "{out}");
    let (_, out) = run(&lab, &[], &["verify", "x.xdf", "--json"]);
    let certificate = &serde_json::from_str::<Value>(&out).expect("JSON")["certificate"];
    assert_eq!(certificate["incomplete"], json!([]), "nothing is missing of the stream: {out}");
    let sign = ["sign", "x.xdf", "--name", "N", "--meaning", "reviewed"];
    let (code, out) = run(&lab, &[], &sign);
    assert!(code == Some(3) && out.contains("keys init"), "{out}");
    let whole = fs::read(lab.path("x.xdf")).expect("a file");
    let cut = &whole[..whole.len() - 100];
    fs::write(lab.path("x.xdf"), cut).expect("a file");
    let (code, out) = run(&lab, &[], &["verify", "x.xdf"]);
    assert!(code == Some(1) && !out.contains("bit by bit"), "{out}");
    let (code, out) = run(&lab, &[], &sign);
    assert!(code == Some(3) && out.contains("NOT WHOLE") && out.contains("nothing was signed"), "{out}");
}

#[test]
fn what_is_made_of_a_changed_recording_does_not_pass_for_the_recording() {
    let lab = Lab::new("certificate-changed");
    record(&lab, &[]);
    let mut bytes = fs::read(lab.path("x.xdf")).expect("a file");
    // The lowest bits of a value: the chunk around it stays what it is.
    let value = bytes.windows(4).position(|bytes| bytes == 100f32.to_le_bytes()).expect("it counts");
    bytes[value] ^= 1;
    fs::write(lab.path("x.xdf"), bytes).expect("a file");
    let (code, out) = run(&lab, &[], &["repair", "x.xdf"]);
    assert!(code == Some(1) && out.contains("NOT WHOLE") && !lab.path("x-repaired.xdf").exists(), "{out}");
    let (code, out) = run(&lab, &[], &["repair", "x.xdf", "-o", "y.xdf"]);
    assert!(code == Some(1) && out.contains("NOT WHOLE"), "{out}");
    let (_, out) = run(&lab, &[], &["verify", "y.xdf"]);
    assert!(out.contains("which was NOT what its certificate says"), "{out}");
    let (code, out) = run(&lab, &[], &["export", "x.xdf", "--to", "csv"]);
    assert!(code == Some(1) && out.contains("NOT WHOLE; why: schwann verify x.xdf"), "{out}");
}

#[test]
fn a_member_signs_and_a_person_endorses() {
    let lab = Lab::new("certificate-lab");
    let keys = lab.path("keys");
    let variables = [("SCHWANN_KEYS", keys.to_str().expect("text")), ("SCHWANN_SECURITY", "require")];
    assert_eq!(run(&lab, &variables, &["keys", "init", "--unprotected"]).0, Some(0));
    record(&lab, &variables);
    let (code, out) = run(&lab, &variables, &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("of this lab") && out.contains("bit by bit"), "{out}");
    let said = statement(&lab, "x.xdf.cert.json");
    let sender = &said["predicate"]["streams"][0]["origin"]["sender"];
    assert!(sender["name"] == "first computer" && sender["certificate"] == 1, "{said:#}");
    assert!(
        said["predicate"]["machine"]["hostname"].is_string()
            && said["predicate"]["streams"][0]["timing"]["clock_offsets"]["count"].is_u64()
    );
    let (code, out) =
        run(&lab, &variables, &["sign", "x.xdf", "--name", "M. Curie", "--meaning", "reviewed"]);
    assert_eq!(code, Some(0), "{out}");
    let (code, out) = run(&lab, &variables, &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("reviewed: M. Curie"), "{out}");
    let (code, out) = run(&lab, &[], &["verify", "x.xdf"]);
    assert!(code == Some(0) && out.contains("no member of"), "{out}");
    let foreign = lab.path("foreign");
    let foreign = [("SCHWANN_KEYS", foreign.to_str().expect("text")), ("SCHWANN_SECURITY", "require")];
    assert_eq!(run(&lab, &foreign, &["keys", "init", "--unprotected"]).0, Some(0));
    let (code, out) = run(&lab, &foreign, &["verify", "x.xdf"]);
    assert!(code == Some(1) && out.contains("of ANOTHER LAB"), "{out}");
    let text = fs::read_to_string(lab.path("x.xdf.cert.json")).expect("a certificate");
    fs::write(lab.path("x.xdf.cert.json"), text.replacen("\"sig\": \"", "\"sig\": \"A", 1)).expect("a file");
    let (code, out) = run(&lab, &variables, &["verify", "x.xdf"]);
    assert!(code == Some(1) && out.contains("NOT ACCEPTED"), "{out}");
}

/// A key folder that is there and cannot be read tells neither the lab nor who was put out of it.
#[test]
fn a_signed_certificate_is_not_accepted_where_the_keys_cannot_be_read() {
    let lab = Lab::new("certificate-unread");
    let [keys, foreign] = ["keys", "foreign"].map(|name| lab.path(name).to_str().expect("text").to_owned());
    let [ours, foreign] =
        [&keys, &foreign].map(|keys| [("SCHWANN_KEYS", keys.as_str()), ("SCHWANN_SECURITY", "require")]);
    for variables in [&ours, &foreign] {
        assert_eq!(run(&lab, variables, &["keys", "init", "--unprotected"]).0, Some(0));
    }
    record(&lab, &ours);
    for name in ["keys", "foreign"] {
        fs::write(lab.path(name).join("device.certificate"), "damaged").expect("a file");
    }
    for variables in [&ours, &foreign] {
        let (code, out) = run(&lab, variables, &["verify", "x.xdf"]);
        assert!(code == Some(1) && out.contains("NOT ACCEPTED: whose it is was not looked at: "), "{out}");
        let (_, out) = run(&lab, variables, &["verify", "x.xdf", "--json"]);
        let certificate = &serde_json::from_str::<Value>(&out).expect("JSON")["certificate"];
        assert!(certificate["accepted"] == false && certificate["signer_is_revoked"].is_null(), "{out}");
    }
}

/// A sender that says 200 Hz and sends 100: the certificate has every rule, those that passed with their numbers, too.
#[test]
fn every_rule_is_certified_with_number_and_limit_whether_it_passed_or_not() {
    let lab = Lab::new("certificate-rules");
    let mut fake = lab.start(&["fake", "counter:2@200", "--fault", "rate=-50"]);
    fake.wait_for_line("sending");
    let mut recorder =
        lab.start(&["record", "-o", "x.xdf", "--json", "--wait", "60", "--require", "Fake counter:2@200"]);
    let trouble = |line: &Value| stream(line, "Fake counter:2@200")?["trouble"].as_str().map(str::to_owned);
    recorder.wait_for(|line| trouble(line).is_some_and(|trouble| trouble.starts_with("RATE -")));
    recorder.interrupt();
    let said = statement(&lab, "x.xdf.cert.json");
    let rules = said["predicate"]["streams"][0]["verdict"].as_array().expect("rules");
    let rule = |code: &str| rules.iter().find(|rule| rule["code"] == code).expect("it is judged");
    let mut codes: Vec<_> = rules.iter().map(|rule| rule["code"].as_str().expect("a word")).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 20, "{said:#}");
    let rate = rule("rate");
    assert!(
        rate["passed"] == false && rate["unit"] == "%" && rate["number"].as_f64() < Some(-30.0),
        "{rate}"
    );
    assert!(rate["limit"].as_f64().is_some_and(|limit| (5.0..50.0).contains(&limit)), "{rate}");
    assert!(rate["says"].as_str().is_some_and(|says| says.starts_with("says 200 Hz")), "{rate}");
    let equal = rule("duplicate-stamps");
    assert_eq!(
        [&equal["number"], &equal["limit"], &equal["passed"]],
        [&json!(0.0), &json!(0.0), &json!(true)]
    );
    assert_eq!(rule("gone")["passed"], true);
    let (code, out) = run(&lab, &[], &["verify", "x.xdf", "--html", "x.html"]);
    assert_eq!(code, Some(0), "the file is whole: {out}");
    assert!(
        out.contains("judged while it was recorded") && out.contains("Fake counter:2@200: rate -"),
        "{out}"
    );
    let page = fs::read_to_string(lab.path("x.html")).expect("a page");
    for part in ["Judged while it was recorded", "NOT passed", "duplicate-stamps</td><td>0 samples</td>"] {
        assert!(page.contains(part), "{part}");
    }
    let (_, out) = run(&lab, &[], &["verify", "x.xdf", "--json"]);
    let verdicts = &serde_json::from_str::<Value>(&out).expect("JSON")["certificate"]["verdicts"];
    assert_eq!(verdicts[0]["rules"], json!(rules), "scripts see what is certified");
}

#[test]
fn a_reviewer_gets_one_page_that_needs_nothing_else() {
    let lab = Lab::new("certificate-page");
    record(&lab, &[]);
    let (code, out) = run(&lab, &[], &["verify", "x.xdf", "--html", "x.html"]);
    assert_eq!(code, Some(0), "{out}");
    let page = fs::read_to_string(lab.path("x.html")).expect("a page");
    for part in
        ["Fake counter:2@200", "whole", "Timeline", "<svg", "UNSIGNED", "Not checked", "bit by bit", "lock"]
    {
        assert!(page.contains(part), "{part}");
    }
    let fetches = ["<script", "src=", "href=", "url(", "@import"];
    assert!(!fetches.iter().any(|fetch| page.contains(fetch)), "nothing is fetched or run");
    let (code, out) = run(&lab, &[], &["verify", "x.xdf", "--html", "x.html"]);
    assert!(code == Some(3) && out.contains("never replaced"), "{out}");

    // A recording that wants to be more than text, and is damaged.
    let hostile = fs::read(lab.path("x.xdf")).expect("a file");
    let text = b"Fake counter:2@200";
    let at = hostile.windows(text.len()).position(|part| part == text).expect("its name");
    let mut hostile = hostile;
    hostile[at..at + text.len()].copy_from_slice(b"&lt;script&gt;AA'\"");
    fs::write(lab.path("h.xdf"), &hostile[..hostile.len() - 200]).expect("a file");
    let (code, out) = run(&lab, &[], &["verify", "h.xdf", "--html", "h.html"]);
    assert_eq!(code, Some(1), "{out}");
    let page = fs::read_to_string(lab.path("h.html")).expect("a page");
    assert!(page.contains("NOT WHOLE") && !page.contains("<script"), "{page}");
}

#[test]
fn the_page_draws_timeline_gaps_clock_drift_jitter_and_lag() {
    let lab = Lab::new("certificate-pictures");
    let made = ["fake", "counter:1@100", "--seconds", "60", "--fault", "gaps=0.3", "-o", "x.xdf"];
    assert_eq!(run(&lab, &[], &made).0, Some(0));
    assert_eq!(run(&lab, &[], &["verify", "x.xdf", "--html", "x.html"]).0, Some(0));
    let page = fs::read_to_string(lab.path("x.html")).expect("a page");
    let picture = |title: &str| {
        let (_, drawn) =
            page.split_once(&format!("<title>{title}</title>")).unwrap_or_else(|| panic!("{title}"));
        drawn.split_once("</svg>").expect("its end").0
    };
    let red = picture("When each stream was there").matches("#cf222e").count();
    assert!(red > 50, "a gap each second: {red}");
    for title in [
        "Offset of its clock against the first measurement",
        "What is left of that beside a steady drift",
        "Lag: age of the newest sample when its clock was measured",
    ] {
        let points =
            picture(title).split_once("points=\"").expect("a line").1.split_once('"').expect("its end").0;
        assert!(points.split_whitespace().count() >= 10, "every five seconds: {title}: {points}");
    }
    assert!(picture("How far intervals are from the nominal one").contains("<rect"));
}

#[test]
fn what_is_made_from_a_recording_has_a_certificate_that_names_it() {
    let lab = Lab::new("certificate-derived");
    record(&lab, &[]);
    let whole = fs::read(lab.path("x.xdf")).expect("a file");
    let (code, out) = run(&lab, &[], &["export", "x.xdf", "--to", "csv", "-o", "table"]);
    assert!(code == Some(0) || code == Some(1), "{out}");
    let made: Vec<_> = fs::read_dir(lab.path(""))
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let table = made.iter().find(|name| name.ends_with(".csv")).expect("a table");
    let (code, out) = run(&lab, &[], &["verify", table]);
    assert!(
        code == Some(0) && out.contains("made from x.xdf") && out.contains("as it is certified"),
        "{out}"
    );
    let mut changed = fs::read(lab.path(table)).expect("a table");
    changed[3] ^= 1;
    fs::write(lab.path(table), changed).expect("a table");
    let (code, out) = run(&lab, &[], &["verify", table]);
    assert!(code == Some(1) && out.contains("NOT as it is certified"), "{out}");

    fs::write(lab.path("x.xdf"), &whole[..whole.len() - 100]).expect("a file");
    assert_eq!(run(&lab, &[], &["repair", "x.xdf"]).0, Some(1));
    let (code, out) = run(&lab, &[], &["verify", "x-repaired.xdf"]);
    assert!(code == Some(0) && out.contains("made from x.xdf") && out.contains("bit by bit"), "{out}");

    let others = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";
    let (code, out) = run(&lab, &[], &["repair", "x.xdf", "-o", "theirs.xdf.age", "--to", others]);
    assert!(
        code == Some(1) && out.contains("no certificate: theirs.xdf.age: the recording is sealed"),
        "{out}"
    );
}

#[test]
fn what_is_made_where_the_keys_cannot_be_read_is_unsigned_aloud() {
    let lab = Lab::new("certificate-unsigned");
    record(&lab, &[]);
    let keys = lab.path("keys");
    let variables = [("SCHWANN_KEYS", keys.to_str().expect("text"))];
    assert_eq!(run(&lab, &variables, &["keys", "init", "--unprotected"]).0, Some(0));
    fs::write(keys.join("device.certificate"), "damaged").expect("a file");
    for (arguments, certificate) in [
        (["repair", "x.xdf", "-o", "y.xdf"], "y.xdf.cert.json"),
        (["export", "x.xdf", "--to", "npz"], "x.npz.cert.json"),
    ] {
        let (code, out) = run(&lab, &variables, &arguments);
        let unsigned = format!("{certificate} is unsigned, because this computer's keys cannot be read: ");
        assert!(code == Some(1) && out.contains(&unsigned) && !out.contains("NOT WHOLE"), "{out}");
        assert_eq!(statement(&lab, certificate)["predicate"]["replaces"]["accepted"], true);
    }
}
