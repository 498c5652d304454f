//! Reads the values of a recording in the order of its file, a little ahead of what is played.

use core::ops::Range;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use schwann_xdf::{Event, Location, Reader, Values};

use crate::exit::Problem;

/// A recording that is being read by a thread of its own; at most [`CHUNKS_AHEAD`] chunks are read and not asked for.
///
/// Samples that stand in the file long before those of another stream, due at the same time, wait in memory. Recorders
/// write in the order of time, so these are few.
pub(super) struct Tape {
    path: PathBuf,
    chunks: Receiver<io::Result<Chunk>>,
    /// What was read and is still to be played, by the stream's id.
    ahead: HashMap<u32, Ahead>,
    /// How many values of a stream are passed over before the first that is played.
    passed_over: HashMap<u32, usize>,
}

/// Values of one stream that were read.
struct Ahead {
    values: Values,
    /// Those before are played. They are removed when they are the most: each time would move all others.
    played: usize,
}

struct Chunk {
    stream: u32,
    values: Values,
}

impl Tape {
    /// Begins to read a recording.
    pub(super) fn open(location: &Location) -> Result<Self, Problem> {
        let path = location.path();
        let reader = location.reader().map_err(|error| Problem::with(path.display(), error))?;
        let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
        thread::Builder::new()
            .name("tape".to_owned())
            .spawn(move || read(reader, &sender))
            .map_err(|error| Problem::with("a thread that reads the recording", error))?;
        Ok(Self { path: path.to_owned(), chunks, ahead: HashMap::new(), passed_over: HashMap::new() })
    }

    /// Passes over so many values of a stream at the beginning, without keeping them.
    pub(super) fn pass_over(&mut self, stream: u32, count: usize) {
        self.passed_over.insert(stream, count);
    }

    /// Returns values of a stream, and where among them its next `count` are.
    ///
    /// - Errors: the file cannot be read, or ends too early: it has changed since its stamps were read.
    pub(super) fn next(&mut self, stream: u32, count: usize) -> Result<(&Values, Range<usize>), Problem> {
        while self.ahead.get(&stream).is_none_or(|ahead| ahead.values.len() < ahead.played + count) {
            let chunk = self.chunks.recv().unwrap_or_else(|_| Err(io::Error::other(TOO_SHORT)));
            let mut chunk = chunk.map_err(|error| Problem::with(self.path.display(), error))?;
            if let Some(left) = self.passed_over.get_mut(&chunk.stream) {
                let count = chunk.values.len().min(*left);
                chunk.values.remove_front(count);
                *left -= count;
            }
            match self.ahead.get_mut(&chunk.stream) {
                Some(ahead) => ahead.values.append(&chunk.values),
                None => drop(self.ahead.insert(chunk.stream, Ahead { values: chunk.values, played: 0 })),
            }
        }
        let ahead = self.ahead.get(&stream);
        let ahead = ahead.ok_or_else(|| Problem::with(self.path.display(), TOO_SHORT))?;
        Ok((&ahead.values, ahead.played..ahead.played + count))
    }

    /// Goes past the next `count` values of a stream.
    pub(super) fn skip(&mut self, stream: u32, count: usize) {
        let Some(ahead) = self.ahead.get_mut(&stream) else { return };
        ahead.played += count;
        if ahead.played > ahead.values.len() / 2 {
            ahead.values.remove_front(ahead.played);
            ahead.played = 0;
        }
    }
}

/// Reads until the end of the file, or until the rest is no longer wanted.
fn read(mut reader: Reader<impl io::Read + io::Seek>, chunks: &SyncSender<io::Result<Chunk>>) {
    loop {
        let chunk = match reader.next_event() {
            Ok(None) => return,
            Ok(Some(Event::Samples { stream, values, .. })) => Ok(Chunk { stream, values: values.clone() }),
            Ok(Some(_)) => continue,
            Err(error) => Err(error),
        };
        let failed = chunk.is_err();
        if chunks.send(chunk).is_err() || failed {
            return;
        }
    }
}

const CHUNKS_AHEAD: usize = 16;
const TOO_SHORT: &str =
    "the file has become shorter since playing began; play it again when no program writes to it";

#[cfg(test)]
mod tests {
    use schwann_xdf::{Options, Writer};

    use super::*;

    #[test]
    fn every_stream_is_read_at_its_own_pace_and_no_further_than_its_end() {
        let folder = std::env::temp_dir().join(format!("schwann-tape-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("two.xdf");
        let writer = Writer::create(&path, Options::default()).unwrap();
        let streams = ["first", "second"].map(|name| {
            writer
                .add_stream(&format!(
                    "<?xml version=\"1.0\"?><info><name>{name}</name><type>EEG</type><channel_count>2</channel_count>\
                     <nominal_srate>100</nominal_srate><channel_format>int16</channel_format></info>"
                ))
                .unwrap()
        });
        for round in 0..50_i16 {
            for (stream, sign) in streams.iter().zip([1, -1]) {
                stream.push(&[f64::from(round)], &[sign * round, 7]).unwrap();
            }
        }
        writer.finish().unwrap();

        let mut tape = Tape::open(&Location::from(&path)).unwrap();
        let first_two = |(values, next): (&Values, Range<usize>)| match values {
            Values::Int16(values) => values[next][..2].to_vec(),
            other => panic!("{other:?}"),
        };
        for round in 0..50 {
            assert_eq!(first_two(tape.next(2, 2).unwrap()), [-round, 7]);
            tape.skip(2, 2);
        }
        assert_eq!(first_two(tape.next(1, 100).unwrap()), [0, 7], "kept while the other was played");
        tape.skip(1, 98);
        assert_eq!(first_two(tape.next(1, 2).unwrap()), [49, 7]);
        let Err(problem) = tape.next(1, 3) else { panic!("there is nothing more") };
        assert!(matches!(&problem, Problem::Failed(text) if text.contains("shorter")), "{problem:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
