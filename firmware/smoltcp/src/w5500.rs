//! A WIZnet W5500, which carries Ethernet frames over an SPI bus, as a device of smoltcp.
//!
//! Only the chip's raw mode is used (MACRAW): its own TCP knows no sealing, and cannot listen to two groups.
//! Frames lie in the chip's memory until they are asked for; one frame each way is copied at a time.
//!
//! - Source: W5500 datasheet 1.1.0 §2 (SPI frames), §4.1 (common registers), §4.2 (socket registers).

use embedded_hal::spi::{Operation, SpiDevice};
use smoltcp::{
    phy::{self, DeviceCapabilities, Medium},
    time::Instant,
};

/// The chip, on its bus.
pub struct W5500<S> {
    bus: Bus<S>,
    received: [u8; FRAME],
}

/// Why there is no working chip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum W5500Error {
    /// The bus reports an error: look at its pins.
    Bus,
    /// The chip did not open its raw socket: look at its supply.
    Closed,
    /// What answers is no W5500 but says this: look at the pins, and at the bus's speed.
    Version(u8),
}

impl<S: SpiDevice> W5500<S> {
    /// Resets the chip and opens it for frames to `address`, to the broadcast address and
    /// to groups.
    ///
    /// - Errors: [`W5500Error`].
    pub fn new(spi: S, address: [u8; 6]) -> Result<Self, W5500Error> {
        let mut bus = Bus { spi, frame: [0; FRAME], in_flight: false, unsent: 0 };
        bus.start(address).map_err(|_| W5500Error::Bus)??;
        Ok(Self { bus, received: [0; FRAME] })
    }

    /// Whether the cable carries a signal.
    ///
    /// - Errors: [`W5500Error::Bus`].
    pub fn is_linked(&mut self) -> Result<bool, W5500Error> {
        self.bus.byte(COMMON, PHY).map(|phy| phy & 1 != 0).map_err(|_| W5500Error::Bus)
    }

    /// Frames that could not be sent, because the bus failed or the chip had no room; wraps.
    #[must_use]
    pub fn unsent(&self) -> u32 {
        self.bus.unsent
    }
}

impl<S: SpiDevice> phy::Device for W5500<S> {
    type RxToken<'a>
        = Received<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = Sending<'a, S>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_, S>)> {
        if !self.bus.is_ready() {
            return None;
        }
        // A bus that fails is a network without frames.
        let len = self.bus.take_frame(&mut self.received).ok()??;
        Some((Received(self.received.get(..len)?), Sending(&mut self.bus)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_, S>> {
        self.bus.is_ready().then_some(Sending(&mut self.bus))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities.max_burst_size = Some(1);
        capabilities
    }
}

/// A frame that came.
pub struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, then: F) -> R {
        then(self.0)
    }
}

/// Room for a frame to be sent.
pub struct Sending<'a, S>(&'a mut Bus<S>);

impl<S: SpiDevice> phy::TxToken for Sending<'_, S> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, then: F) -> R {
        let result = then(&mut self.0.frame[..len]);
        if !self.0.put_frame(len).unwrap_or(false) {
            self.0.unsent = self.0.unsent.wrapping_add(1);
        }
        result
    }
}

/// The chip's registers and memory.
struct Bus<S> {
    spi: S,
    frame: [u8; FRAME],
    /// The chip has not said yet that the last frame is on the cable.
    in_flight: bool,
    unsent: u32,
}

impl<S: SpiDevice> Bus<S> {
    fn start(&mut self, address: [u8; 6]) -> Result<Result<(), W5500Error>, S::Error> {
        self.write(COMMON, MODE, &[RESET])?;
        self.wait_for_zero(COMMON, MODE, RESET)?;
        let version = self.byte(COMMON, VERSION)?;
        if version != 4 {
            return Ok(Err(W5500Error::Version(version)));
        }
        self.write(COMMON, HARDWARE_ADDRESS, &address)?;
        // All of the chip's memory for socket 0, the only one with a raw mode.
        for socket in 0..8 {
            let kilobytes = if socket == 0 { 16 } else { 0 };
            self.write(4 * socket + SOCKET, BUFFER_SIZES, &[kilobytes; 2])?;
        }
        self.write(SOCKET, MODE, &[RAW])?;
        self.command(OPEN)?;
        let status = self.byte(SOCKET, STATUS)?;
        Ok(if status == STATUS_RAW { Ok(()) } else { Err(W5500Error::Closed) })
    }

    /// Whether a frame can be handed over.
    fn is_ready(&mut self) -> bool {
        if self.in_flight && self.byte(SOCKET, EVENTS).is_ok_and(|events| events & SENT != 0) {
            // A one clears the event.
            self.in_flight = self.write(SOCKET, EVENTS, &[SENT]).is_err();
        }
        !self.in_flight
    }

    /// Copies the next frame out of the chip; returns its length, or nothing if there is none.
    fn take_frame(&mut self, out: &mut [u8; FRAME]) -> Result<Option<usize>, S::Error> {
        if self.counter(RECEIVED_LEN)? < 2 {
            return Ok(None);
        }
        let start = self.word(READ_AT)?;
        let mut whole = [0; 2];
        self.read(RECEIVED, start, &mut whole)?;
        // The length counts itself.
        let whole = u16::from_be_bytes(whole);
        let len = usize::from(whole).saturating_sub(2);
        let Some(frame) = out.get_mut(..len).filter(|frame| !frame.is_empty()) else {
            // No frame has this length: chip and driver have lost step, and begin anew.
            self.command(CLOSE)?;
            self.command(OPEN)?;
            return Ok(None);
        };
        self.read(RECEIVED, start.wrapping_add(2), frame)?;
        self.write(SOCKET, READ_AT, &start.wrapping_add(whole).to_be_bytes())?;
        self.command(RECEIVE)?;
        Ok(Some(len))
    }

    /// Hands the chip the first `len` bytes of the frame; tells whether it had room.
    fn put_frame(&mut self, len: usize) -> Result<bool, S::Error> {
        let (room, start) = (self.counter(FREE)?, self.word(WRITE_AT)?);
        let Some(len) = u16::try_from(len).ok().filter(|len| *len <= room) else { return Ok(false) };
        let head = head(TO_SEND, start, WRITE);
        let frame = &self.frame[..usize::from(len)];
        self.spi.transaction(&mut [Operation::Write(&head), Operation::Write(frame)])?;
        self.write(SOCKET, WRITE_AT, &start.wrapping_add(len).to_be_bytes())?;
        self.command(SEND)?;
        self.in_flight = true;
        Ok(true)
    }

    fn command(&mut self, command: u8) -> Result<(), S::Error> {
        self.write(SOCKET, COMMAND, &[command])?;
        self.wait_for_zero(SOCKET, COMMAND, 0xff)
    }

    /// Waits until the chip has cleared these bits, which takes it microseconds, but not for ever.
    fn wait_for_zero(&mut self, block: u8, address: u16, bits: u8) -> Result<(), S::Error> {
        for _ in 0..LOOKS_MAX {
            if self.byte(block, address)? & bits == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Reads a counter that the chip may change meanwhile, until it is the same twice (W5500 datasheet 1.1.0 §4.2, Sn_TX_FSR).
    fn counter(&mut self, address: u16) -> Result<u16, S::Error> {
        let mut before = self.word(address)?;
        for _ in 0..LOOKS_MAX {
            let again = self.word(address)?;
            if again == before {
                break;
            }
            before = again;
        }
        Ok(before)
    }

    fn word(&mut self, address: u16) -> Result<u16, S::Error> {
        let mut bytes = [0; 2];
        self.read(SOCKET, address, &mut bytes)?;
        Ok(u16::from_be_bytes(bytes))
    }

    fn byte(&mut self, block: u8, address: u16) -> Result<u8, S::Error> {
        let mut byte = [0];
        self.read(block, address, &mut byte)?;
        Ok(byte[0])
    }

    fn read(&mut self, block: u8, address: u16, out: &mut [u8]) -> Result<(), S::Error> {
        let head = head(block, address, READ);
        self.spi.transaction(&mut [Operation::Write(&head), Operation::Read(out)])
    }

    fn write(&mut self, block: u8, address: u16, bytes: &[u8]) -> Result<(), S::Error> {
        let head = head(block, address, WRITE);
        self.spi.transaction(&mut [Operation::Write(&head), Operation::Write(bytes)])
    }
}

/// Address and control byte before data of any length (W5500 datasheet 1.1.0 §2.2).
fn head(block: u8, address: u16, direction: u8) -> [u8; 3] {
    let [high, low] = address.to_be_bytes();
    [high, low, block << 3 | direction]
}

/// Longest frame, without its checksum, in bytes.
const FRAME: usize = 1514;
/// Looks at a bit before the chip is taken for broken.
const LOOKS_MAX: u32 = 1000;

// Blocks of addresses (W5500 datasheet 1.1.0 §2.2.2); those of socket n lie 4 n further.
const COMMON: u8 = 0;
const SOCKET: u8 = 1;
const TO_SEND: u8 = 2;
const RECEIVED: u8 = 3;
const READ: u8 = 0;
const WRITE: u8 = 4;

// Common registers (W5500 datasheet 1.1.0 §4.1).
const MODE: u16 = 0;
const RESET: u8 = 0x80;
const HARDWARE_ADDRESS: u16 = 9;
const PHY: u16 = 0x2e;
const VERSION: u16 = 0x39;

// Socket registers (W5500 datasheet 1.1.0 §4.2).
/// Only raw frames to our address, to the broadcast address and to groups: MACRAW and
/// MFEN.
const RAW: u8 = 0x84;
const COMMAND: u16 = 1;
const OPEN: u8 = 0x01;
const CLOSE: u8 = 0x10;
const SEND: u8 = 0x20;
const RECEIVE: u8 = 0x40;
const EVENTS: u16 = 2;
const SENT: u8 = 0x10;
const STATUS: u16 = 3;
const STATUS_RAW: u8 = 0x42;
const BUFFER_SIZES: u16 = 0x1e;
const FREE: u16 = 0x20;
const WRITE_AT: u16 = 0x24;
const RECEIVED_LEN: u16 = 0x26;
const READ_AT: u16 = 0x28;

#[cfg(test)]
mod tests;
