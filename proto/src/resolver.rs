//! How streams are searched: what to ask, when to ask, and what to make of the answers.
//!
//! A [`Search`] says when to send which burst; the driver owns the sockets and feeds what comes back into
//! `Results`. lsl-wire §5 (conditions), §6.3, §6.4, §7, §18 (recovery).

pub mod condition;
mod recovery;
#[cfg(feature = "alloc")]
mod results;
mod schedule;

pub use recovery::{Recovery, recovery_search_time};
#[cfg(feature = "alloc")]
pub use results::Results;
pub use schedule::{Burst, Duration, ResolverSettings, Search, SearchOutput, Until};
