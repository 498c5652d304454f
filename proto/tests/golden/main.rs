//! Replays captured exchanges with the real library, in both roles, without a socket.
//!
//! The captures and their origin are described in `tests/vectors/README.md`.

mod archive;
mod description;
mod discovery;
mod handshake;
mod postproc;
mod samples;
mod vectors;
