//! Recordings: reading never fails, and what is repaired is whole, but for stamps that are guesses, and repairs to the same.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use schwann_xdf::{Clocks, Jitter, Reader, Recording, Survey, repair_into};

fuzz_target!(|file: &[u8]| {
    let Ok(reader) = Reader::new(Cursor::new(file)) else { return };
    let mut repaired = Vec::new();
    let done = repair_into(reader, &mut repaired, |_, _| {}).expect("memory can be written");
    let read = |file| Reader::new(Cursor::new(file)).expect("a repaired file is a recording");
    let survey = Survey::read(read(&repaired[..]), |_, _| {}).expect("memory can be read");
    assert!(survey.is_sound() || done.guessed_stamp_count > 0, "{survey:#?}");
    let recording =
        Recording::read(read(&repaired[..]), Clocks::Synchronised, Jitter::Removed).expect("as above");
    let count: u64 = survey.streams.iter().map(|stream| stream.sample_count).sum();
    assert!(recording.streams.iter().map(|stream| stream.stamps.len() as u64).sum::<u64>() <= count);
});
