//! How many samples per second arrive, in chunks and one by one, with and without a sender that outruns. Also the
//! cost of a fast, wide stream.

use core::time::Duration;

use super::{Cell, Figures, Metric, delivered_percent, expense, figures, higher, lower};
use crate::suite::Effort;
use crate::transfer::Outcome;
use crate::workload::{Format, Pacing, Pull, Turns, Workload};

/// `push_chunk` of 1000 samples to `pull_chunk` and `push_sample` to `pull_sample`, 64 channels of float32. In one
/// case the sender stays within a window, and nothing may be lost. In the other it pushes as fast as the library
/// takes samples, and the receiver may lose some. Then peak memory at 30 kHz, 384 channels of 16 bits (a
/// Neuropixels probe). The receiver pulls as data comes, or takes a fifth of it and the rest piles up.
pub(super) fn goals(effort: Effort) -> Vec<Cell> {
    let duration = effort.time(3.0, 0.4);
    let window = |ahead| Pacing::Window { ahead };
    let in_chunks = |name, pacing| Cell::new(name, chunks(64, 1000, pacing, duration), take, CHUNK_METRICS);
    let one_by_one = |name, pacing| {
        // A smaller buffer than the default's 360 s, so that the receiver soon has what is left of it.
        let workload = Workload { buffer: 36, pull: Pull::Sample, ..chunks(64, 1, pacing, duration) };
        Cell::new(name, workload, take, SINGLE_METRICS)
    };
    let probe = |name, pause| {
        let stream = thirty_kilohertz(384, effort.time(8.0, 2.0));
        let workload = Workload { pull: Pull::Chunk { samples: 300, pause }, ..stream };
        Cell { is_raw_measured: false, ..Cell::new(name, workload, take, MEMORY_METRICS) }
    };
    vec![
        in_chunks("chunks-window", window(64_000)),
        in_chunks("chunks-unpaced", Pacing::Unpaced),
        one_by_one("singles-window", window(16_000)),
        one_by_one("singles-unpaced", Pacing::Unpaced),
        probe("memory-prompt", Duration::ZERO),
        probe("memory-slow", Duration::from_millis(50)),
    ]
}

/// Chunk sizes at 64 channels, and channel counts at chunks of about 64 KB. Then streams of 30 kHz at their own
/// pace, in chunks of 10 ms. Can both ends keep up, and what is the cost?
pub(crate) fn sweep(effort: Effort) -> Vec<Cell> {
    let duration = effort.time(2.0, 0.3);
    let chunks = effort.points(&[1, 4, 16, 64, 256, 1024, 4096], &[1, 256]);
    let channels = effort.points(&[1, 8, 64, 256, 1000, 5000], &[1, 64, 1000]);
    let mut cells = Vec::new();
    Cell::sweep(&mut cells, chunks.into_iter().map(|chunk| point(64, chunk, duration)));
    let at_64_kb = |count: usize| point(count, (16_384 / count).clamp(1, 4096), duration);
    Cell::sweep(&mut cells, channels.into_iter().map(at_64_kb));
    cells.extend(effort.points(&[64, 384, 1000], &[384]).into_iter().map(|count| {
        let workload = thirty_kilohertz(count, effort.time(4.0, 1.0));
        Cell::new(format!("30khz-{count}ch"), workload, take, PACED_METRICS)
    }));
    cells
}

/// Chunks of `chunk` samples: a point of a sweep. The sender's window is 8 MB but two chunks at least.
pub(super) fn point(channel_count: usize, chunk: usize, duration: Duration) -> Cell {
    let ahead = (WINDOW_BYTES / (channel_count * 4)).max(2 * chunk).max(8);
    let mut workload = chunks(channel_count, chunk, Pacing::Window { ahead: ahead as u64 }, duration);
    if chunk == 1 {
        workload.pull = Pull::Sample;
    }
    Cell::new(format!("flow-{channel_count}ch-{chunk}"), workload, take, POINT_METRICS)
}

/// Chunks of `chunk` samples of `channel_count` channels.
pub(super) fn chunks(channel_count: usize, chunk: usize, pacing: Pacing, duration: Duration) -> Workload {
    Workload {
        format: Format::Float32,
        channel_count,
        nominal_rate: 1000.0,
        chunk,
        pacing,
        duration,
        warmup: Duration::ZERO,
        // Seconds: as many bytes for few channels as for 64.
        buffer: 360 * i32::try_from(64 / channel_count.max(1)).unwrap_or(1).max(1),
        consumers: 1,
        pull: Pull::Chunk { samples: chunk, pause: Duration::ZERO },
        timed: false,
        turns: Turns::default(),
    }
}

fn thirty_kilohertz(channel_count: usize, duration: Duration) -> Workload {
    let rate = 30_000.0;
    let paced = chunks(channel_count, 300, Pacing::Schedule { rate }, duration);
    Workload { format: Format::Int16, nominal_rate: rate, buffer: 360, ..paced }
}

/// Takes the delivered rate, the loss, processor time and memory.
fn take(workload: &Workload, outcome: &Outcome) -> Figures {
    let Outcome { sender, receivers } = outcome;
    let rate: f64 = receivers.iter().map(|r| r.active_samples as f64 / (r.active_ns as f64 * 1e-9)).sum();
    let mut taken = expense(outcome);
    taken.extend(figures([
        ("delivered_samples_per_s", rate),
        ("delivered_mb_per_s", rate * workload.sample_bytes() as f64 / 1e6),
        ("pushed_samples_per_s", sender.sent as f64 / (sender.active_ns as f64 * 1e-9)),
        ("lost_percent", 100.0 - delivered_percent(outcome)),
    ]));
    taken
}

/// How far a sender may be ahead in a sweep, in bytes. This keeps both ends busy, and is too little to
/// be a queue.
const WINDOW_BYTES: usize = 8 << 20;

const POINT_METRICS: &[Metric] = &[
    higher("delivered_samples_per_s"),
    higher("delivered_mb_per_s"),
    lower("cpu_s_per_million"),
    lower("lost_percent"),
];

const PACED_METRICS: &[Metric] =
    &[lower("cpu_s_per_million"), lower("lost_percent"), lower("receiver_peak_mb"), lower("sender_peak_mb")];

const CHUNK_METRICS: &[Metric] = &[
    higher("delivered_samples_per_s").goal(3.0).goal_raw(0.6),
    higher("delivered_mb_per_s"),
    lower("lost_percent"),
    lower("cpu_s_per_million").goal(0.4),
];

const SINGLE_METRICS: &[Metric] = &[
    higher("delivered_samples_per_s").goal(10.0),
    higher("pushed_samples_per_s"),
    lower("lost_percent"),
    lower("cpu_s_per_million").goal(0.4),
];

const MEMORY_METRICS: &[Metric] = &[
    lower("receiver_peak_mb").goal(0.3),
    lower("receiver_growth_mb"),
    lower("sender_peak_mb"),
    lower("cpu_s_per_million"),
];
