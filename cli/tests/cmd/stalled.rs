//! `schwann watch --latest --alert` when it, or the sender, really stands still: nothing is skipped or silent unsaid.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{StreamInfo, local_clock};
use schwann_proto::stream::ChannelFormat;

use crate::harness::{Lab, Running};
use crate::senders::context_of;

/// Time for anything that must happen on a busy machine.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two samples.
const PERIOD: Duration = Duration::from_millis(5);

/// Sends 0, 1, 2 and so on, as soon as one watches.
struct Counter {
    end: Arc<AtomicBool>,
    thread: JoinHandle<(Outlet, u64)>,
}

impl Counter {
    fn start(lab: &Lab) -> Self {
        let info = StreamInfo::new("Counter", "Test", 1, 200.0, ChannelFormat::Int32, "counter").unwrap();
        let outlet = Outlet::in_context(&info, &OutletOptions::default(), context_of(lab, None)).unwrap();
        let end = Arc::<AtomicBool>::default();
        let is_over = Arc::clone(&end);
        let thread = thread::spawn(move || {
            assert!(outlet.wait_for_consumers(1, Some(BUSY_TIMEOUT)), "no one watches");
            let mut sent = 0_i32;
            while !is_over.load(Ordering::Relaxed) {
                outlet.push_sample(&[sent], local_clock(), Flush::Now).unwrap();
                sent += 1;
                thread::sleep(PERIOD);
            }
            // The last one is never too old, so it is printed on any machine.
            outlet.push_sample(&[sent], local_clock() + 60.0, Flush::Now).unwrap();
            (outlet, u64::try_from(sent + 1).unwrap())
        });
        Self { end, thread }
    }

    /// Ends sending; returns the outlet, which keeps the stream, and how many samples it has sent.
    fn stop(self) -> (Outlet, u64) {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// `schwann watch` with what it reports in a file.
struct Watcher {
    running: Running,
    reports: PathBuf,
}

impl Watcher {
    fn start(lab: &Lab, arguments: &[&str]) -> Self {
        let reports = lab.path("reports");
        let mut command = lab.schwann(&[&["watch"], arguments].concat());
        command.stderr(File::create(&reports).unwrap());
        Self { running: Running::of(command), reports }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.running.process), signal).unwrap();
    }

    fn reported(&self) -> String {
        fs::read_to_string(&self.reports).unwrap()
    }

    /// Waits until it reports `text` once more than in `before`.
    fn wait_for_report(&self, text: &str, before: &str) {
        let (deadline, seen) = (Instant::now() + BUSY_TIMEOUT, before.matches(text).count());
        while self.reported().matches(text).count() <= seen {
            assert!(Instant::now() < deadline, "no {text:?} in {}", self.reported());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Reads lines until the counter has come to `value`; returns how many it read.
    fn read_to(&mut self, value: u64) -> u64 {
        let mut lines = 1;
        while value_in(&self.running.wait_for_line(" ")) < value {
            lines += 1;
        }
        lines
    }
}

fn value_in(line: &str) -> u64 {
    line.split_whitespace().nth(1).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{line:?}"))
}

#[test]
fn what_a_watcher_that_stood_still_skips_is_counted_exactly_and_told() {
    let lab = Lab::new("watch-stopped");
    let mut watcher = Watcher::start(&lab, &["Counter", "--latest=0.5", "--alert=1"]);
    let counter = Counter::start(&lab);
    let begun = value_in(&watcher.running.wait_for_line(" "));
    let mut printed = 1 + watcher.read_to(begun + 200);
    let before = watcher.reported();
    watcher.signal(Signal::STOP);
    thread::sleep(Duration::from_secs(3));
    watcher.signal(Signal::CONT);
    watcher.wait_for_report(": behind by", &before);
    watcher.wait_for_report(": up to date again", &before);
    let (outlet, sent) = counter.stop();
    printed += watcher.read_to(sent - 1);
    let (code, rest) = watcher.running.interrupt();
    drop(outlet);
    assert_eq!((code, rest.as_str()), (Some(1), ""), "{}", fs::read_to_string(&watcher.reports).unwrap());
    let said = fs::read_to_string(&watcher.reports).unwrap();
    let skipped = sent - printed;
    // It stood still for 3 s, of which half a second may be printed.
    assert!(skipped >= 200, "only {skipped} of {sent} samples were skipped");
    assert!(said.ends_with(&format!("Counter: {skipped} samples skipped\n")), "{sent} - {printed}: {said}");
}

#[test]
fn a_sender_that_stands_still_is_told_as_silent_until_it_goes_on() {
    let lab = Lab::new("watch-silent");
    let mut fake = lab.start(&["fake", "counter:1@100"]);
    fake.wait_for_line("sending");
    let mut watcher = Watcher::start(&lab, &["Fake counter:1@100", "--latest=0.5", "--alert=1"]);
    watcher.running.wait_for_line(" ");
    let before = watcher.reported();
    kill_process(Pid::from_child(&fake.process), Signal::STOP).unwrap();
    watcher.wait_for_report(": silent for", &before);
    let silent = watcher.reported();
    kill_process(Pid::from_child(&fake.process), Signal::CONT).unwrap();
    watcher.wait_for_report(": up to date again", &silent);
    watcher.running.wait_for_line(" ");
    let (code, _) = watcher.running.interrupt();
    assert_eq!(code, Some(1), "{}", fs::read_to_string(&watcher.reports).unwrap());
}

#[test]
fn a_program_that_was_stopped_before_anyone_looked_is_told() {
    let lab = Lab::new("stalled-unseen");
    let mut fake = lab.start(&["fake", "counter@100"]);
    fake.wait_for_line("sending");
    kill_process(Pid::from_child(&fake.process), Signal::STOP).unwrap();
    let is_told = |(code, out, _): &(i32, String, String)| {
        *code == 1 && out.contains("does not answer: it hangs or was stopped")
    };
    // On a busy machine a look may end before the port was tried twice.
    let told = (0..10).map(|_| lab.run(&["--once"])).find(is_told);
    kill_process(Pid::from_child(&fake.process), Signal::CONT).unwrap();
    assert!(told.is_some());
}
