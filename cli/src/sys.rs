//! What differs between systems; no other file of this crate asks which one it runs on for these things.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::HiddenInput;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::HiddenInput;
