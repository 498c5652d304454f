//! Reads one stream of a recording in its order, a little ahead of what is played.

use core::ops::Range;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use schwann_xdf::{Block, Damage, IndexedRecording, Location, Passage, Source, Values};

use crate::exit::Problem;
use crate::terminal::printable_path;

/// A stretch of a stream that is being read by a thread of its own; at most [`BLOCKS_AHEAD`] blocks are read and not asked for.
///
/// Each stream has its own place in the file, which the index gives. So nothing is read before the stretch, and a stream of
/// few samples holds up no other.
pub(super) struct Tape {
    path: PathBuf,
    pieces: Receiver<Result<Piece, Problem>>,
    /// What is played now.
    samples: Samples,
    /// Samples of it that were played.
    played: usize,
    /// Where the stretch ends, in seconds on the recorder's clock.
    until: f64,
    /// Whether damage is new to the person: an index that was found by reading has told of it.
    tells_damage: bool,
    /// The bytes at which the recording was found to be damaged.
    damaged: BTreeSet<u64>,
}

/// Samples that were read.
pub(super) struct Samples {
    /// In seconds on the recorder's clock.
    pub(super) stamps: Vec<f64>,
    /// When each is due, on the same clock.
    pub(super) dues: Vec<f64>,
    pub(super) values: Values,
}

enum Piece {
    Damage(Damage),
    Samples(Samples),
}

impl Tape {
    /// Begins to read a stream from the first sample that is due `within` to the last, on the recorder's clock.
    pub(super) fn open(
        recording: &IndexedRecording<Source>,
        location: &Location,
        stream: u32,
        within: &Range<f64>,
    ) -> Result<Self, Problem> {
        let path = location.path().to_owned();
        let passage = recording.follow(location, stream, within.start);
        let passage = passage.map_err(|error| Problem::with(path.display(), error))?;
        let (sender, pieces) = sync_channel(BLOCKS_AHEAD);
        if let Some(passage) = passage {
            let path = path.clone();
            thread::Builder::new()
                .name("tape".to_owned())
                .spawn(move || read(passage, &path, &sender))
                .map_err(|error| Problem::with("a thread that reads the recording", error))?;
        }
        let samples = Samples { stamps: Vec::new(), dues: Vec::new(), values: Values::Int8(Vec::new()) };
        let tells_damage = !recording.was_scanned();
        let (played, until, damaged) = (0, within.end, BTreeSet::new());
        Ok(Self { path, pieces, samples, played, until, tells_damage, damaged })
    }

    /// When the next sample is due, in seconds on the recorder's clock; infinity after the last.
    ///
    /// - Errors: the file cannot be read, or ends too early: it has changed since it was opened.
    pub(super) fn due(&mut self) -> Result<f64, Problem> {
        loop {
            if let Some(&due) = self.samples.dues.get(self.played) {
                return Ok(if due < self.until { due } else { f64::INFINITY });
            }
            match self.pieces.recv() {
                Err(_) => return Ok(f64::INFINITY),
                Ok(piece) => match piece? {
                    Piece::Damage(damage) => self.note(&damage),
                    Piece::Samples(samples) => (self.samples, self.played) = (samples, 0),
                },
            }
        }
    }

    fn note(&mut self, damage: &Damage) {
        if self.damaged.insert(damage.at) && self.tells_damage {
            tell(&self.path, damage);
        }
    }

    /// The bytes at which the recording was found to be damaged so far.
    pub(super) fn damaged(&self) -> &BTreeSet<u64> {
        &self.damaged
    }

    /// What is read, and which of it is due by `now` in the stretch; at most so many.
    pub(super) fn due_by(&self, now: f64, most: usize) -> (&Samples, Range<usize>) {
        let waiting = self.samples.dues.get(self.played..).unwrap_or_default();
        let count = waiting.partition_point(|&due| due <= now && due < self.until).min(most);
        (&self.samples, self.played..self.played + count)
    }

    /// Goes past so many samples.
    pub(super) fn skip(&mut self, count: usize) {
        self.played += count;
    }
}

/// Says where a recording is damaged.
pub(super) fn tell(path: &Path, damage: &Damage) {
    eprintln!("schwann: {}: damaged at byte {}: {}", printable_path(path), damage.at, damage.kind);
}

/// Reads until the end of the stream, or until the rest is no longer wanted.
fn read(mut passage: Passage<Source>, path: &Path, pieces: &SyncSender<Result<Piece, Problem>>) {
    let mut is_damaged = false;
    loop {
        let piece = match passage.next_block() {
            Ok(None) => break,
            Ok(Some(Block::Damage(damage))) => {
                is_damaged = true;
                Ok(Piece::Damage(damage))
            }
            Ok(Some(Block::Samples { stamps, dues, values })) => Ok(Piece::Samples(Samples {
                stamps: stamps.to_vec(),
                dues: dues.to_vec(),
                values: values.into_owned(),
            })),
            Ok(Some(_)) => continue,
            Err(error) => Err(Problem::with(path.display(), error)),
        };
        let failed = piece.is_err();
        if pieces.send(piece).is_err() || failed {
            return;
        }
    }
    if passage.missing() > 0 && !is_damaged {
        // If the rest is not wanted, this is not either.
        let _ = pieces.send(Err(Problem::with(path.display(), TOO_SHORT)));
    }
}

const BLOCKS_AHEAD: usize = 8;
const TOO_SHORT: &str =
    "the file has become shorter since playing began; play it again when no program writes to it";

#[cfg(test)]
mod tests {
    use std::fs;

    use schwann_xdf::{Options, Writer};

    use super::*;

    /// Fifty rounds of two streams, the second with negative values, in a folder of its own.
    fn recording(test: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("schwann-tape-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
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
        (folder, path)
    }

    /// Plays all that is due by `now`; returns the first value of each sample.
    fn play(tape: &mut Tape, now: f64) -> Vec<i16> {
        let mut played = Vec::new();
        while tape.due().unwrap() <= now {
            let (samples, rows) = tape.due_by(now, 7);
            let Values::Int16(values) = &samples.values else { panic!("{:?}", samples.values) };
            played.extend(rows.clone().map(|row| values[2 * row]));
            let count = rows.len();
            tape.skip(count);
        }
        played
    }

    #[test]
    fn every_stream_is_read_at_its_own_pace_and_in_its_stretch() {
        let (folder, path) = recording("pace");
        let location = Location::from(&path);
        let recording = IndexedRecording::open(&path, |_, _| {}).unwrap();
        let open = |id, within| Tape::open(&recording, &location, id, &within).unwrap();
        let mut second = open(2, f64::NEG_INFINITY..f64::INFINITY);
        assert_eq!(play(&mut second, 100.0), (0..50).map(|n: i16| -n).collect::<Vec<_>>());
        assert_eq!(second.due().unwrap(), f64::INFINITY);
        let mut first = open(1, 10.0..20.0);
        assert_eq!(first.due().unwrap(), 10.0);
        assert_eq!(play(&mut first, 14.5), [10, 11, 12, 13, 14]);
        assert_eq!(play(&mut first, 100.0), [15, 16, 17, 18, 19]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_became_shorter_is_told() {
        let (folder, path) = recording("shorter");
        let recording = IndexedRecording::open(&path, |_, _| {}).unwrap();
        let whole = fs::read(&path).unwrap();
        // Nothing of the samples is left.
        let first = recording.index().streams[0].entries[0].at as usize;
        fs::write(&path, &whole[..first]).unwrap();
        let mut tape =
            Tape::open(&recording, &Location::from(&path), 1, &(f64::NEG_INFINITY..f64::INFINITY)).unwrap();
        let problem = tape.due().unwrap_err();
        assert!(matches!(&problem, Problem::Failed(text) if text.contains("shorter")), "{problem:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
