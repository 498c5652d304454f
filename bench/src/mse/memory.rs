//! What a hundred idle connections hold, counted by the allocator.

use std::io::Write;

use schwann_mse::Method;
use schwann_mse::stream::Stream;

use super::cipher::agreed;
use super::figure;
use crate::Reason;
use crate::heap::held_by;
use crate::record::Reading;
use crate::suite::Effort;

pub(super) fn run(_: Effort) -> Result<Vec<Reading>, Reason> {
    let mut outcomes = Vec::new();
    for method in [Method::Rc4, Method::Aes128Ctr, Method::Aes256Ctr] {
        let all = || (0..CONNECTIONS).map(|_| connection(method)).collect::<Result<Vec<_>, _>>();
        let (streams, bytes) = held_by(all);
        drop(streams?);
        let held = bytes / 1024.0;
        let held = figure(format!("{CONNECTIONS} connections, {method}"), "KiB", vec![held]);
        outcomes.push(held.limited("<= 256 KiB"));
    }
    Ok(outcomes)
}

/// The responder's end of a connection that has been used.
fn connection(method: Method) -> Result<Stream<std::io::Empty>, Reason> {
    let mut stream = Stream::new(std::io::empty(), agreed(method)?, &[]);
    stream.write_all(&[0; 20_000])?;
    Ok(stream)
}

const CONNECTIONS: usize = 100;
