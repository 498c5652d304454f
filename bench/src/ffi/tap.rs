//! Ethernet devices whose cable is this process.

use core::ffi::c_char;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::ioctl_fionbio;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// A tap device. The kernel removes it when this is dropped.
pub(crate) struct Tap(File);

impl Tap {
    /// Makes a device called `name` in the network namespace of this thread. It stays ours in every namespace
    /// that it is moved to.
    ///
    /// # Errors
    ///
    /// Without `/dev/net/tun`, or without the right to make devices.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
        let mut request = Request { name: [0; 16], flags: IFF_TAP | IFF_NO_PI, padding: [0; 22] };
        // The last byte stays 0, as C strings end.
        for (to, from) in request.name[..15].iter_mut().zip(name.bytes()) {
            *to = from.cast_signed();
        }
        // SAFETY: TUNSETIFF takes a pointer to `struct ifreq`; `Request` has its layout and size.
        let attach = unsafe { Setter::<TUNSETIFF, Request>::new(request) };
        // SAFETY: the kernel reads and writes no more than the `struct ifreq` that `attach` holds.
        unsafe { ioctl(&file, attach) }?;
        ioctl_fionbio(&file, true)?;
        Ok(Self(file))
    }

    /// Reads the next frame into `out` and returns its length.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub(crate) fn read(&self, out: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(out)
    }

    /// Hands a frame to the kernel.
    ///
    /// # Errors
    ///
    /// When the device is down.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.0).write(frame).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What TUNSETIFF takes. Source: `struct ifreq` of linux/if.h.
#[repr(C)]
struct Request {
    name: [c_char; 16],
    flags: i16,
    padding: [u8; 22],
}

/// Source: linux/if_tun.h.
const TUNSETIFF: Opcode = opcode::write::<core::ffi::c_int>(b'T', 202);
const IFF_TAP: i16 = 0x0002;
/// Frames come without a head of the driver's.
const IFF_NO_PI: i16 = 0x1000;
