//! The network card, as smoltcp wants it, and the random generator, as the node wants it.

use core::{
    cell::UnsafeCell,
    ops::Range,
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

use schwann_session::{Entropy, NoEntropy};
use smoltcp::{
    phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken},
    time::Instant,
};
use virtio_drivers::{
    BufferDirection, Hal, PAGE_SIZE, PhysAddr,
    device::{net::VirtIONetRaw, rng::VirtIORng},
    transport::{
        DeviceType,
        mmio::{MmioTransport, VirtIOHeader},
    },
};

use crate::machine;

/// Pages that are handed out once and never taken back: the drivers live as long as the machine.
#[repr(C, align(4096))]
struct Pages(UnsafeCell<[u8; PAGE_SIZE * PAGES]>);

// SAFETY: `dma_alloc` hands out each page once.
unsafe impl Sync for Pages {}

/// Frames, for the card alone.
struct Frames(UnsafeCell<([[u8; FRAME]; RECEIVED], [u8; SENDING])>);

// SAFETY: `Card::new` takes them, and runs once.
unsafe impl Sync for Frames {}

/// RAM is where it seems to be.
pub struct Flat;

// SAFETY: addresses are the same for card and harts, and pages are handed out once, zeroed below.
unsafe impl Hal for Flat {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = NEXT_PAGE.load(Ordering::Relaxed) as usize;
        assert!(first + pages <= PAGES, "the drivers want more pages than there are");
        NEXT_PAGE.store((first + pages) as u32, Ordering::Relaxed);
        let address = POOL.0.get() as usize + first * PAGE_SIZE;
        (address..address + pages * PAGE_SIZE).step_by(4).for_each(|word| machine::write(word, 0));
        (address as PhysAddr, NonNull::new(address as *mut u8).expect("RAM is not at 0"))
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as usize as *mut u8).expect("no device is at 0")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr() as *mut u8 as usize as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// Looks for a device of this kind, and tells on which interrupt line it is.
fn find(kind: DeviceType) -> Option<(MmioTransport<'static>, u32)> {
    (0..8_u32).find_map(|slot| {
        let base = machine::VIRTIO + 0x1000 * slot as usize;
        // A transport resets its device when it is dropped, so one is made for the right device alone.
        if machine::read(base + DEVICE_ID) != kind as u32 {
            return None;
        }
        let header = NonNull::new(base as *mut VirtIOHeader)?;
        // SAFETY: the machine has eight such slots of a page each, and each is looked at by one driver.
        let transport = unsafe { MmioTransport::new(header, 0x1000) }.ok()?;
        Some((transport, slot + 1))
    })
}

/// The network card.
pub struct Card {
    raw: Raw,
    frames: &'static mut [[u8; FRAME]; RECEIVED],
    /// Frames one behind the other, from the front again when all are sent.
    sending: &'static mut [u8; SENDING],
    /// Which request of the card a frame belongs to; nothing if it is free.
    lent: [Option<u16>; RECEIVED],
    sent: [Option<Sent>; SENT],
}

/// A frame that the card has not sent yet.
struct Sent {
    request: u16,
    place: Range<usize>,
}

impl Card {
    // Not part of its caller, whose frame stays for ever.
    #[inline(never)]
    pub fn new() -> Option<Self> {
        let (transport, line) = find(DeviceType::Network)?;
        let raw = VirtIONetRaw::new(transport).ok()?;
        if !machine::once(&FRAMES_TAKEN) {
            return None;
        }
        // SAFETY: taken once, here.
        let (frames, sending) = unsafe { &mut *FRAMES.0.get() };
        machine::enable_line(line);
        let mut card = Self { raw, frames, sending, lent: [None; RECEIVED], sent: [const { None }; SENT] };
        card.raw.enable_interrupts();
        card.refill();
        Some(card)
    }

    pub fn address(&self) -> [u8; 6] {
        self.raw.mac_address()
    }

    pub fn acknowledge(&mut self) {
        let _ = self.raw.ack_interrupt();
        machine::settle_lines();
    }

    /// Lends every free frame to the card.
    fn refill(&mut self) {
        for (frame, lent) in self.frames.iter_mut().zip(&mut self.lent) {
            if lent.is_none() {
                // SAFETY: the frame is not touched before the request is complete, which `receive` sees to.
                *lent = unsafe { self.raw.receive_begin(frame) }.ok();
            }
        }
    }
}

type Raw = VirtIONetRaw<Flat, MmioTransport<'static>, QUEUE>;

/// Takes back frames that have been sent; offers room for another, if there is any.
fn offer<'a>(
    raw: &'a mut Raw,
    sending: &'a mut [u8; SENDING],
    sent: &'a mut [Option<Sent>; SENT],
) -> Option<Sending<'a>> {
    while let Some(done) = raw.poll_transmit() {
        let is_done = |sent: &&mut Option<Sent>| sent.as_ref().is_some_and(|sent| sent.request == done);
        let place = sent.iter_mut().find(is_done)?.take()?.place;
        // SAFETY: the frame that the request was begun with.
        let _ = unsafe { raw.transmit_complete(done, &sending[place]) };
    }
    let start = sent.iter().flatten().map(|sent| sent.place.end).max().unwrap_or(0);
    let room = sending.get_mut(start..).filter(|room| room.len() >= FRAME)?;
    let sent = sent.iter_mut().find(|sent| sent.is_none())?;
    Some(Sending { raw, room, start, sent })
}

/// A frame that came.
pub struct Received<'a>(&'a mut [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, then: F) -> R {
        then(self.0)
    }
}

/// Room for a frame to be sent.
pub struct Sending<'a> {
    raw: &'a mut Raw,
    room: &'a mut [u8],
    /// Where the room begins.
    start: usize,
    sent: &'a mut Option<Sent>,
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, then: F) -> R {
        let head = self.raw.fill_buffer_header(self.room).unwrap_or(0);
        let frame = &mut self.room[..head + len];
        let result = then(&mut frame[head..]);
        // SAFETY: the frame is not touched before the request is complete, which `offer` sees to.
        let request = unsafe { self.raw.transmit_begin(frame) }.ok();
        let place = self.start..self.start + head + len;
        *self.sent = request.map(|request| Sent { request, place });
        result
    }
}

impl Device for Card {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_>)> {
        self.refill();
        offer(&mut self.raw, self.sending, &mut self.sent)?;
        let done = self.raw.poll_receive()?;
        let came = self.lent.iter().position(|lent| *lent == Some(done))?;
        // SAFETY: the frame that the request was begun with.
        let complete = unsafe { self.raw.receive_complete(done, &mut self.frames[came]) };
        self.lent[came] = None;
        let (head, len) = complete.ok()?;
        let frame = self.frames[came].get_mut(head..head + len)?;
        Some((Received(frame), offer(&mut self.raw, self.sending, &mut self.sent)?))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        offer(&mut self.raw, self.sending, &mut self.sent)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities.max_burst_size = Some(SENT);
        capabilities
    }
}

/// The machine's random generator.
pub struct Dice(Option<VirtIORng<Flat, MmioTransport<'static>>>);

impl Dice {
    pub fn new() -> Self {
        Self(find(DeviceType::EntropySource).and_then(|(transport, _)| VirtIORng::new(transport).ok()))
    }
}

impl Entropy for Dice {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), NoEntropy> {
        let device = self.0.as_mut().ok_or(NoEntropy)?;
        let mut filled = 0;
        while filled < out.len() {
            filled += device.request_entropy(&mut out[filled..]).map_err(|_| NoEntropy)?;
        }
        Ok(())
    }
}

/// Where a slot says what is in it (virtio 1.2 §4.2.2).
const DEVICE_ID: usize = 8;
const QUEUE: usize = 8;
/// A frame with the card's own header before it.
const FRAME: usize = 1536;
/// While one frame is examined, the next waits at its source, as in the memory of a chip's network controller.
const RECEIVED: usize = 1;
/// Frames that wait for the card; not less than subscribers. smoltcp offers them to its sockets in order, and the
/// last one would starve.
const SENT: usize = 4;
/// Room for them: three small ones, as samples are, and one of any size.
const SENDING: usize = FRAME + 3 * 256;

const PAGES: usize = 8;
#[unsafe(link_section = ".pages")]
static POOL: Pages = Pages(UnsafeCell::new([0; PAGE_SIZE * PAGES]));
static NEXT_PAGE: AtomicU32 = AtomicU32::new(0);

static FRAMES: Frames = Frames(UnsafeCell::new(([[0; FRAME]; RECEIVED], [0; SENDING])));
static FRAMES_TAKEN: AtomicU32 = AtomicU32::new(0);
