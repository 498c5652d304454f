//! The least that has to be done for one writer and many readers of the same bytes: what the machine permits.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::sync::{Condvar, Mutex};
use std::thread;

use super::super::raw::pair;
use super::{BLOCK, CHANNELS, Outcome, write};

/// One thread takes the writer's blocks, answers it, and then sends the block to each reader.
pub(super) fn over_sockets(readers: usize, time: Duration) -> Outcome {
    let (mut writer, mut from_writer) = pair()?;
    let pairs: Vec<_> = (0..readers).map(|_| pair()).collect::<Result<_, _>>()?;
    let (ends, mut to_readers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let read = AtomicU64::new(0);
    let times = thread::scope(|scope| {
        let read = &read;
        for mut reader in ends {
            scope.spawn(move || {
                let mut block = vec![0; BLOCK_BYTES];
                while reader.read_exact(&mut block).is_ok() {
                    read.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(move || {
            let mut block = vec![0; BLOCK_BYTES];
            while from_writer.read_exact(&mut block).is_ok() && from_writer.write_all(&[0; 8]).is_ok() {
                // A reader that has gone shows in the count.
                let _sent = to_readers.iter_mut().try_for_each(|reader| reader.write_all(&block));
            }
        });
        let put = |block: &[f32]| {
            writer.write_all(bytemuck::cast_slice(block))?;
            Ok(writer.read_exact(&mut [0; 8])?)
        };
        let times = write(put, time);
        drop(writer);
        times
    })?;
    Ok(missed(times, readers, &read))
}

/// The writer copies its block under a lock and wakes all readers, which copy it as well.
pub(super) fn in_process(readers: usize, time: Duration) -> Outcome {
    let (shared, is_over) = (Mutex::new((0_u64, vec![0.0_f32; BLOCK_VALUES])), AtomicBool::new(false));
    let (came, read) = (Condvar::new(), AtomicU64::new(0));
    let times = thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let (mut seen, mut block) = (0, vec![0.0; BLOCK_VALUES]);
                while let Ok(held) = shared.lock() {
                    let wait =
                        came.wait_while(held, |held| held.0 == seen && !is_over.load(Ordering::Relaxed));
                    let Ok(held) = wait else { return };
                    if held.0 == seen {
                        return;
                    }
                    read.fetch_add(held.0 - seen, Ordering::Relaxed);
                    seen = held.0;
                    block.copy_from_slice(&held.1);
                }
            });
        }
        let put = |block: &[f32]| {
            let mut held = shared.lock().map_err(|_| "a reader panicked")?;
            held.0 += 1;
            held.1.copy_from_slice(block);
            drop(held);
            came.notify_all();
            Ok(())
        };
        let times = write(put, time);
        let held = shared.lock();
        is_over.store(true, Ordering::Relaxed);
        drop(held);
        came.notify_all();
        times
    })?;
    Ok(missed(times, readers, &read))
}

fn missed(times: Vec<Duration>, readers: usize, read: &AtomicU64) -> (Vec<Duration>, u64) {
    let due = times.len() as u64 * readers as u64;
    let missed = due.saturating_sub(read.load(Ordering::Relaxed)) * u64::from(BLOCK);
    (times, missed)
}

const BLOCK_VALUES: usize = CHANNELS as usize * BLOCK as usize;

const BLOCK_BYTES: usize = BLOCK_VALUES * 4;
