//! What a connection's session holds in memory, counted by the allocator.

use schwann_session::{Initiator, Layer, Opened, Responder, Secure, Suite};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};

use super::lab::{End, Lab};
use super::{Reason, Targets};

const CONNECTIONS: usize = 200;
const LIMIT_BYTES: f64 = 2048.0;

/// Both ends as a program holds them: boxed, with the datagrams' keys taken out.
struct Held {
    _session: Box<dyn Layer>,
    _datagrams: Box<schwann_session::Datagrams>,
}

/// Prints the figures.
pub(super) fn measure() -> Result<Targets, Reason> {
    let lab = Lab::new()?;
    let mut all = Targets::Met;
    for (name, end) in [("inlet", End::Inlet), ("outlet", End::Outlet)] {
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let held: Vec<Held> = (0..CONNECTIONS).map(|_| connection(&lab, end)).collect::<Result<_, _>>()?;
        let change = region.change();
        if change.allocations == 0 {
            return Err("this program does not count its allocations".into());
        }
        let bytes = (change.bytes_allocated - change.bytes_deallocated) as f64 / held.len() as f64;
        let met = Targets::of(bytes <= LIMIT_BYTES);
        println!("state of an {name}'s session: {bytes:.0} B  <= 2 KiB: {}", met.word());
        all = all.and(met);
    }
    println!(
        "of it the session: {} B, its datagrams: {} B",
        size_of::<Secure>(),
        size_of::<schwann_session::Datagrams>()
    );
    Ok(all)
}

fn connection(lab: &Lab, end: End) -> Result<Held, Reason> {
    let mut initiator = lab.with(End::Inlet, |context| Initiator::new(Suite::Hybrid, context))?;
    let mut responder = Responder::new();
    let mut wire = Vec::new();
    for _ in 0..2 {
        let forth = initiator.poll_output().to_vec();
        initiator.sent(forth.len());
        let _ = lab.with(End::Outlet, |context| responder.handle(&forth, context))?;
        wire = responder.poll_output().to_vec();
        responder.sent(wire.len());
        if initiator.poll_output().is_empty() && forth.len() > 1000 {
            let _ = lab.with(End::Inlet, |context| initiator.handle(&wire, context))?;
        }
    }
    let (inlet, outlet) = initiator.finish().zip(responder.finish()).ok_or("the handshake is not done")?;
    let (mut inlet, outlet) = (inlet.session, outlet.session);
    if !matches!(inlet.open(&mut wire)?, Opened::Data { .. }) {
        return Err("no greeting".into());
    }
    let mut session = if end == End::Inlet { inlet } else { outlet };
    let datagrams = session.take_datagrams().ok_or("a session has keys for datagrams")?;
    Ok(Held { _session: Box::new(session), _datagrams: Box::new(datagrams) })
}
