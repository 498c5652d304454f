//! The device: four inputs, such as buttons, a trigger box or a photodiode with a comparator, sampled by a timer.

use core::{cell::RefCell, sync::atomic::AtomicU32};

use critical_section::Mutex;
use esp_hal::{
    Blocking,
    gpio::{AnyPin, Input, InputConfig, Pull},
    time::Duration,
    timer::{AnyTimer, PeriodicTimer},
};
use schwann_node::{Consumer, Control, Keep, Producer, Shape, ring};
use schwann_proto::stream::ChannelFormat;
use static_cell::ConstStaticCell;

use crate::board;

struct Device {
    inputs: [Input<'static>; CHANNELS],
    timer: PeriodicTimer<'static, Blocking>,
    producer: Producer<'static>,
}

/// Lets the timer take samples of the pins from now on; returns the network's end of the ring.
pub fn start(pins: [AnyPin<'static>; CHANNELS], timer: AnyTimer<'static>) -> Consumer<'static> {
    let pull = InputConfig::default().with_pull(Pull::Down);
    let inputs = pins.map(|pin| Input::new(pin, pull));
    let shape = Shape::numbers(FORMAT, CHANNELS);
    let (producer, consumer) =
        ring(MEMORY.take(), CONTROL.take(), shape, Keep::Newest).expect("the memory holds 512 samples");
    let mut timer = PeriodicTimer::new(timer);
    timer.set_interrupt_handler(tick);
    timer.listen();
    timer
        .start(Duration::from_micros(1_000_000 / u64::from(RATE)))
        .expect("the timer counts to a millisecond");
    critical_section::with(|held| DEVICE.borrow_ref_mut(held).replace(Device { inputs, timer, producer }));
    consumer
}

#[esp_hal::handler]
fn tick() {
    critical_section::with(|held| {
        let mut device = DEVICE.borrow_ref_mut(held);
        let Some(device) = device.as_mut() else { return };
        device.timer.clear_interrupt();
        let sample = device.inputs.each_ref().map(|input| i16::from(input.is_high()));
        // Where the newest are kept, a push of the stream's own shape succeeds.
        let _ = device.producer.push(&sample, board::now().seconds());
    });
}

pub const CHANNELS: usize = 4;
/// Samples per second, in Hz.
pub const RATE: u32 = 1000;
pub const FORMAT: ChannelFormat = ChannelFormat::Int16;

/// 512 samples of a stamp and four values of 16 bits: half a second without a network.
const WORDS: usize = 512 * 4;

static MEMORY: ConstStaticCell<[AtomicU32; WORDS]> =
    ConstStaticCell::new([const { AtomicU32::new(0) }; WORDS]);
static CONTROL: ConstStaticCell<Control> = ConstStaticCell::new(Control::new());
static DEVICE: Mutex<RefCell<Option<Device>>> = Mutex::new(RefCell::new(None));
