//! By Wi-Fi. The radio's driver needs a heap and a scheduler; the node's own parts use neither.
//!
//! The build takes the network's name and password from `SCHWANN_WIFI_NAME` and
//! `SCHWANN_WIFI_PASSWORD`. Without a password, the network is taken for an open one.

use core::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use esp_hal::{
    peripherals::Peripherals,
    rng::Trng,
    time::Duration,
    timer::{systimer::SystemTimer, timg::TimerGroup},
    usb::usb_serial_jtag::UsbSerialJtag,
};
use esp_println::println;
use esp_radio::wifi::{
    AuthenticationMethodConfig, Config, Interface, WifiController, WifiRxToken, WifiTxToken,
    sta::StationConfig,
};
use esp_rtos::CurrentThreadHandle;
use esp_storage::FlashStorage;
use smoltcp::{
    phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken},
    time::Instant,
};

use crate::{
    application,
    board::{Dice, KeyFlash},
    keys,
    serve::{RECORD_LIMIT, serve},
};

pub fn run(chip: Peripherals) -> ! {
    esp_alloc::heap_allocator!(size: 96 * 1024);
    let timers = TimerGroup::new(chip.TIMG0);
    esp_rtos::start(timers.timer0, chip.FROM_CPU_INTR0);
    let Some(name) = NAME else { panic!("no network's name: build with SCHWANN_WIFI_NAME=...") };
    // The radio feeds the random generator: nothing random is asked for before it is on.
    let mut radio = WifiController::new(chip.WIFI, Default::default()).expect("the radio starts");
    let mut dice = Dice(Trng::try_new().expect("the radio is on"));
    let mut flash = KeyFlash(FlashStorage::new(chip.FLASH));
    let mut memory = [0; keys::KEYS_LEN];
    let mut serial = UsbSerialJtag::new(chip.USB_DEVICE);
    let keys = keys::load(&mut flash, &mut serial, &mut dice, RECORD_LIMIT, &mut memory);

    let authentication = match PASSWORD {
        None => AuthenticationMethodConfig::Open,
        Some(password) => AuthenticationMethodConfig::Wpa2Personal(
            password.try_into().unwrap_or_else(|_| panic!("a password of Wi-Fi has 8 to 63 characters")),
        ),
    };
    let station = StationConfig::default()
        .with_ssid(name.try_into().unwrap_or_else(|_| panic!("a network's name has 32 bytes at most")))
        .with_authentication(authentication);
    radio.set_config(&Config::Station(station)).expect("a station");
    let pins = [chip.GPIO0.into(), chip.GPIO1.into(), chip.GPIO3.into(), chip.GPIO4.into()];
    let samples = application::start(pins, SystemTimer::new(chip.SYSTIMER).alarm0.into());
    let mut air = Air(Interface::station());
    let address = air.0.mac_address();
    serve(&mut air, address, samples, &keys, &mut dice, |_| {
        // The ring holds samples made meanwhile. A network that stays away costs the oldest samples, and these are
        // counted.
        while !radio.is_connected() {
            if let Err(why) = wait_for(radio.connect_async()) {
                println!("{name}: {why:?}");
            }
        }
        CurrentThreadHandle::get().delay(Duration::from_millis(1));
    })
}

/// Lets the scheduler's other threads run until `task` is done.
fn wait_for<R>(task: impl Future<Output = R>) -> R {
    let mut task = pin!(task);
    loop {
        if let Poll::Ready(result) = task.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
        CurrentThreadHandle::get().delay(Duration::from_millis(10));
    }
}

/// The radio, as smoltcp wants it.
struct Air(Interface);

struct Received(WifiRxToken);

struct Sending(WifiTxToken);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, then: F) -> R {
        self.0.consume_token(|frame| then(frame))
    }
}

impl TxToken for Sending {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, then: F) -> R {
        self.0.consume_token(len, then)
    }
}

impl Device for Air {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending)> {
        self.0.receive().map(|(received, sending)| (Received(received), Sending(sending)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending> {
        self.0.transmit().map(Sending)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        // The driver's frames hold 1,492 bytes (esp-radio's `MTU`).
        capabilities.max_transmission_unit = 1492;
        capabilities.max_burst_size = Some(1);
        capabilities
    }
}

const NAME: Option<&str> = option_env!("SCHWANN_WIFI_NAME");
const PASSWORD: Option<&str> = option_env!("SCHWANN_WIFI_PASSWORD");
