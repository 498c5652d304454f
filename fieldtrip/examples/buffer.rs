//! A FieldTrip buffer server: `cargo run --release --example buffer -- [ADDRESS] [--record DIR] [--read-only]`.
//!
//! ADDRESS is a port, `HOST:PORT` or the path of a UNIX socket; port 0 takes a free one. The first line printed is
//! the address. With `--record`, everything that clients put is written to a recording folder.
#![forbid(unsafe_code)]

use core::error::Error;
use core::sync::atomic::AtomicBool;
use std::path::PathBuf;

use schwann_fieldtrip::recording::{Recording, record_buffer};
use schwann_fieldtrip::{Access, Address, Buffer, Policy, Server};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let buffer = Buffer::default();
    // Before the first client can connect, so that nothing is missed.
    let tap = arguments.record.is_some().then(|| buffer.tap(1 << 30));
    let policy = Policy { access: arguments.access, ..Policy::default() };
    let server = Server::start(&arguments.address, buffer, policy)?;
    println!("{}", server.address());
    match (arguments.record, tap) {
        (Some(folder), Some(tap)) => {
            let mut recording = Recording::create(&folder)?;
            Ok(record_buffer(&tap, &mut recording, &AtomicBool::new(false))?)
        }
        _ => loop {
            std::thread::park();
        },
    }
}

struct Arguments {
    address: Address,
    access: Access,
    record: Option<PathBuf>,
}

impl Arguments {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut parsed = Self { address: Address::default(), access: Access::ReadWrite, record: None };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--read-only" => parsed.access = Access::ReadOnly,
                "--record" => parsed.record = Some(words.next().ok_or("--record needs a folder")?.into()),
                port if port.parse::<u16>().is_ok() => parsed.address = Address::loopback(port.parse()?),
                address => parsed.address = address.parse()?,
            }
        }
        Ok(parsed)
    }
}
