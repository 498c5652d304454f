//! Sealed streams over real sockets on loopback: one program, so that what they stand on is linked once.

mod flood;
mod policies;
mod refusals;
mod rekey;
mod revocation;
#[path = "../sealing/mod.rs"]
mod sealing;
mod searches;
mod streams;
mod stripped;
mod takeover;
mod views;
