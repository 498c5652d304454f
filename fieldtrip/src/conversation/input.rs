/// Bytes that have arrived and are not used yet.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; FIRST_BYTES], start: 0, end: 0 }
    }

    /// Without room, to stand in for another one.
    pub(super) fn unallocated() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(super) fn available(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The first `length` bytes, which the caller has seen to be there.
    pub(super) fn front_mut(&mut self, length: usize) -> &mut [u8] {
        self.bytes.get_mut(self.start..self.start + length).unwrap_or_default()
    }

    pub(super) fn consume(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Moves bytes to the front of `out`; says how many.
    pub(super) fn take_into(&mut self, out: &mut [u8]) -> usize {
        let length = self.len().min(out.len());
        if let (Some(place), Some(bytes)) = (out.get_mut(..length), self.available().get(..length)) {
            place.copy_from_slice(bytes);
        }
        self.consume(length);
        length
    }

    /// Room for more, such that `wanted` bytes in all find place.
    pub(super) fn space(&mut self, wanted: usize) -> &mut [u8] {
        if self.start > 0 && (self.end == self.bytes.len() || self.start + wanted > self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if wanted > self.bytes.len() {
            self.bytes.resize(wanted.next_power_of_two(), 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    pub(super) fn filled(&mut self, length: usize) {
        self.end = (self.end + length).min(self.bytes.len());
    }
}

/// Room at first: enough for the requests of readers, and little to zero for a connection with one request.
const FIRST_BYTES: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let mut input = Input::new();
        let (mut written, mut read) = (0_u32, 0_u32);
        for round in 0..5000_usize {
            let space = input.space(1 + round % 9000);
            let count = space.len().min(1 + round % 777);
            for place in &mut space[..count] {
                *place = written as u8;
                written += 1;
            }
            input.filled(count);
            let mut out = vec![0; (round * 7) % 1500];
            let taken = input.take_into(&mut out);
            for byte in &out[..taken] {
                assert_eq!(*byte, read as u8);
                read += 1;
            }
        }
        assert_eq!(input.len(), (written - read) as usize);
    }
}
