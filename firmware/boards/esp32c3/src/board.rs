//! Clock, date, randomness and flash of the chip.

use esp_hal::{rng::Trng, time::Instant};
use esp_storage::FlashStorage;
use schwann_node::{Micros, Surroundings};
use schwann_node_smoltcp::Board;
use schwann_session::{
    Calendar, Entropy, NoEntropy, UnixSeconds,
    key_slots::{Flash, FlashError, Slot},
};

pub fn now() -> Micros {
    Micros(Instant::now().duration_since_epoch().as_micros())
}

/// The chip has no calendar; it is not earlier than when its image was built.
pub fn calendar() -> Calendar {
    Calendar::NotBefore(UnixSeconds(env!("BUILT_AT").parse().unwrap_or(0)))
}

/// The chip's generator. It is random only while the radio or the converter feeds it; [`Trng`] sees to
/// that.
pub struct Dice(pub Trng);

impl Entropy for Dice {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        self.0.read(out);
        Ok(())
    }
}

impl Board for Dice {
    fn now(&mut self) -> Micros {
        now()
    }

    fn surroundings(&mut self) -> Surroundings<'_> {
        Surroundings { now: now(), calendar: calendar(), entropy: self }
    }
}

/// Two sectors of the partition `nvs`, which nothing else of the image uses.
pub struct KeyFlash<'a>(pub FlashStorage<'a>);

fn address(slot: Slot, offset: usize) -> Result<u32, FlashError> {
    let base = match slot {
        Slot::A => NVS,
        Slot::B => NVS + SECTOR,
    };
    u32::try_from(offset)
        .ok()
        .filter(|offset| *offset <= SECTOR)
        .map(|offset| base + offset)
        .ok_or(FlashError)
}

impl Flash for KeyFlash<'_> {
    fn slot_len(&self) -> usize {
        SECTOR as usize
    }

    fn read(&mut self, slot: Slot, offset: usize, out: &mut [u8]) -> Result<(), FlashError> {
        self.0.read(address(slot, offset)?, out).map_err(|_| FlashError)
    }

    fn erase(&mut self, slot: Slot) -> Result<(), FlashError> {
        let from = address(slot, 0)?;
        self.0.erase(from, from + SECTOR).map_err(|_| FlashError)
    }

    /// Writes as the flash does, without the driver's erasing and restoring of the sector. A failing supply must
    /// leave what the key store expects.
    fn write(&mut self, slot: Slot, offset: usize, bytes: &[u8]) -> Result<(), FlashError> {
        self.0.write_nor(address(slot, offset)?, bytes).map_err(|_| FlashError)
    }
}

const NVS: u32 = 0x9000;
const SECTOR: u32 = FlashStorage::SECTOR_SIZE;
