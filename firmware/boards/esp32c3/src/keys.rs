//! The device's keys: read from flash, or asked for on the USB serial line until they are there.

use esp_hal::{Blocking, usb::usb_serial_jtag::UsbSerialJtag};
use esp_println::println;
use schwann_session::{
    DeviceKey, Entropy as _,
    key_slots::{self, SlotError},
    provision::{Keys, Paste, Pasted, Request, join},
};

use crate::board::{Dice, KeyFlash};

/// Reads the keys; a device that has none makes a key, prints the request, and waits for what is pasted.
pub fn load<'a>(
    flash: &mut KeyFlash<'_>,
    serial: &mut UsbSerialJtag<'_, Blocking>,
    dice: &mut Dice,
    record_limit: usize,
    memory: &'a mut [u8; KEYS_LEN],
) -> Keys<'a> {
    loop {
        match key_slots::load(flash, memory) {
            Ok(_) => break,
            Err(SlotError::Empty) => println!("this device has no keys"),
            Err(why) => println!("keys: {why}"),
        }
        provision(flash, serial, dice);
    }
    let len = key_slots::load(flash, memory).map(<[u8]>::len).unwrap_or(0);
    match Keys::parse(&memory[..len], record_limit, dice) {
        Ok(keys) => keys,
        Err(why) => panic!("keys: {why}"),
    }
}

fn provision(flash: &mut KeyFlash<'_>, serial: &mut UsbSerialJtag<'_, Blocking>, dice: &mut Dice) {
    let mut seed = [0; 32];
    dice.fill(&mut seed).expect("the chip's generator does not fail");
    println!("request {}", Request { device: DeviceKey::from_seed(&seed).public(), name: "esp32c3" });
    let mut pasted = [0; KEYS_LEN];
    let mut paste = Paste::new(&mut pasted);
    let len = loop {
        let Ok(byte) = nb::block!(serial.read_byte());
        match paste.handle(byte) {
            Pasted::More => {}
            Pasted::Damaged => println!("damaged: paste that line again"),
            Pasted::Done(len) => break len,
        }
    };
    let mut content = [0; KEYS_LEN];
    let joined = join(&seed, &pasted[..len], &mut content);
    let stored = match joined {
        Ok(content) => key_slots::store(flash, content).map_err(|why| println!("refused: {why}")),
        Err(why) => Err(println!("refused: {why}")),
    };
    println!("provisioned={}", u8::from(stored.is_ok()));
}

/// Most bytes of keys.
pub const KEYS_LEN: usize = 1024;
