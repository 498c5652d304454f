//! What stands where other systems have UNIX sockets. No value of these types exists: nothing
//! makes one.

use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::path::Path;

/// No connection.
#[derive(Debug)]
pub enum Stream {}

/// No listener.
#[derive(Debug)]
pub enum Listener {}

/// - Errors: always, [`io::ErrorKind::Unsupported`].
pub fn bind(_path: &Path, _is_private: bool) -> io::Result<Listener> {
    Err(unsupported())
}

pub(crate) fn widen(stream: &Stream, _bytes: usize) {
    match *stream {}
}

pub(crate) fn wake(listener: &Listener) {
    match *listener {}
}

impl Listener {
    /// - Errors: none, as there is no listener.
    pub fn accept(&self) -> io::Result<(Stream, ())> {
        match *self {}
    }
}

impl Stream {
    /// - Errors: always, [`io::ErrorKind::Unsupported`].
    pub fn connect(_path: impl AsRef<Path>) -> io::Result<Self> {
        Err(unsupported())
    }

    /// - Errors: none, as there is no connection.
    pub fn shutdown(&self, _how: Shutdown) -> io::Result<()> {
        match *self {}
    }

    /// - Errors: none, as there is no connection.
    pub fn set_read_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        match *self {}
    }

    /// - Errors: none, as there is no connection.
    pub fn set_write_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        match *self {}
    }
}

impl Read for &Stream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match **self {}
    }

    fn read_vectored(&mut self, _: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match **self {}
    }
}

impl Write for &Stream {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match **self {}
    }

    fn write_vectored(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        match **self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match **self {}
    }
}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "there are no UNIX sockets on Windows; name a host and a port")
}
