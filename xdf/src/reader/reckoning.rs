//! Reckons the times of samples that follow damage.
//!
//! A stamp that follows from the one before is not written. If damage took that one, the time is a guess until the next written
//! stamp. Guesses are counted, so that none passes for a recorded time.

use std::io::{self, Read, Seek};

use super::frame::{Found, Frame, Framer, Head, XML_BYTES_MAX};
use super::{Reader, Stream};
use crate::header::StreamFooter;
use crate::survey::is_time;
use crate::wire::Tag;

/// What a damaged place took.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lost {
    /// So many samples of one stream.
    Counted {
        stream: u32,
        count: u64,
    },
    Nothing,
    /// Any number of samples, of any stream.
    Unknown,
}

/// What is known of the time of a stream's next sample, if it has no stamp of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// Reckoned past damage.
    Guessed,
    /// It follows from the sample before.
    Known,
    /// Samples are missing before it, and not known how many.
    Lost,
}

impl Stream {
    /// The stamp of the next sample, from the one that is written, if any.
    pub(super) fn next_stamp(&mut self, written: Option<f64>) -> f64 {
        let deduced = self.resume.take().unwrap_or(self.last_stamp.unwrap_or(0.0) + self.interval);
        match written {
            Some(_) => self.place = Place::Known,
            None => self.guessed_stamp_count += u64::from(self.place != Place::Known),
        }
        *self.last_stamp.insert(written.unwrap_or(deduced))
    }

    /// Goes on after samples that were lost.
    fn skip(&mut self, count: u64) {
        let next = self.resume.or(self.last_stamp.map(|last| last + self.interval));
        self.resume = next.map(|next| next + count as f64 * self.interval);
        self.place = match (self.place, next) {
            (Place::Lost, _) | (_, None) => Place::Lost,
            _ => Place::Guessed,
        };
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Notes what was lost, when all before it has been handed out.
    pub(super) fn lose(&mut self, lost: Lost) {
        match lost {
            Lost::Counted { stream, count } => {
                if let Some(stream) = self.streams.get_mut(&stream) {
                    stream.skip(count);
                }
            }
            Lost::Nothing => {}
            Lost::Unknown => self.streams.values_mut().for_each(|stream| stream.place = Place::Lost),
        }
    }

    /// What was lost of a chunk whose length is right, and whose samples could be read so far.
    pub(super) fn lost_of(&mut self, head: Head, found: Found) -> io::Result<Lost> {
        if found.walk.end == head.end {
            return Ok(Lost::Nothing);
        }
        // The count is as damaged as the rest, unless it fits the length.
        if found.walk.complete || !self.framer.is_plausible(head.at)? {
            return Ok(Lost::Unknown);
        }
        Ok(Lost::Counted { stream: found.stream, count: found.count.saturating_sub(found.walk.count) })
    }

    /// Guesses the time of the first of these samples if damage before them took what tells it.
    pub(super) fn reckon(&mut self, found: Found) -> io::Result<()> {
        let Some(stream) = self.streams.get_mut(&found.stream).filter(|stream| stream.place == Place::Lost)
        else {
            return Ok(());
        };
        stream.place = Place::Guessed;
        // At worst they follow at once: none has a later stamp to go by.
        stream.resume = self.framer.count_back(found, stream.interval)?.or(stream.resume);
        Ok(())
    }
}

impl<R: Read + Seek> Framer<R> {
    /// Counts back to the first of these samples from the next stamp of their stream; none if damage or the end comes first.
    fn count_back(&mut self, mut found: Found, interval: f64) -> io::Result<Option<f64>> {
        let mut before = 0;
        let back = |count: u64, stamp: f64| Some(stamp - count as f64 * interval).filter(|at| is_time(*at));
        loop {
            if let Some((count, stamp)) = found.walk.stamp {
                return Ok(back(before + count, stamp));
            }
            before += found.walk.count;
            if !found.walk.complete {
                return Ok(None);
            }
            let Some(head) = self.next_of(found.stream, found.walk.end)? else { return Ok(None) };
            if head.tag == Tag::StreamFooter.number() {
                let footer = self.content(head)?.get(4..).and_then(StreamFooter::parse);
                let last = footer.and_then(|footer| footer.last_stamp);
                return Ok(last.and_then(|last| back(before.saturating_sub(1), last)));
            }
            match self.find_samples(head.content, head.end)? {
                Some(next) if next.walk.end == head.end => found = next,
                _ => return Ok(None),
            }
        }
    }

    /// The next chunk with samples of a stream, or its footer, if only whole chunks stand before it.
    fn next_of(&mut self, stream: u32, mut at: u64) -> io::Result<Option<Head>> {
        while let Frame::Whole(head) = self.frame(at)?
            && self.is_plausible(at)?
            && self.suspect(head.end - at)
        {
            let is_its = self.window.view(head.content, 4)? == stream.to_le_bytes();
            let is_footer = head.tag == Tag::StreamFooter.number() && head.content_len() <= XML_BYTES_MAX;
            if is_its && (is_footer || head.tag == Tag::Samples.number()) {
                return Ok(Some(head));
            }
            at = head.end;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::reader::Event;
    use crate::repair::{Repair, repair_into};
    use crate::survey::Survey;
    use crate::wire::{MAGIC, put_chunk};

    /// Ten chunks of 50 samples at 10 Hz, of which those in `written` have stamps of their own, and where each chunk begins.
    fn file(written: &[usize], has_footer: bool) -> (Vec<u8>, Vec<usize>) {
        const HEADER: &str = "<info><channel_count>2</channel_count><nominal_srate>10</nominal_srate>\
            <channel_format>int16</channel_format></info>";
        let with_id = |xml: &str| [&1_u32.to_le_bytes()[..], xml.as_bytes()].concat();
        let mut file = MAGIC.to_vec();
        put_chunk(&mut file, Tag::FileHeader, None, b"<info><version>1.0</version></info>");
        put_chunk(&mut file, Tag::StreamHeader, None, &with_id(HEADER));
        let mut starts = Vec::new();
        for chunk in 0..10 {
            let mut content = vec![1, 0, 0, 0, 4, 50, 0, 0, 0];
            for sample in chunk * 50..(chunk + 1) * 50 {
                match written.contains(&sample) {
                    true => content.extend([&[8][..], &true_stamp(sample).to_le_bytes()].concat()),
                    false => content.push(0),
                }
                content.extend([7, 0, 9, 1]);
            }
            starts.push(file.len());
            put_chunk(&mut file, Tag::Samples, None, &content);
        }
        if has_footer {
            let last = true_stamp(499);
            let xml = format!(
                "<info><last_timestamp>{last}</last_timestamp><sample_count>500</sample_count></info>"
            );
            put_chunk(&mut file, Tag::StreamFooter, None, &with_id(&xml));
        }
        (file, starts)
    }

    fn true_stamp(sample: usize) -> f64 {
        100.0 + sample as f64 / 10.0
    }

    /// Repairs a file; gives the stamps of the new one as well.
    fn repaired(file: &[u8]) -> (Repair, Vec<f64>, Survey, Vec<u8>) {
        let mut new = Vec::new();
        let done = repair_into(Reader::new(Cursor::new(file)).unwrap(), &mut new, |_, _| {}).unwrap();
        let mut reader = Reader::new(Cursor::new(&new)).unwrap();
        let mut all = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            if let Event::Samples { stamps, .. } = event {
                all.extend_from_slice(stamps);
            }
        }
        let survey = Survey::read(Reader::new(Cursor::new(&new)).unwrap(), |_, _| {}).unwrap();
        (done, all, survey, new)
    }

    /// Whether the samples at the end have the times that they were recorded with, to the bits that rounding leaves.
    fn end_is_in_place(stamps: &[f64]) -> bool {
        let ends = stamps.iter().rev().zip((0..500).rev().map(true_stamp));
        ends.take(250).all(|(stamp, recorded)| (stamp - recorded).abs() < 1e-6)
    }

    #[test]
    fn samples_after_a_damaged_content_keep_their_times_by_its_count() {
        let (mut file, starts) = file(&[0], false);
        file[starts[4] + 40..starts[4] + 80].fill(0xEE);
        let (done, stamps, survey, _) = repaired(&file);
        assert!(end_is_in_place(&stamps), "{stamps:?}");
        assert_eq!((done.damage_count, done.guessed_stamp_count), (1, 250));
        assert_eq!((survey.streams[0].gap_count, survey.streams[0].guessed_stamp_count), (1, 250));
        assert!(!survey.is_sound(), "guesses pass for recorded times");
    }

    #[test]
    fn samples_after_a_lost_chunk_get_their_times_from_the_next_stamp() {
        for (written, has_footer, guessed) in [(&[0, 480][..], false, 230), (&[0][..], true, 250)] {
            let (mut file, starts) = file(written, has_footer);
            file[starts[4]..starts[4] + 40].fill(0xEE);
            let (done, stamps, survey, _) = repaired(&file);
            assert!(end_is_in_place(&stamps), "{written:?}: {stamps:?}");
            assert_eq!((done.damage_count, done.guessed_stamp_count), (1, guessed), "{written:?}");
            assert!(!survey.is_sound() && survey.streams[0].gap_count == 1, "{written:?}");
        }
    }

    #[test]
    fn times_that_nothing_tells_never_pass_for_recorded_ones() {
        let (mut file, starts) = file(&[0], false);
        file[starts[4]..starts[4] + 40].fill(0xEE);
        let (done, stamps, survey, new) = repaired(&file);
        assert_eq!((stamps.len(), done.guessed_stamp_count), (450, 250));
        assert!(!survey.is_sound());
        let (again, ..) = repaired(&new);
        assert_eq!((again.damage_count, again.guessed_stamp_count), (0, 250), "a second repair forgets it");
    }

    #[test]
    fn a_written_stamp_is_no_guess() {
        let firsts: Vec<_> = (0..10).map(|chunk| chunk * 50).collect();
        for damaged in [0..40, 40..80] {
            let (mut file, starts) = file(&firsts, true);
            file[starts[4] + damaged.start..starts[4] + damaged.end].fill(0xEE);
            let (done, stamps, survey, _) = repaired(&file);
            assert!(end_is_in_place(&stamps), "{stamps:?}");
            assert!(done.guessed_stamp_count == 0 && survey.is_sound());
        }
    }
}
