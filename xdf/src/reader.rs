//! Reads a recording chunk by chunk, in bounded memory, past any damage.
//!
//! Nothing in a file is believed without a check. The file's size bounds lengths and counts. A chunk
//! that does not fit its content is read up to its last whole sample. Reading then goes on at the next
//! place that makes sense. Each such place is reported as [`Event::Damage`].

mod chunks;
mod damaged;
mod event;
mod frame;
mod layout;
mod places;
mod reckoning;
mod window;

use std::collections::HashMap;
use std::io::{self, Read, Seek};

pub use event::{Damage, DamageKind, Event, ReadError};
use frame::{Found, Frame, Framer, PIECE, XML_BYTES_MAX};
use layout::{Measure, append_row};
use reckoning::{Lost, Place};
use window::Window;

use crate::checksum::Checksum;
use crate::header::{StreamFooter, StreamHeader};
use crate::source::{AGE, Flaws, GZIP, Location, Source};
use crate::values::Values;
use crate::wire::MAGIC;

/// Reads a recording.
#[derive(Debug)]
pub struct Reader<R> {
    framer: Framer<R>,
    at: u64,
    streams: HashMap<u32, Stream>,
    decoding: Option<Decoding>,
    /// Damage that is told next, and what it took.
    pending: Option<(Damage, Lost)>,
    /// What is wrong with the end of what is around the recording, until it is told.
    at_end: Option<Damage>,
    checksums: Vec<Checksum>,
    displaced_checksum: Option<u64>,
    unknown_chunk_count: u64,
    /// The one stream whose samples are wanted; all if none.
    only: Option<u32>,
    /// The XML, footer, stamps and values handed out last.
    text: String,
    footer: StreamFooter,
    stamps: Vec<f64>,
    values: Values,
}

impl Reader<Source> {
    /// Opens a recording: plain, compressed, or sealed to a key that comes with its [`Location`].
    ///
    /// - Errors: as [`Location::open`] and [`Reader::new`].
    pub fn open(recording: impl Into<Location>) -> Result<Self, ReadError> {
        recording.into().reader()
    }

    /// Begins to read a recording that was opened.
    ///
    /// - Errors: as [`Reader::new`].
    pub fn of(source: Source) -> Result<Self, ReadError> {
        let flaws = source.flaws();
        Self::with_flaws(source, flaws)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Begins to read `source` at its beginning.
    ///
    /// - Errors: [`ReadError::Compressed`] or [`ReadError::Sealed`] if it is not the plain recording.
    ///   [`ReadError::NotXdf`] if it lacks [`MAGIC`] and has no chunk near its beginning. [`ReadError::Io`] from the
    ///   source.
    pub fn new(source: R) -> Result<Self, ReadError> {
        Self::with_flaws(source, Flaws::default())
    }

    fn with_flaws(source: R, flaws: Flaws) -> Result<Self, ReadError> {
        let window = Window::new(source)?;
        let suspicion = window.len().saturating_mul(16).saturating_add(16 * XML_BYTES_MAX);
        let at_end = flaws.at_end();
        let mut framer = Framer { window, layouts: HashMap::new(), suspicion, flaws };
        let (at, damage) = beginning(&mut framer)?;
        Ok(Self {
            framer,
            at,
            streams: HashMap::new(),
            decoding: None,
            // No stream has begun there.
            pending: damage.map(|damage| (damage, Lost::Nothing)),
            at_end,
            checksums: Vec::new(),
            displaced_checksum: None,
            unknown_chunk_count: 0,
            only: None,
            text: String::new(),
            footer: StreamFooter::default(),
            stamps: Vec::new(),
            values: Values::String(Vec::new()),
        })
    }

    /// Returns what comes next; none at the end of the file.
    ///
    /// - Errors: from the source only. Damage is not an error but [`Event::Damage`].
    pub fn next_event(&mut self) -> io::Result<Option<Event<'_>>> {
        let step = loop {
            match self.step()? {
                Step::Done => return Ok(None),
                Step::Again => {}
                step => break step,
            }
        };
        Ok(self.event(step))
    }

    /// Returns how far reading has come, and how far it goes, in bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.at.min(self.framer.window.len()), self.framer.window.len())
    }

    /// Returns where the first checksum is that belongs elsewhere in a file, if one was found: bytes are missing before it, or were
    /// added.
    pub const fn displaced_checksum(&self) -> Option<u64> {
        self.displaced_checksum
    }

    /// Returns how many whole chunks of kinds that are not known here were passed over so far.
    pub const fn unknown_chunk_count(&self) -> u64 {
        self.unknown_chunk_count
    }

    /// Returns the checksums that were found so far.
    #[must_use]
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    /// Returns the samples so far of a stream whose stamps are guesses: damage took what tells them, here or in the recording
    /// that this one was repaired from.
    pub fn guessed_stamp_count(&self, stream: u32) -> u64 {
        self.streams.get(&stream).map_or(0, |stream| stream.guessed_stamp_count)
    }

    /// Whether what comes next is another piece of the chunk before.
    pub(crate) const fn is_inside_chunk(&self) -> bool {
        self.decoding.is_some()
    }

    /// Returns the header of a stream that has been met.
    pub(crate) fn header(&self, id: u32) -> Option<&StreamHeader> {
        self.streams.get(&id).map(|stream| &stream.header)
    }

    /// Goes on at the chunk that begins at `at`; streams that have been met stay known.
    pub(crate) fn seek_to(&mut self, at: u64) {
        (self.at, self.decoding, self.pending) = (at, None, None);
        self.streams.values_mut().for_each(|stream| (stream.resume, stream.place) = (None, Place::Known));
    }

    /// Begins anew.
    pub(crate) fn rewind(&mut self) {
        self.seek_to(MAGIC.len() as u64);
        self.at_end = self.framer.flaws.at_end();
        self.streams.clear();
        self.framer.layouts.clear();
        self.checksums.clear();
        (self.displaced_checksum, self.unknown_chunk_count) = (None, 0);
    }

    fn event(&self, step: Step) -> Option<Event<'_>> {
        Some(match step {
            Step::Again | Step::Done => return None,
            Step::Boundary => Event::Boundary,
            Step::ClockOffset { stream, collected, offset } => {
                Event::ClockOffset { stream, collected, offset }
            }
            Step::Damage(damage) => Event::Damage(damage),
            Step::FileHeader => Event::FileHeader { xml: &self.text },
            Step::Samples(stream) => Event::Samples { stream, stamps: &self.stamps, values: &self.values },
            Step::StreamFooter(stream) => Event::StreamFooter { stream, footer: &self.footer },
            Step::StreamHeader(stream) => Event::StreamHeader(&self.streams.get(&stream)?.header),
        })
    }

    /// Goes on by one chunk, or one piece of one.
    fn step(&mut self) -> io::Result<Step> {
        if let Some(decoding) = self.decoding.take() {
            return self.decode(decoding);
        }
        if let Some((damage, lost)) = self.pending.take() {
            self.lose(lost);
            return Ok(Step::Damage(damage));
        }
        let frame = self.framer.frame(self.at)?;
        if let Some(step) = self.step_another(frame)? {
            return Ok(step);
        }
        match frame {
            Frame::End => Ok(self.at_end.take().map_or(Step::Done, Step::Damage)),
            Frame::Invalid => match self.chunk_by_content(u64::MAX)? {
                Some(step) => Ok(step),
                None => self.step_lost(),
            },
            Frame::Torn(head, _) => self.step_torn(head),
            Frame::Whole(head) if self.is_unwanted(head)? => {
                self.at = head.end;
                Ok(Step::Again)
            }
            Frame::Whole(head) if self.swallows(head)? => self.step_lost(),
            Frame::Whole(head) => match self.chunk(head)? {
                Some(step) => Ok(step),
                None => self.step_misfit(head),
            },
        }
    }

    fn begin_samples(&mut self, found: Found) -> io::Result<()> {
        if found.walk.count > 0 {
            self.reckon(found)?;
            self.decoding = Some(Decoding {
                stream: found.stream,
                at: found.first,
                end: found.walk.end,
                left: found.walk.count,
            });
        }
        Ok(())
    }

    /// Decodes one piece of a chunk's samples, which have been walked over before.
    fn decode(&mut self, mut decoding: Decoding) -> io::Result<Step> {
        let (Some(stream), Some(layout)) =
            (self.streams.get_mut(&decoding.stream), self.framer.layouts.get(&decoding.stream).copied())
        else {
            return Ok(Step::Again);
        };
        self.stamps.clear();
        if self.values.format() == stream.header.format {
            self.values.clear();
        } else {
            self.values = Values::new(stream.header.format);
        }
        let mut want = PIECE;
        while self.stamps.is_empty() && decoding.left > 0 {
            // Not beyond the chunk: what the window holds lasts for many short ones.
            let room = usize::try_from(decoding.end.saturating_sub(decoding.at)).unwrap_or(usize::MAX);
            let bytes = self.framer.window.view(decoding.at, want.min(room))?;
            let available = bytes.len();
            let mut from = 0;
            while decoding.left > 0
                && let Some(rest) = bytes.get(from..)
                && let Measure::Sample { stamp, values, end } = layout.measure(rest)
            {
                self.stamps.push(stream.next_stamp(stamp));
                append_row(&mut self.values, rest.get(values..end).unwrap_or_default());
                decoding.left -= 1;
                from += end;
            }
            decoding.at += from as u64;
            if from == 0 && available < want {
                // The file became shorter since we walked over it.
                return Ok(Step::Again);
            }
            want = want.saturating_mul(2);
        }
        let stream = decoding.stream;
        self.decoding = Some(decoding).filter(|decoding| decoding.left > 0);
        Ok(Step::Samples(stream))
    }
}

/// Where the first chunk begins, and what is damaged before it.
fn beginning<R: Read + Seek>(framer: &mut Framer<R>) -> Result<(u64, Option<Damage>), ReadError> {
    let mut at = MAGIC.len() as u64;
    if framer.window.view(0, MAGIC.len())? == MAGIC {
        return Ok((at, None));
    }
    if framer.window.view(0, GZIP.len())? == GZIP {
        return Err(ReadError::Compressed);
    }
    if framer.window.view(0, AGE.len())? == AGE {
        return Err(ReadError::Sealed);
    }
    // A damaged beginning must not cost the file.
    if framer.window.len() <= at || !framer.is_plausible(at)? {
        at = framer.resync(0, BEGINNING_BYTES)?;
    }
    if at >= framer.window.len() {
        return Err(ReadError::NotXdf);
    }
    Ok((at, Some(Damage { at: 0, bytes: at, kind: DamageKind::Magic })))
}

/// What reading came upon.
#[derive(Clone, Copy, Debug)]
enum Step {
    Again,
    Boundary,
    ClockOffset { stream: u32, collected: f64, offset: f64 },
    Damage(Damage),
    Done,
    FileHeader,
    Samples(u32),
    StreamFooter(u32),
    StreamHeader(u32),
}

/// A stream that has been met.
#[derive(Debug)]
struct Stream {
    header: StreamHeader,
    /// Where the header begins.
    header_at: u64,
    interval: f64,
    last_stamp: Option<f64>,
    /// The stamp of the next sample, if it has none of its own: what was passed over would have told it.
    resume: Option<f64>,
    place: Place,
    guessed_stamp_count: u64,
}

/// Samples that have been found and not yet handed out.
#[derive(Clone, Copy, Debug)]
struct Decoding {
    stream: u32,
    at: u64,
    /// Where the last of them ends.
    end: u64,
    left: u64,
}

/// Where a recording that lost its beginning must go on at the latest.
const BEGINNING_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests;
