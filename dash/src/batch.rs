//! Samples on their way from an inlet to a row, so that the row is locked once for many.

use schwann::{ChannelFormat, Error, Inlet};

/// Some samples of one stream.
pub(super) struct Batch {
    /// Stamps on the sender's clock.
    pub(super) stamps: Vec<f64>,
    /// What strings say, one text per sample.
    pub(super) texts: Vec<String>,
    /// Whether samples before or between them came and were dropped here, because this computer is too slow for the picture.
    pub(super) lacks_dropped: bool,
    /// How many the inlet had dropped when the batch before was taken out, and one earlier.
    dropped: [u64; 2],
    bytes: Vec<u8>,
    sample_len: usize,
}

impl Batch {
    /// Begins without samples, of a stream with this format and number of channels.
    pub(super) fn new(format: ChannelFormat, channel_count: usize) -> Self {
        let sample_len = format.value_size().unwrap_or(0) * channel_count;
        Self {
            stamps: Vec::new(),
            texts: Vec::new(),
            lacks_dropped: false,
            dropped: [0; 2],
            bytes: Vec::new(),
            sample_len,
        }
    }

    /// Pulls one sample into the batch; returns its stamp on the sender's clock.
    ///
    /// - Errors: those of the inlet.
    pub(super) fn pull(&mut self, inlet: &Inlet, timeout: f64) -> Result<Option<f64>, Error> {
        let stamp = if self.sample_len == 0 {
            let mut text = String::new();
            let stamp = inlet.pull_strings(timeout, |part| append(&mut text, part))?;
            self.texts.extend(stamp.map(|_| text));
            stamp
        } else {
            let used = self.stamps.len() * self.sample_len;
            self.bytes.resize(used + self.sample_len, 0);
            inlet.pull_raw_sample(self.bytes.get_mut(used..).unwrap_or_default(), timeout)?
        };
        self.stamps.extend(stamp);
        Ok(stamp)
    }

    /// Takes in how many samples the inlet has dropped until now. What it dropped just now lies before the next batch, if not in
    /// this one.
    pub(super) fn note_dropped(&mut self, dropped: u64) {
        let [before, earlier] = self.dropped;
        self.lacks_dropped = dropped != earlier;
        self.dropped = [dropped, before];
    }

    /// The values of one sample, as this machine stores them.
    pub(super) fn sample(&self, row: usize) -> &[u8] {
        let start = row * self.sample_len;
        self.bytes.get(start..start + self.sample_len).unwrap_or_default()
    }

    /// Whether it is time to take the samples out.
    pub(super) fn is_full(&self) -> bool {
        self.stamps.len() >= BATCH_SAMPLES || self.stamps.len() * self.sample_len >= BATCH_BYTES
    }

    /// Forgets the samples, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.stamps.clear();
        self.texts.clear();
    }
}

fn append(text: &mut String, part: &[u8]) {
    if !text.is_empty() && !part.is_empty() {
        text.push_str(", ");
    }
    let part = String::from_utf8_lossy(part);
    text.extend(part.chars().take(TEXT_CHARS.saturating_sub(text.len())));
}

const BATCH_BYTES: usize = 8 << 20;
const BATCH_SAMPLES: usize = 8192;
const TEXT_CHARS: usize = 200;
