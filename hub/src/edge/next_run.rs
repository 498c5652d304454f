//! The runs of an edge: one at its start, and another when this device's key is no longer that of the run.

use schwann_relay::{Before, Block, Outflow, Ranges, Run, Start};
use schwann_session::PublicKey;

use super::{BeginError, Edge, lock};
use crate::journal::Journal;

impl Edge {
    /// Begins a run in the journal, and the way of its blocks to the hub.
    ///
    /// - Errors: [`BeginError::Seal`], [`BeginError::Journal`].
    pub(super) fn begin_run(&mut self, description: Vec<u8>) -> Result<Run, BeginError> {
        let (lab, stream, journal) = (self.access.lab_id(), self.journal.stream(), &self.journal);
        let run = self.access.sealing(|moment| {
            let device = moment.credentials.certificate().statement.device;
            let before = before(journal, &device);
            Run::begin(Start { lab, stream, description, before }, moment)
        });
        let run = run.map_err(BeginError::Seal)?;
        self.journal.begin(run.id()).map_err(BeginError::Journal)?;
        let mut outflow =
            Outflow::new(Ranges::default(), &Ranges::default(), self.settings.recorders.clone());
        if self.outflows.last().is_some_and(|(_, earlier)| earlier.is_connected()) {
            outflow.connected(&Ranges::default());
        }
        self.handed_over.begin(run.id());
        self.outflows.push((run.id(), outflow));
        Ok(run)
    }

    /// Goes on under a new run, because the present one cannot: this device has another key, or the run's numbers are used up.
    /// Says whether that was possible.
    pub(super) fn begin_next_run(&mut self) -> bool {
        // The journal appends to its last run alone.
        self.keep_unkept();
        let Some(live) = self.live.as_ref().filter(|_| self.unkept.is_empty()) else { return false };
        let description = live.run.description().to_vec();
        match (self.begin_run(description), &mut self.live) {
            (Ok(run), Some(live)) => live.run = run,
            (Ok(_), None) => return false,
            (Err(error), _) => {
                self.tell(format!("no new run can begin: {error}"));
                return false;
            }
        }
        self.members.begin_run();
        lock(&self.status).receipts.clear();
        self.tell(String::from("this device's key is new: a new run of the stream begins"));
        self.keep_epoch();
        true
    }
}

/// What the journal has of the run before. A run of another key is none: members would not believe it (relay §5).
fn before(journal: &Journal, device: &PublicKey) -> Before {
    let last = journal.runs().last().filter(|kept| kept.run.is_of(journal.stream(), device));
    let Some(kept) = last else { return Before::NONE };
    let last =
        kept.held().highest().and_then(|number| journal.block(kept.run, number).map(|bytes| (number, bytes)));
    let Some((number, bytes)) = last else { return Before { run: kept.run, blocks: 0, hash: [0; 32] } };
    let hash = Block::parse(&bytes).map_or([0; 32], |block| block.hash());
    Before { run: kept.run, blocks: number.saturating_add(1), hash }
}
