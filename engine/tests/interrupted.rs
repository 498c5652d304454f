//! A program's timer may interrupt every wait. A stalled handshake goes on waiting, however often that happens.
//!
//! A program without the test harness. The system hands a process's signals to its first thread, and the
//! harness keeps that one for itself.
//!
//! Only on UNIX: elsewhere no signal interrupts a wait.

#[cfg(unix)]
mod sealing;

#[cfg(unix)]
fn main() {
    signals::main();
}

/// Says that there is no such test here. A runner that asks for a list is told nothing.
#[cfg(not(unix))]
fn main() {
    if !std::env::args().any(|argument| argument == "--list") {
        println!("left out: no signal interrupts a wait on this system");
    }
}

#[cfg(unix)]
mod signals {
    use core::net::Ipv4Addr;
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::thread;

    use rustix::process::{Signal, getpid, kill_process};
    use schwann::inlet::Recover;
    use schwann::security::Policy;
    use schwann::{Error, StreamInfo};

    use crate::sealing::{Lab, context, inlet_of, network};

    /// Each took more than 4 KiB of a stack of 8 MiB if an interrupted wait began another one inside itself.
    const INTERRUPTIONS: u32 = 10_000;
    /// Each takes two threads a turn, for which they may wait on a busy computer.
    const EACH_SECONDS: f64 = 0.02;

    /// The only test of this program; the system interrupts its threads, so it has no runner beside it.
    const NAME: &str = "a_wait_that_is_interrupted_again_and_again_needs_no_more_stack";

    static HANDLED: AtomicU32 = AtomicU32::new(0);

    pub(crate) fn main() {
        // Runners ask for a list before they run anything. No test of this program is left out of an ordinary run.
        let asked = |option: &str| std::env::args().any(|argument| argument == option);
        if asked("--list") {
            return if !asked("--ignored") {
                println!("{NAME}: test")
            };
        }
        let count = || _ = HANDLED.fetch_add(1, Ordering::Release);
        ctrlc::set_handler(count).expect("the only handler of this process");
        a_wait_that_is_interrupted_again_and_again_needs_no_more_stack();
        println!("test result: ok. 1 passed; 0 failed");
    }

    fn a_wait_that_is_interrupted_again_and_again_needs_no_more_stack() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let info = description(listener.local_addr().expect("bound").port());
        let context = context(&network(), Policy::Require, Some(Lab::new().member(1, |_| {})));
        let inlet = inlet_of(&info, &context, Recover::No).expect("an inlet");
        let outlet = thread::spawn(move || stall(&listener));
        // The outlet ends the connection without an answer after the last interruption.
        assert_eq!(inlet.full_info(f64::from(INTERRUPTIONS) * EACH_SECONDS).map(drop), Err(Error::Lost));
        outlet.join().expect("no panic");
    }

    /// An outlet that takes a call, says nothing while this process is interrupted, and leaves.
    fn stall(listener: &TcpListener) {
        let (mut caller, _) = listener.accept().expect("a connection");
        assert!(caller.read(&mut [0; 64]).expect("a connection") > 0, "it begins to shake hands");
        for handled in 0..INTERRUPTIONS {
            kill_process(getpid(), Signal::INT).expect("a signal to ourselves");
            while HANDLED.load(Ordering::Acquire) == handled {
                thread::yield_now();
            }
        }
    }

    fn description(port: u16) -> StreamInfo {
        let document = format!(
            "<?xml version=\"1.0\"?><info><name>Stalled</name><type>T</type><channel_count>1</channel_count>\
             <channel_format>int8</channel_format><source_id>stalled</source_id><nominal_srate>0.0</nominal_srate>\
             <version>1.10</version><created_at>1.0</created_at><uid>11111111-2222-4333-8444-555555555555</uid>\
             <session_id>default</session_id><hostname>host</hostname><v4address>127.0.0.1</v4address>\
             <v4data_port>{port}</v4data_port><v4service_port>{port}</v4service_port><v6address/>\
             <v6data_port>0</v6data_port><v6service_port>0</v6service_port><desc/></info>"
        );
        StreamInfo::parse(document.as_bytes()).expect("a description")
    }
}
