//! How fast ChaCha20-Poly1305 is here, against the other libraries, in one run.
//!
//! Every contender seals and opens the same [`Workload`] in place, in turns of a few milliseconds whose
//! order changes every round. A [`Probe`] before and after each timed pass tells whether the core was
//! ours and at full clock; other passes are thrown away. Every opened pass is compared with the plaintext.

mod agree;
mod contender;
pub(crate) mod goals;
#[cfg(all(feature = "peers", target_arch = "x86_64", unix))]
mod ipsec;
mod measure;
pub(crate) mod mixed;
#[cfg(feature = "peers")]
mod peers;
mod probe;
pub(crate) mod shapes;
pub(crate) mod suite;
pub(crate) mod sweep;
pub(crate) mod workers;
mod workload;

pub(crate) use agree::agree;
pub(crate) use contender::{Contender, Engine};
pub(crate) use measure::{Figure, Plan, Restless, measure};
#[cfg(feature = "peers")]
pub(crate) use peers::{peers, ring_again};
pub(crate) use probe::Probe;
pub(crate) use workload::{KEY, Workload};
