//! Sockets as a bare peer and the original's programs use them.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use schwann_fieldtrip::Address;

use super::Peer::{self, Bare, Original};
use crate::fieldtrip::original;

pub(in crate::fieldtrip) fn socket_path() -> PathBuf {
    std::env::temp_dir().join(format!("schwann-ft-bench-{}", std::process::id()))
}

pub(super) trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// Connects, as a bare client or the original's does.
pub(super) fn connect(address: &Address, client: Peer) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Tcp { host, port } if client == Bare => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        // By name, as the original's programs do.
        Address::Tcp { host, port } if host == "127.0.0.1" => {
            Box::new(TcpStream::connect(("localhost", *port))?)
        }
        Address::Tcp { host, port } => Box::new(TcpStream::connect((host.as_str(), *port))?),
        Address::Unix(path) => Box::new(UnixStream::connect(path)?),
    })
}

/// Where a bare server or the original's waits for connections. The original looks for TCP connections now and
/// then.
pub(super) enum Listener {
    Tcp(TcpListener, Peer),
    Unix(UnixListener),
}

impl Listener {
    pub(super) fn bind(address: &Address, server: Peer) -> io::Result<(Self, Address)> {
        if let Address::Unix(path) = address {
            // An earlier run may have left the file.
            let _ = std::fs::remove_file(path);
            return Ok((Self::Unix(UnixListener::bind(path)?), address.clone()));
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(server == Original)?;
        let port = listener.local_addr()?.port();
        Ok((Self::Tcp(listener, server), Address::Tcp { host: "127.0.0.1".into(), port }))
    }

    pub(super) fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(listener, server) => {
                let (stream, _) = listener.accept()?;
                if *server == Original {
                    original::take_in(&stream)?
                } else {
                    stream.set_nodelay(true)?
                }
                Box::new(stream)
            }
            Self::Unix(listener) => Box::new(listener.accept()?.0),
        })
    }
}
