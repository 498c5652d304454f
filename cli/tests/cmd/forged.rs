//! Streams that a stranger makes up: whatever they claim, they take little memory and few threads, and keep nothing from ending.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use serde_json::Value;

use crate::harness::{Lab, stream};
use crate::senders::{Habit, Sender};
use crate::served;

/// Answers every search of a lab with made-up streams, at whose port a listener takes connections and says nothing.
struct Forger {
    /// Streams that each search is answered with.
    count: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Forger {
    /// Makes up `count` streams of `channels` channels for each search, with new ids each time.
    fn of(lab: &Lab, count: usize, channels: u32) -> Self {
        let socket =
            UdpSocket::bind((Ipv4Addr::LOCALHOST, lab.last_port())).expect("the port is the test's own");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let (called, ends) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let asked = Arc::<AtomicUsize>::default();
        let count = Arc::new(AtomicUsize::new(count));
        let made_up = Arc::clone(&count);
        let searches = Arc::clone(&asked);
        let (calls, end, session) = (Arc::clone(&called), Arc::clone(&ends), lab.session().to_owned());
        let thread = thread::spawn(move || {
            let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            silent.set_nonblocking(true).expect("a listener");
            let port = silent.local_addr().expect("bound").port();
            let (mut query, mut number, mut callers) = ([0; 4096], 0_u64, Vec::new());
            while !end.load(Ordering::Relaxed) {
                callers.extend(silent.accept());
                calls.store(callers.len(), Ordering::Relaxed);
                let Ok((len, source)) = socket.recv_from(&mut query) else { continue };
                let Some((answer_port, id)) = wish(&query[..len]) else { continue };
                searches.fetch_add(1, Ordering::Relaxed);
                for _ in 0..made_up.load(Ordering::Relaxed) {
                    number += 1;
                    let answer = format!("{id}\r\n{}", description(number, channels, &session, port));
                    // What the searcher's socket has no room for is lost, as on any network.
                    let _lost = socket.send_to(answer.as_bytes(), (source.ip(), answer_port));
                }
            }
        });
        Self { count, called, asked, ends, thread: Some(thread) }
    }

    /// How many connections were made to the streams.
    fn called(&self) -> usize {
        self.called.load(Ordering::Relaxed)
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _panicked_aloud = self.thread.take().map(JoinHandle::join);
    }
}

/// The port to which a query wants its answers, and its id.
fn wish(query: &[u8]) -> Option<(u16, &str)> {
    let text = core::str::from_utf8(query).ok()?;
    let (port, id) = text.strip_prefix("LSL:shortinfo\r\n")?.lines().nth(1)?.trim().split_once(' ')?;
    Some((port.parse().ok()?, id))
}

fn description(number: u64, channels: u32, session: &str, port: u16) -> String {
    format!(
        "<?xml version=\"1.0\"?><info><name>Forged</name><type>EEG</type><channel_count>{channels}</channel_count>\
         <channel_format>double64</channel_format><source_id>forged-{number}</source_id>\
         <nominal_srate>1000.0</nominal_srate><version>1.10</version><created_at>1.0</created_at>\
         <uid>00000000-0000-4000-8000-{number:012x}</uid><session_id>{session}</session_id>\
         <hostname>host-{number}</hostname><v4address/><v4data_port>{port}</v4data_port>\
         <v4service_port>{port}</v4service_port><v6address/><v6data_port>0</v6data_port>\
         <v6service_port>0</v6service_port><desc/></info>"
    )
}

/// The program, where it may have no more than 4 GiB of addresses.
fn limited(lab: &Lab, arguments: &[&str]) -> Command {
    let schwann = lab.schwann(arguments);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -v 4194304; exec \"$@\"", "sh"])
        .arg(schwann.get_program())
        .args(schwann.get_args());
    shell.current_dir(lab.path("."));
    for (name, value) in schwann.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

#[test]
fn a_description_of_two_thousand_million_channels_takes_no_memory() {
    let lab = Lab::new("vast");
    let forger = Forger::of(&lab, 1, i32::MAX.unsigned_abs());
    let look = limited(&lab, &["--json"]).output().expect("it runs");
    let seen: Value = serde_json::from_slice(&look.stdout).expect("JSON, and no abort");
    assert_eq!(look.status.code(), Some(1), "a stream that is not there is not well");
    let streams = seen["streams"].as_array().expect("a list");
    assert!(!streams.is_empty(), "the made-up stream was not found: {seen}");
    for arguments in [&["watch", "Forged", "--csv"][..], &["dash", "--no-browser", "--port", "0"]] {
        let before = forger.called();
        let mut running = limited(&lab, arguments).spawn().expect("it runs");
        while forger.called() == before {
            assert_eq!(running.try_wait().expect("a child"), None, "{arguments:?} ended by itself");
            thread::yield_now();
        }
        running.kill().and_then(|()| running.wait()).expect("a child");
    }
}

#[test]
fn a_mirror_passes_over_a_stream_that_does_not_answer() {
    let lab = Lab::new("mirror-silent");
    let forger = Forger::of(&lab, 1, 1);
    let mirror = ["ft", "mirror", "name='Forged' or name='Real'", "localhost:0"];
    let mirror = served::Running::spawn(&mut lab.schwann(&mirror));
    while forger.called() == 0 {
        thread::yield_now();
    }
    let _real = Sender::start(&lab, Habit::sound("Real", 100.0), None);
    let wait = ["ft", "wait", &mirror.address, "--samples", "1", "--timeout", "60"];
    let (code, _, said) = lab.run(&wait);
    assert_eq!(code, 0, "{said}");
    assert_eq!(mirror.end().0, Some(0));
}

/// How many threads a process has; none once it has ended.
fn threads(process: u32) -> Option<usize> {
    Some(std::fs::read_dir(format!("/proc/{process}/task")).ok()?.count())
}

#[test]
fn thousands_of_made_up_streams_take_few_threads_and_keep_nothing_from_ending() {
    let lab = Lab::new("flood");
    let _forger = Forger::of(&lab, 1000, 8);
    let mut look = lab.schwann(&["--json"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let (mut most, began) = (0, Instant::now());
    while look.try_wait().expect("a child").is_none() {
        most = most.max(threads(look.id()).unwrap_or_default());
        // It has two seconds; a busy machine has more.
        assert!(began.elapsed() < Duration::from_secs(30), "it does not end; it has {most} threads");
        thread::yield_now();
    }
    let seen: Value = serde_json::from_reader(look.stdout.take().expect("piped")).expect("JSON");
    assert!(seen["not_looked_at"].as_u64().expect("a number") > 200, "{}", seen["not_looked_at"]);
    assert!(most < 300, "{most} threads");
    assert_eq!(look.wait().expect("a child").code(), Some(1), "what was not looked at is not well");
}

#[test]
fn a_dashboard_spends_few_threads_on_thousands_of_made_up_streams() {
    let lab = Lab::new("flood-dash");
    let forger = Forger::of(&lab, 1000, 8);
    let mut dash = lab.schwann(&["dash", "--no-browser", "--port", "0"]).spawn().expect("it runs");
    let mut most = 0;
    while forger.asked.load(Ordering::Relaxed) < 8 || forger.called() < 50 {
        assert_eq!(dash.try_wait().expect("a child"), None, "it ended by itself");
        most = most.max(threads(dash.id()).unwrap_or_default());
        thread::yield_now();
    }
    dash.kill().and_then(|()| dash.wait()).expect("a child");
    // At most 64 streams that have not answered, with those that are ending: two threads each.
    assert!(most < 200, "{most} threads");
}

#[test]
fn a_recorder_of_everything_spends_few_threads_on_thousands_of_made_up_streams() {
    let lab = Lab::new("flood-record");
    // It has the last port before the sender takes one.
    let forger = Forger::of(&lab, 0, 8);
    let _real = Sender::start(&lab, Habit::sound("Real", 100.0), None);
    let mut recorder =
        lab.schwann(&["record", "--json", "-o", "all.xdf"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(recorder.stdout.take().expect("piped")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("it did not end by itself").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    let samples = |seen: &Value| stream(seen, "Real").and_then(|it| it["sample_count"].as_u64()).unwrap_or(0);
    while samples(&next()) == 0 {}
    forger.count.store(1000, Ordering::Relaxed);
    let mut seen = next();
    // More connections than may be half-open: some have given way.
    while forger.called() < 100 || seen["not_recorded"].as_u64().unwrap_or(0) < 200 {
        seen = next();
        let count = threads(recorder.id()).unwrap_or_default();
        assert!(count < 300, "{count} threads");
    }
    // What is announced no more was not recorded either.
    forger.count.store(0, Ordering::Relaxed);
    let before = samples(&seen);
    while samples(&next()) == before {}
    let interrupted = Command::new("kill").args(["-INT", &recorder.id().to_string()]).status();
    assert!(interrupted.expect("a signal").success());
    let last = loop {
        let seen = next();
        if seen["finished"] == true {
            break seen;
        }
    };
    assert!(last["not_recorded"].as_u64().expect("a number") >= 200, "{}", last["not_recorded"]);
    assert_eq!(recorder.wait().expect("a child").code(), Some(1), "not all that was announced was recorded");
}
