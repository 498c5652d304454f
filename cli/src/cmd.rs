//! One file per command.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dash;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod fake;
pub(crate) mod ft;
pub(crate) mod gateway;
#[cfg(feature = "hub")]
pub(crate) mod hub;
pub(crate) mod info;
pub(crate) mod keys;
pub(crate) mod look;
pub(crate) mod man;
pub(crate) mod mse;
pub(crate) mod opening;
pub(crate) mod peers;
pub(crate) mod play;
pub(crate) mod record;
#[cfg(feature = "hub")]
pub(crate) mod relay;
pub(crate) mod repair;
pub(crate) mod run;
pub(crate) mod sign;
pub(crate) mod swap;
pub(crate) mod verify;
pub(crate) mod watch;

mod certify;
mod survey;
