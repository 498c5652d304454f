//! What differs between systems: an acknowledgement at once. No other file of this crate asks which system it runs on.

use std::net::TcpStream;

/// Sends the pending acknowledgement now. The kernel forgets the option, so it is set again. A refusal
/// costs only time.
#[cfg(target_os = "linux")]
pub(crate) fn acknowledge(socket: &TcpStream) {
    use std::os::linux::net::TcpStreamExt as _;
    let _ = socket.set_quickack(true);
}

/// Nothing: it cannot be asked for.
#[cfg(not(target_os = "linux"))]
pub(crate) fn acknowledge(_: &TcpStream) {}
