//! How fast ChaCha20-Poly1305 is here, against the other libraries, in one run.
//!
//! Every contender seals and opens the same [`Workload`] in place, in turns of a few milliseconds whose
//! order changes every round. A [`Probe`] before and after each timed pass tells whether the core was
//! ours and at full clock; other passes are thrown away. Every opened pass is compared with the plaintext.

mod agree;
mod contender;
pub mod goals;
#[cfg(all(feature = "peers", target_arch = "x86_64", unix))]
mod ipsec;
mod measure;
pub mod mixed;
#[cfg(feature = "peers")]
mod peers;
mod probe;
pub mod shapes;
pub(crate) mod suite;
pub mod sweep;
pub mod workers;
mod workload;

pub use agree::agree;
pub use contender::{Contender, Engine};
pub use measure::{Figure, Plan, Restless, measure};
#[cfg(feature = "peers")]
pub use peers::{peers, ring_again};
pub use probe::Probe;
pub use workload::{KEY, Workload};
