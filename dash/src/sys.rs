//! What differs between systems: the usual browser. No other file of this crate asks which system it runs on.

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub(crate) use macos::opener;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::opener;
#[cfg(not(any(target_os = "macos", windows)))]
mod desktop;
#[cfg(not(any(target_os = "macos", windows)))]
pub(crate) use desktop::opener;
