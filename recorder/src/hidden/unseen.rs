//! What is said of a stream that is there and not seen.

use core::fmt;
use core::net::SocketAddr;
use std::collections::BTreeMap;

use schwann::resolver::refused_calls;
use schwann::security::{Explained, Refusal};

use crate::words::quoted;

/// A stream that is there, and that this computer does not see.
#[derive(Clone, Debug)]
pub struct Unseen {
    /// Its name and computer, if its outlet tells them.
    pub name: Option<String>,
    /// Where its outlet is.
    pub address: String,
    /// Why, and what mends it.
    pub reason: String,
}

impl fmt::Display for Unseen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, address, reason } = self;
        match name {
            Some(name) => write!(out, "{name}: {reason}"),
            None => write!(out, "the outlet at {address}: {reason}"),
        }
    }
}

/// What a program means that takes connections at a port of outlets, and says nothing.
pub(super) fn hangs(port: u16) -> String {
    format!(
        "it takes connections at port {port}, where streams are, and does not answer: it hangs or was stopped; end it, or \
         continue it with `kill -CONT` and its number"
    )
}

/// What is said where nothing can be looked for.
pub(super) fn unlooked() -> Unseen {
    Unseen {
        name: Some(String::from("streams that no search finds")),
        address: String::new(),
        reason: String::from(
            "nothing looks for them, as the system grants no thread; end other programs, and try again",
        ),
    }
}

/// Members of the lab that let this device in no more, one for each reason: all others would say the same.
pub(super) fn refused_by_lab(known: &BTreeMap<SocketAddr, Refusal>) -> Vec<Unseen> {
    let mut calls = refused_calls();
    // A person knows a computer by its IPv4 address.
    calls.sort_by_key(|(address, _)| address.is_ipv6());
    let mut told: Vec<Refusal> = known.values().copied().collect();
    let mut unseen = Vec::new();
    for (address, refusal) in calls {
        if !told.contains(&refusal) {
            told.push(refusal);
            let reason = Explained(refusal).to_string();
            unseen.push(Unseen { name: None, address: address.to_string(), reason });
        }
    }
    unseen
}

/// Why a stream in the clear is not seen, and what admits it.
pub(super) fn in_the_clear(name: &str) -> String {
    format!(
        "the peer speaks plain LSL, and this computer takes sealed streams alone; `schwann gateway` on its computer \
         brings it in, sealed; `schwann keys admit {}` admits this one in the clear; to seal it: `schwann keys join` there",
        quoted(name)
    )
}
