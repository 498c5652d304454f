//! By cable: a W5500 on the SPI bus. No heap.
//!
//! | Pin | |
//! | --- | --- |
//! | GPIO 6, 7, 2, 10 | the W5500's SCLK, MOSI, MISO, SCSn |
//! | GPIO 0, 1, 3, 4 | the inputs |

use embedded_hal_bus::spi::ExclusiveDevice;
use esp_hal::{
    delay::Delay,
    efuse,
    gpio::{Level, Output, OutputConfig},
    peripherals::Peripherals,
    rng::{Trng, TrngSource},
    spi::{
        Mode,
        master::{Config, Spi},
    },
    time::Rate,
    timer::systimer::SystemTimer,
    usb::usb_serial_jtag::UsbSerialJtag,
};
use esp_storage::FlashStorage;
use schwann_node_smoltcp::w5500::W5500;

use crate::{
    application,
    board::{Dice, KeyFlash},
    keys,
    serve::{RECORD_LIMIT, serve},
};

pub fn run(chip: Peripherals) -> ! {
    // Noise of the converter: without a radio the generator would otherwise repeat itself.
    let _source = TrngSource::new(chip.RNG, chip.ADC1);
    let mut dice = Dice(Trng::try_new().expect("its source is on"));
    let mut flash = KeyFlash(FlashStorage::new(chip.FLASH));
    let mut memory = [0; keys::KEYS_LEN];
    let mut serial = UsbSerialJtag::new(chip.USB_DEVICE);
    let keys = keys::load(&mut flash, &mut serial, &mut dice, RECORD_LIMIT, &mut memory);

    let config = Config::default().with_frequency(Rate::from_mhz(20)).with_mode(Mode::_0);
    let bus = Spi::new(chip.SPI2, config)
        .expect("20 MHz is a quarter of the bus's clock")
        .with_sck(chip.GPIO6)
        .with_mosi(chip.GPIO7)
        .with_miso(chip.GPIO2);
    let select = Output::new(chip.GPIO10, Level::High, OutputConfig::default());
    let bus = ExclusiveDevice::new(bus, select, Delay::new()).expect("a pin does not fail");
    let mut address = [0; 6];
    address.copy_from_slice(efuse::base_mac_address().as_bytes());
    let mut cable = match W5500::new(bus, address) {
        Ok(cable) => cable,
        Err(why) => panic!("no W5500 on GPIO 6, 7, 2 and 10: {why:?}"),
    };

    let pins = [chip.GPIO0.into(), chip.GPIO1.into(), chip.GPIO3.into(), chip.GPIO4.into()];
    let samples = application::start(pins, SystemTimer::new(chip.SYSTIMER).alarm0.into());
    // The timer's interrupt ends the sleep at the latest, a millisecond from now.
    serve(&mut cable, address, samples, &keys, &mut dice, |_| esp_hal::interrupt::wait_for_interrupt())
}
