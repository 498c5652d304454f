//! Blocks that leave the journal for others. Here each is a file of its own.

use schwann_relay::{Range, Stake};

use super::{Edge, Line};
use crate::oracle::Oracle;

impl Edge {
    /// Lets up to `count` blocks go, those first of which least is lost. Says whether any went.
    pub fn trim(&mut self, count: u64, most: Stake, oracle: &mut Oracle) -> bool {
        (0..count).filter(|_| self.let_one_go(most, oracle)).count() > 0
    }

    fn let_one_go(&mut self, most: Stake, oracle: &mut Oracle) -> bool {
        let Some(process) = &mut self.process else { return false };
        let blocks = self.journal.lines().iter().filter_map(|line| match line {
            Line::Block(run, place, _) => Some((*run, Range::one(place.number))),
            _ => None,
        });
        let stakes = blocks.filter_map(|(run, range)| {
            let outflow = process.outflows.get(&run).filter(|outflow| !outflow.has_newest_in(range))?;
            Some((outflow.stake(range), run, range))
        });
        let Some((_, run, range)) = stakes.filter(|(stake, ..)| *stake <= most).min_by_key(|one| one.0)
        else {
            return false;
        };
        process.outflows.entry(run).and_modify(|outflow| _ = outflow.let_go(range));
        self.journal.remove(
            |line| matches!(line, Line::Block(r, place, _) if *r == run && range.contains(place.number)),
        );
        oracle.trimmed(run, range);
        true
    }
}
