use crate::wire::{Command, DEFINITION_BYTES, Definition};

/// Reads the requests that a relay passes on, and finds the first one that would change the buffer.
///
/// Sans-IO: it keeps nothing but where it is in the stream of requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Onlooker {
    definition: [u8; DEFINITION_BYTES],
    filled: usize,
    payload_left: u32,
}

/// Why requests must not be passed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// The bytes are no requests of this protocol.
    Malformed,
    /// A request would change the buffer.
    Writing(Command),
}

impl core::fmt::Display for Stopped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Malformed => f.write_str("the bytes are no requests to a FieldTrip buffer"),
            Self::Writing(command) => write!(f, "{command:?} would change the buffer"),
        }
    }
}

impl core::error::Error for Stopped {}

impl Onlooker {
    /// Looks at the next bytes of the stream, in pieces of any length.
    ///
    /// - Errors: [`Stopped`]: do not pass on these bytes or any that follow.
    pub fn look(&mut self, mut bytes: &[u8]) -> Result<(), Stopped> {
        loop {
            let skipped = usize::try_from(self.payload_left).unwrap_or(usize::MAX).min(bytes.len());
            bytes = bytes.get(skipped..).unwrap_or_default();
            self.payload_left -= u32::try_from(skipped).unwrap_or(self.payload_left);
            let Some((byte, rest)) = bytes.split_first() else { return Ok(()) };
            if let Some(place) = self.definition.get_mut(self.filled) {
                *place = *byte;
            }
            bytes = rest;
            self.filled += 1;
            if self.filled == DEFINITION_BYTES {
                self.filled = 0;
                self.payload_left = judge(self.definition)?;
            }
        }
    }
}

/// Returns the length of the payload of a request that only reads.
fn judge(definition: [u8; DEFINITION_BYTES]) -> Result<u32, Stopped> {
    let definition = Definition::parse(definition).map_err(|_| Stopped::Malformed)?;
    match Command::parse(definition.code) {
        None => Err(Stopped::Malformed),
        Some(command) if command.is_writing() => Err(Stopped::Writing(command)),
        Some(_) => Ok(definition.payload_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ByteOrder;

    fn request(command: Command, order: ByteOrder, payload: &[u8]) -> Vec<u8> {
        let payload_bytes = payload.len() as u32;
        [&Definition { code: command.code(), order, payload_bytes }.encode()[..], payload].concat()
    }

    fn stopped(requests: &[u8], piece: usize) -> Option<Stopped> {
        let mut onlooker = Onlooker::default();
        requests.chunks(piece).find_map(|piece| onlooker.look(piece).err())
    }

    #[test]
    fn reading_passes_and_the_first_writing_is_found_in_any_pieces() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            // A payload that looks like a request is none.
            let bait = request(Command::FlushHeader, order, &[]);
            let reads =
                [request(Command::GetHeader, order, &bait), request(Command::Wait, order, &[0; 12])].concat();
            for command in Command::ALL {
                let all = [&reads[..], &request(command, order, &[1; 5])].concat();
                let expected = command.is_writing().then_some(Stopped::Writing(command));
                for piece in [1, 3, 8, 1000] {
                    assert_eq!(stopped(&all, piece), expected, "{command:?} in pieces of {piece}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_request_is_stopped() {
        for bytes in [*b"GET / HT", [1, 0, 0x77, 7, 0, 0, 0, 0], [2, 0, 1, 2, 0, 0, 0, 0]] {
            assert_eq!(stopped(&bytes, 8), Some(Stopped::Malformed));
        }
    }
}
