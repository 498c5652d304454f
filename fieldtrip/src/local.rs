//! Sockets at a path, which programs of this computer alone reach. Windows has none: there nothing makes one.

pub use crate::sys::local::{Listener, Stream, bind};
