//! Measures the sample codec against copying the same bytes: `cargo run --release -p schwann-proto --example codec_speed`.
//!
//! Each figure is the best of many interleaved runs, and each run's result is checked.

use core::hint::black_box;
use std::time::Instant;

use schwann_proto::{
    stream::ChannelFormat,
    wire::sample::{ByteOrder, Layout, Stamp, StampTracker},
};

fn main() {
    println!(
        "{:>8} {:>10} {:>16} {:>16} {:>16}",
        "channels", "copy", "encode", "encode_chunk", "decode_chunk"
    );
    for channel_count in [1, 8, 64, 384] {
        measure(channel_count);
    }
}

fn measure(channel_count: usize) {
    let layout = Layout::new(ChannelFormat::Float32, channel_count, ByteOrder::NATIVE);
    let samples = BYTES / 4 / channel_count;
    let values: Vec<f32> = (0..samples * channel_count).map(|value| value as f32).collect();
    let rows: Vec<Vec<u8>> = values
        .chunks_exact(channel_count)
        .map(|row| row.iter().flat_map(|v| v.to_ne_bytes()).collect())
        .collect();
    let (mut copied, mut bytes) = (Vec::with_capacity(2 * BYTES), Vec::with_capacity(16 * BYTES));
    let (mut back, mut stamps) = (vec![0f32; values.len()], vec![0.0; samples]);
    let mut best = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        copied.clear();
        best[0] = best[0].min(time(|| {
            for row in &rows {
                copied.push(1);
                copied.extend_from_slice(black_box(row));
            }
        }));
        bytes.clear();
        best[1] = best[1].min(time(|| {
            for row in values.chunks_exact(channel_count) {
                layout.encode(Stamp::Deduced, black_box(row), &mut bytes).expect("one value per channel");
            }
        }));
        assert_eq!(bytes, copied);
        bytes.clear();
        best[2] = best[2].min(time(|| {
            layout.encode_chunk(Stamp::Deduced, black_box(&values), &mut bytes).expect("whole rows");
        }));
        assert_eq!(bytes, copied);
        back.fill(0.0);
        best[3] = best[3].min(time(|| {
            let mut tracker = StampTracker::new(100.0);
            let extent = layout.decode_chunk(black_box(&bytes), &mut back, &mut stamps, &mut tracker);
            assert_eq!(extent.expect("our own bytes").samples, samples);
        }));
        assert_eq!(back, values);
    }
    let [copy, encode, encode_chunk, decode_chunk] = best.map(|seconds| seconds * 1e9 / samples as f64);
    let cell = |ns: f64| format!("{ns:.1} ns ({:.2})", ns / copy);
    println!(
        "{channel_count:>8} {:>10} {:>16} {:>16} {:>16}",
        format!("{copy:.1} ns"),
        cell(encode),
        cell(encode_chunk),
        cell(decode_chunk)
    );
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

const ROUNDS: usize = 200;
const BYTES: usize = 1 << 20;
