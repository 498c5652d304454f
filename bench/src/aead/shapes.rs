//! What each shape of messages gains over the more general one that would work on them otherwise.

use schwann_aead::Kernel;
use schwann_aead::kernel::Row;

use super::{Contender, Engine, Figure, Plan, Probe, Restless, Workload, measure};

/// One comparison.
pub(crate) struct Gain {
    /// The kernel, and both shapes.
    pub(crate) subject: String,
    /// Bytes of a message.
    pub(crate) size: usize,
    /// By how much longer the more general shape takes, as shares: sealing and opening.
    pub(crate) gain: [f64; 2],
    /// The same of the shape against itself.
    pub(crate) control: [f64; 2],
}

/// Compares at every length that the tables name.
///
/// # Errors
///
/// [`Restless`] if the machine does not let it.
pub(crate) fn gains(rounds: usize) -> Result<Vec<Gain>, Restless> {
    let mut probe = Probe::new();
    let mut gains = Vec::new();
    for kernel in Kernel::available() {
        for row in kernel.shapes() {
            for &size in row.measured {
                gains.push(gain(kernel, row, size, rounds, &mut probe)?);
            }
        }
    }
    Ok(gains)
}

fn gain(kernel: Kernel, row: &Row, size: usize, rounds: usize, probe: &mut Probe) -> Result<Gain, Restless> {
    let batch = if row.messages == 1 { 1 } else { BATCH };
    let mut contenders = [row.shape, row.instead, row.shape]
        .map(|shape| Box::new(Engine::in_shape(kernel, batch, shape)) as Box<dyn Contender>);
    let mut work = Workload::new((0..(131_072 / size).clamp(16, 256)).map(|_| size), 0);
    let figures = measure(&mut contenders, &mut work, Plan { rounds, passes: 8 }, probe)?;
    let against = |other: usize| {
        let share = |time: fn(&Figure) -> f64| time(&figures[other]) / time(&figures[0]) - 1.0;
        [share(|figure| figure.seal), share(|figure| figure.open)]
    };
    let subject = format!("{}: {:?} instead of {:?}", kernel.name(), row.shape, row.instead);
    Ok(Gain { subject, size, gain: against(1), control: against(2) })
}

/// Messages of a batch.
const BATCH: usize = 8;
