//! UNIX sockets.

use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
pub use std::os::unix::net::{UnixListener as Listener, UnixStream as Stream};
use std::path::Path;

/// Listens at `path`, and takes it over if no server answers there. Private means: for this user alone.
///
/// - Errors: [`ErrorKind::AlreadyExists`] if a file is there that is no socket; those of binding.
pub fn bind(path: &Path, is_private: bool) -> io::Result<Listener> {
    if Stream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
        // A file that is no socket refuses connections, too.
        if !std::fs::metadata(path)?.file_type().is_socket() {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                "a file is there that is no socket; name another path",
            ));
        }
        // Left behind by a server that was killed.
        std::fs::remove_file(path)?;
    }
    let listener = Listener::bind(path)?;
    if is_private {
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(listener)
}

/// Lets a socket take a big block in one go. By default it takes 208 KiB, and a sender of more must be woken on the
/// way.
pub(crate) fn widen(stream: &Stream, bytes: usize) {
    // A system that permits less takes less.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(stream, bytes);
}

/// Ends the accepting of one thread.
pub(crate) fn wake(listener: &Listener) {
    let path = listener.local_addr().ok();
    // If nothing accepts, no thread has to be woken.
    let _ = path.as_ref().and_then(|path| path.as_pathname()).map(Stream::connect);
}
