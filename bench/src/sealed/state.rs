//! What a connection's session holds in memory, counted by the allocator.

use schwann_session::{Opened, Secure, Suite};

use super::lab::{End, Lab};
use super::session::{Shaken, shake};
use crate::Reason;
use crate::heap::held_by;
use crate::record::Reading;

/// Both ends as a program holds them: boxed, with the datagrams' keys taken out.
struct Held {
    _session: Box<Secure>,
    _datagrams: Box<schwann_session::Datagrams>,
}

/// Counts the ends of many connections.
pub(crate) fn measure(step: &str) -> Result<Vec<Reading>, Reason> {
    let lab = Lab::new()?;
    let bytes = |subject: &str, name: &str, bytes| Reading::one(step, subject, name, "B", bytes);
    let mut readings = Vec::new();
    for (name, end) in [("inlet", End::Inlet), ("outlet", End::Outlet)] {
        let all = || (0..CONNECTIONS).map(|_| connection(&lab, end)).collect::<Result<Vec<Held>, _>>();
        let (held, all_bytes) = held_by(all);
        let each = all_bytes / held?.len() as f64;
        let reading = bytes(name, "state of a connection's session", each);
        readings.push(reading.limited("<= 2048"));
    }
    readings.push(bytes("both", "of it the session", size_of::<Secure>() as f64));
    readings.push(bytes("both", "of it the datagrams", size_of::<schwann_session::Datagrams>() as f64));
    Ok(readings)
}

fn connection(lab: &Lab, end: End) -> Result<Held, Reason> {
    let Shaken { mut inlet, outlet, mut greeting, .. } = shake(lab, Suite::Hybrid)?;
    if !matches!(inlet.open(&mut greeting)?, Opened::Data { .. }) {
        return Err("no greeting".into());
    }
    let mut session = if end == End::Inlet { inlet } else { outlet };
    let datagrams = session.take_datagrams().ok_or("a session has keys for datagrams")?;
    Ok(Held { _session: Box::new(session), _datagrams: Box::new(datagrams) })
}

const CONNECTIONS: usize = 200;
