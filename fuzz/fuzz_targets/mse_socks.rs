//! A SOCKS5 client that may say anything.
#![no_main]

use std::io::{Cursor, Read, Result, Write};

use libfuzzer_sys::fuzz_target;
use schwann_mse::proxy::negotiate;

struct Client<'a>(Cursor<&'a [u8]>);

impl Read for Client<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.0.read(out)
    }
}

impl Write for Client<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

fuzz_target!(|data: &[u8]| {
    let _ = negotiate(&mut Client(Cursor::new(data)));
});
