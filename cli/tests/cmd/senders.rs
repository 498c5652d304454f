//! Outlets that are wrong in one way each, in this process and on the network of a test.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::fs;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use schwann::outlet::{Flush, Outlet, OutletOptions};
use schwann::{Config, Context, StreamInfo, local_clock};
use schwann_proto::stream::ChannelFormat;

use crate::harness::Lab;

/// What a sender says of itself, and what it does.
#[derive(Clone, Copy)]
pub(crate) struct Habit {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    /// What it says, in Hz.
    pub(crate) nominal: f64,
    /// What it does, in Hz.
    pub(crate) rate: f64,
    /// Seconds from one block to the next.
    pub(crate) block: f64,
    /// What it adds to its stamps, in seconds.
    pub(crate) ahead: f64,
    /// Every so many samples it loses one.
    pub(crate) loses_one_of: Option<u64>,
    /// Whether all samples of a block have the same stamp.
    pub(crate) stamps: Stamps,
}

#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Stamps {
    /// When a sample was taken.
    Exact,
    /// When its block was sent.
    OfTheBlock,
}

impl Habit {
    /// A sender that does what it says.
    pub(crate) fn sound(name: &'static str, nominal: f64) -> Self {
        Self {
            name,
            source: name,
            nominal,
            rate: nominal,
            block: 0.02,
            ahead: 0.0,
            loses_one_of: None,
            stamps: Stamps::Exact,
        }
    }
}

/// The network of a test for an outlet of this process, in `session` if one is named.
pub(crate) fn context_of(lab: &Lab, session: Option<&str>) -> Arc<Context> {
    let mut text = fs::read_to_string(lab.path("lsl_api.cfg")).unwrap() + "[log]\nlevel=-3\n";
    if let Some(session) = session {
        let line = text.lines().find(|line| line.starts_with("SessionID")).unwrap().to_owned();
        text = text.replace(&line, &format!("SessionID={session}"));
    }
    Arc::new(Context::new(Config::parse(&text).unwrap()))
}

/// Sends until it is dropped.
pub(crate) struct Sender {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// Begins to send on the network of a test, in `session` if one is named.
    pub(crate) fn start(lab: &Lab, habit: Habit, session: Option<&str>) -> Self {
        let context = context_of(lab, session);
        let info = StreamInfo::new(habit.name, "EEG", 2, habit.nominal, ChannelFormat::Float32, habit.source)
            .unwrap();
        let outlet = Outlet::in_context(&info, &OutletOptions::default(), context).unwrap();
        let end = Arc::<AtomicBool>::default();
        let is_over = Arc::clone(&end);
        let thread = thread::spawn(move || send(&outlet, habit, &is_over));
        Self { end, thread: Some(thread) }
    }
}

fn send(outlet: &Outlet, habit: Habit, is_over: &AtomicBool) {
    let (start, mut sent) = (local_clock(), 0_u64);
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_secs_f64(habit.block));
        let now = local_clock();
        let due = ((now - start) * habit.rate) as u64;
        let taken = (sent..due).filter(|n| habit.loses_one_of.is_none_or(|every| n % every != 0));
        let stamps: Vec<_> = taken
            .map(|n| match habit.stamps {
                Stamps::Exact => start + n as f64 / habit.rate + habit.ahead,
                Stamps::OfTheBlock => now + habit.ahead,
            })
            .collect();
        sent = due;
        outlet.push_chunk_stamped(&vec![1.0_f32; 2 * stamps.len()], &stamps, Flush::Now).unwrap();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _said_already = self.thread.take().map(JoinHandle::join);
    }
}
