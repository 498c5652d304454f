//! The driver against a model of the chip, made from its datasheet: no real chip has been tried.

use std::{collections::VecDeque, vec, vec::Vec};

use embedded_hal::spi::{ErrorKind, ErrorType};
use smoltcp::phy::{Device as _, RxToken as _, TxToken as _};

use super::*;

/// What a W5500 does with its socket 0 in raw mode.
struct Chip {
    common: [u8; 0x40],
    socket: [u8; 0x30],
    sending: Vec<u8>,
    receiving: Vec<u8>,
    /// Frames on the cable to us, not yet in the chip's memory, and those from us.
    cable_in: VecDeque<Vec<u8>>,
    cable_out: Vec<Vec<u8>>,
    /// Fails from now on.
    broken: bool,
}

const MEMORY: usize = 16 * 1024;

impl Chip {
    fn new() -> Self {
        let mut chip = Self {
            common: [0; 0x40],
            socket: [0; 0x30],
            sending: vec![0; MEMORY],
            receiving: vec![0; MEMORY],
            cable_in: VecDeque::new(),
            cable_out: Vec::new(),
            broken: false,
        };
        chip.common[usize::from(VERSION)] = 4;
        chip
    }

    fn word(&self, address: u16) -> u16 {
        u16::from_be_bytes([self.socket[usize::from(address)], self.socket[usize::from(address) + 1]])
    }

    fn set_word(&mut self, address: u16, value: u16) {
        self.socket[usize::from(address)..][..2].copy_from_slice(&value.to_be_bytes());
    }

    /// Frames from the cable come into memory while there is room.
    fn fill(&mut self) {
        while let Some(frame) = self.cable_in.front() {
            let held = self.word(RECEIVED_LEN);
            let whole = u16::try_from(frame.len() + 2).unwrap();
            if usize::from(held + whole) > MEMORY || self.socket[usize::from(STATUS)] != STATUS_RAW {
                return;
            }
            let end = self.word(READ_AT).wrapping_add(held);
            let frame = self.cable_in.pop_front().unwrap();
            for (at, byte) in whole.to_be_bytes().iter().chain(&frame).enumerate() {
                self.receiving[usize::from(end.wrapping_add(at as u16)) % MEMORY] = *byte;
            }
            self.set_word(RECEIVED_LEN, held + whole);
        }
    }

    fn obey(&mut self, command: u8) {
        match command {
            OPEN => {
                assert_eq!(self.socket[0], 0x84, "raw, filtered");
                assert_eq!(self.socket[usize::from(BUFFER_SIZES)..][..2], [16, 16]);
                self.socket[usize::from(STATUS)] = STATUS_RAW;
                for address in [READ_AT, WRITE_AT, RECEIVED_LEN, 0x22, 0x2a] {
                    self.set_word(address, 0);
                }
                self.set_word(FREE, MEMORY as u16);
            }
            CLOSE => self.socket[usize::from(STATUS)] = 0,
            SEND => {
                let (from, to) = (self.word(0x22), self.word(WRITE_AT));
                let bytes = (0..to.wrapping_sub(from))
                    .map(|at| self.sending[usize::from(from.wrapping_add(at)) % MEMORY]);
                self.cable_out.push(bytes.collect());
                self.set_word(0x22, to);
                self.socket[usize::from(EVENTS)] |= SENT;
            }
            RECEIVE => {
                // A reader that has moved the pointer has taken what lay before it.
                let taken = self.word(READ_AT).wrapping_sub(self.word(0x2a));
                self.set_word(RECEIVED_LEN, self.word(RECEIVED_LEN) - taken);
                self.set_word(0x2a, self.word(READ_AT));
            }
            other => panic!("no such command: {other}"),
        }
    }

    fn read(&mut self, block: u8, address: u16, out: &mut [u8]) {
        self.fill();
        for (at, byte) in out.iter_mut().enumerate() {
            let place = address.wrapping_add(at as u16);
            *byte = match block {
                COMMON => self.common[usize::from(place)],
                SOCKET => self.socket[usize::from(place)],
                RECEIVED => self.receiving[usize::from(place) % MEMORY],
                other => panic!("nothing is read from block {other}"),
            };
        }
    }

    fn write(&mut self, block: u8, address: u16, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            let place = address.wrapping_add(at as u16);
            match (block, place) {
                (COMMON, MODE) => assert_eq!(*byte, RESET),
                (COMMON, _) => self.common[usize::from(place)] = *byte,
                (SOCKET, COMMAND) => self.obey(*byte),
                (SOCKET, EVENTS) => self.socket[usize::from(EVENTS)] &= !byte,
                (SOCKET, _) => self.socket[usize::from(place)] = *byte,
                (TO_SEND, _) => self.sending[usize::from(place) % MEMORY] = *byte,
                (other, BUFFER_SIZES | 0x1f) if other % 4 == 1 => assert_eq!(*byte, 0),
                (other, _) => panic!("nothing is written to block {other}"),
            }
        }
    }
}

impl ErrorType for Chip {
    type Error = ErrorKind;
}

impl SpiDevice for Chip {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), ErrorKind> {
        if self.broken {
            return Err(ErrorKind::Other);
        }
        let [Operation::Write([high, low, control]), data] = operations else {
            panic!("a head and data, under one select")
        };
        let (block, address) = (*control >> 3, u16::from_be_bytes([*high, *low]));
        assert_eq!(*control & 3, 0, "any length of data");
        match data {
            Operation::Read(out) if control & 4 == 0 => self.read(block, address, out),
            Operation::Write(bytes) if control & 4 != 0 => self.write(block, address, bytes),
            _ => panic!("the head says the other direction"),
        }
        Ok(())
    }
}

fn now() -> Instant {
    Instant::from_millis(0)
}

fn frame(number: usize) -> Vec<u8> {
    (0..60 + number * 37 % 1455).map(|at| (at * 7 + number) as u8).collect()
}

fn driver() -> W5500<Chip> {
    W5500::new(Chip::new(), [2, 0, 0, 0, 0, 7]).unwrap()
}

#[test]
fn frames_come_whole_and_in_order_across_the_end_of_the_chips_memory() {
    let mut driver = driver();
    assert_eq!(driver.bus.spi.common[9..15], [2, 0, 0, 0, 0, 7]);
    for number in 0..200 {
        driver.bus.spi.cable_in.push_back(frame(number));
    }
    for number in 0..200 {
        let (received, _) = driver.receive(now()).expect("a frame");
        received.consume(|bytes| assert_eq!(bytes, frame(number), "frame {number}"));
    }
    assert!(driver.receive(now()).is_none());
}

#[test]
fn frames_go_whole_and_in_order_across_the_end_of_the_chips_memory() {
    let mut driver = driver();
    for number in 0..200 {
        let bytes = frame(number);
        driver.transmit(now()).expect("room").consume(bytes.len(), |room| room.copy_from_slice(&bytes));
    }
    assert_eq!(driver.bus.spi.cable_out, (0..200).map(frame).collect::<Vec<_>>());
    assert_eq!(driver.unsent(), 0);
}

#[test]
fn the_next_frame_waits_until_the_last_is_on_the_cable() {
    let mut driver = driver();
    driver.transmit(now()).expect("room").consume(60, |_| {});
    driver.bus.spi.socket[usize::from(EVENTS)] = 0;
    assert!(driver.transmit(now()).is_none());
    driver.bus.spi.socket[usize::from(EVENTS)] = SENT;
    assert!(driver.transmit(now()).is_some());
}

#[test]
fn a_chip_without_room_drops_the_frame_and_counts_it() {
    let mut driver = driver();
    driver.bus.spi.set_word(FREE, 59);
    driver.transmit(now()).expect("a token").consume(60, |_| {});
    assert_eq!((driver.unsent(), driver.bus.spi.cable_out.len()), (1, 0));
}

#[test]
fn a_length_that_no_frame_has_makes_the_driver_begin_anew() {
    for bad in [0_u16, 2, 1517, u16::MAX] {
        let mut driver = driver();
        driver.bus.spi.cable_in.push_back(frame(1));
        driver.bus.spi.fill();
        driver.bus.spi.receiving[..2].copy_from_slice(&bad.to_be_bytes());
        assert!(driver.receive(now()).is_none());
        driver.bus.spi.cable_in.push_back(frame(2));
        let (received, _) = driver.receive(now()).expect("a frame");
        received.consume(|bytes| assert_eq!(bytes, frame(2)));
    }
}

#[test]
fn what_is_no_chip_or_breaks_is_told_and_hangs_nobody() {
    let mut other = Chip::new();
    other.common[usize::from(VERSION)] = 0xff;
    assert_eq!(W5500::new(other, [0; 6]).err(), Some(W5500Error::Version(0xff)));
    let mut driver = driver();
    driver.bus.spi.broken = true;
    assert_eq!(driver.is_linked(), Err(W5500Error::Bus));
    assert!(driver.receive(now()).is_none());
    driver.transmit(now()).expect("a token").consume(60, |_| {});
    assert_eq!(driver.unsent(), 1);
}
