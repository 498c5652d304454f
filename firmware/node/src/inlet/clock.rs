//! Measuring how far the outlet's clock is from ours.

use core::time::Duration;

use schwann_proto::{
    clock::{ClockEstimate, ClockOutput},
    wire::{ByteWriter, Sink as _, timedata},
};

use super::{ANSWER_TIMEOUT_US, Inlet, Phase};
use crate::time::{Micros, Wait};

impl<const RX: usize, const TX: usize> Inlet<'_, RX, TX> {
    /// Writes the next clock probe into `out`, to be sent to the outlet's service port. Or says when to ask again.
    ///
    /// - Errors: until when there is nothing to send.
    pub fn poll_probe(&mut self, now: Micros, out: &mut [u8]) -> Result<usize, Wait> {
        if !matches!(self.phase, Phase::Receiving(_)) {
            return Err(Wait::ForEvent);
        }
        let request = match self.clock.poll(now.seconds()) {
            ClockOutput::Send(request) => request,
            // A microsecond late is early enough.
            ClockOutput::WaitUntil(then) => {
                let left = Duration::try_from_secs_f64(then - now.seconds()).unwrap_or_default();
                let micros = u64::try_from(left.as_micros()).unwrap_or(ANSWER_TIMEOUT_US);
                return Err(Wait::Until(now.after(micros.saturating_add(1))));
            }
        };
        let mut room = [0; 128];
        let mut writer = ByteWriter::new(&mut room);
        request.encode(&mut writer).map_err(|_| Wait::ForEvent)?;
        match (&mut self.datagrams, &self.layer) {
            (Some(datagrams), _) => datagrams.seal(writer.written(), out).map_err(|_| Wait::ForEvent),
            // A sealed link without keys for datagrams: nothing goes in the clear instead.
            (None, Some(_)) => Err(Wait::ForEvent),
            (None, None) => {
                let len = writer.len();
                out.get_mut(..len).ok_or(Wait::ForEvent)?.copy_from_slice(writer.written());
                Ok(len)
            }
        }
    }

    /// Takes a datagram that came from the outlet's service port.
    pub fn handle_datagram(&mut self, datagram: &mut [u8], now: Micros) {
        let plain = match &mut self.datagrams {
            Some(datagrams) => datagrams.open(datagram).ok(),
            None if self.layer.is_none() => Some(0..datagram.len()),
            None => None,
        };
        let reply = plain.and_then(|plain| timedata::Reply::parse(datagram.get(plain)?));
        if let Some(reply) = reply {
            self.clock.handle_reply(&reply, now.seconds());
        }
    }

    /// How far the outlet's clock is from ours, once it is known.
    #[must_use]
    pub fn clock_estimate(&self) -> Option<ClockEstimate> {
        self.clock.estimate()
    }
}
