//! One conversation of two nodes, with known keys, randomness and time: every byte of it follows.
//!
//! Runs on a computer and in the image for QEMU, which includes this file; both compare with the same recording.

use core::sync::atomic::AtomicU32;

use schwann_node::{
    Control, Description, Found, Inlet, InletState, Keep, Member, Micros, Outlet, Pace, Ports, Security,
    Shape, Surroundings, Uid, Wanted, ring,
};
use schwann_proto::{
    stream::ChannelFormat,
    wire::{ByteWriter, number},
};
use schwann_session::{Entropy, NoEntropy, Suite, UnixSeconds, provision::Keys};

/// Key stores of two devices of a lab that exists in tests alone.
pub(crate) const KEYS: [&[u8]; 2] =
    [include_bytes!("transcript-keys-1.bin"), include_bytes!("transcript-keys-2.bin")];
/// The bytes of both ends, as recorded on a computer.
pub(crate) const RECORDED: &[u8] = include_bytes!("transcript.bin");

/// Bytes that follow from a seed.
pub(crate) struct Known(pub(crate) u64);

impl Entropy for Known {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        for byte in out {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = self.0.to_le_bytes()[7];
        }
        Ok(())
    }
}

/// Why a replay is not the recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Difference {
    /// The keys cannot be read, or the nodes do not talk to each other.
    Setup,
    /// A sample did not arrive as it was sent.
    Sample(u32),
}

/// The stream of the conversation.
pub(crate) fn description() -> Description<'static> {
    Description {
        name: "Transcript",
        stream_type: "EEG",
        channel_count: 8,
        format: ChannelFormat::Float32,
        nominal_rate: 1000.0,
        source_id: "transcript",
        hostname: "node",
        session_id: "default",
        uid: Uid::new([9; 16]),
        created_at: 1.0,
        ports: Ports { data_port: 16572, service_port: 16572 },
        desc: "",
    }
}

/// Lets two nodes talk; `sent` sees every byte that either sends, in order.
pub(crate) fn converse(sent: &mut dyn FnMut(&[u8])) -> Result<(), Difference> {
    let mut entropy = [Known(1), Known(2)];
    let [one, two] = &mut entropy;
    let keys = [Keys::parse(KEYS[0], 700, one), Keys::parse(KEYS[1], 700, two)];
    let [Ok(one), Ok(two)] = keys else { return Err(Difference::Setup) };
    let mut words = [const { AtomicU32::new(0) }; 16 * 10];
    let mut control = Control::new();
    let description = description();
    let shape = Shape::numbers(description.format, description.channel_count);
    let Some((mut producer, consumer)) = ring(&mut words, &mut control, shape, Keep::Newest) else {
        return Err(Difference::Setup);
    };
    let Ok(mut outlet) = Outlet::<'_, 1, 768, 1280>::new(
        description,
        consumer,
        Security::Require(Member::of(&one)),
        Pace::EverySample,
    ) else {
        return Err(Difference::Setup);
    };
    let mut document = [0; 1024];
    let mut writer = ByteWriter::new(&mut document);
    let wanted = description
        .put_shortinfo(&mut writer)
        .ok()
        .and_then(|()| Found::parse(core::str::from_utf8(writer.written()).ok()?))
        .and_then(|found| Wanted::new(&found, 100));
    let Some(wanted) = wanted else { return Err(Difference::Setup) };
    let mut inlet = Inlet::<'_, 1024, 1024>::new(wanted, Security::Require(Member::of(&two)), Suite::Classic);
    let mut now = Micros(1_000_000);
    let [outlets, inlets] = &mut entropy;
    outlet.accept(0, now);
    inlet.connected(&mut Surroundings { now, calendar: UnixSeconds(1_800_000_000).into(), entropy: inlets });
    for sequence in 0..40_u32 {
        now = now.after(1000);
        if sequence >= 8 {
            // Exact in single precision.
            let value = number::extract_f32(number::integer(i64::from(sequence)).as_str().as_bytes());
            let pushed = producer.push(&[value.unwrap_or(0.0); 8], now.seconds());
            pushed.map_err(|_| Difference::Sample(sequence))?;
        }
        let calendar = UnixSeconds(1_800_000_000).into();
        outlet.poll(now);
        let taken = inlet.receive(outlet.transmit(0), &mut Surroundings { now, calendar, entropy: inlets });
        sent(&outlet.transmit(0)[..taken]);
        outlet.sent(0, taken, now);
        let heard =
            outlet.receive(0, inlet.transmit(), &mut Surroundings { now, calendar, entropy: outlets });
        sent(&inlet.transmit()[..heard]);
        inlet.sent(heard);
        let mut pulled = [0.0_f64; 8];
        if sequence >= 8 && inlet.pull(&mut pulled) != Some(now.seconds())
            || pulled[7] != f64::from(sequence) * f64::from(u8::from(sequence >= 8))
        {
            return Err(Difference::Sample(sequence));
        }
    }
    if inlet.state() == InletState::Receiving { Ok(()) } else { Err(Difference::Setup) }
}

/// Converses and compares with the recording; returns the first place where they differ, if any.
pub(crate) fn first_difference() -> Result<Option<usize>, Difference> {
    let (mut place, mut difference) = (0, None);
    converse(&mut |bytes| {
        for byte in bytes {
            if RECORDED.get(place) != Some(byte) {
                difference.get_or_insert(place);
            }
            place += 1;
        }
    })?;
    if difference.is_none() && place != RECORDED.len() {
        difference = Some(place);
    }
    Ok(difference)
}
