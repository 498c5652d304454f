//! What counts as handed over is at the hub, whatever broke off before (relay §8.3).

use std::collections::BTreeSet;

use schwann_relay::{AtHub, HandedOver, Outflow, Range, Ranges, RunId};

/// The edge of a stream, and what its hub keeps, in order.
#[derive(Clone, Default)]
struct Site {
    sealed: Vec<(RunId, u64)>,
    outflows: Vec<Outflow>,
    handed: HandedOver,
    log: Vec<(RunId, u64)>,
}

impl Site {
    /// A stream with a run, to a hub that is reached.
    fn new() -> Self {
        let mut site = Self::default();
        site.begin(1);
        site.connect();
        site
    }

    fn begin(&mut self, run: u8) {
        let run = RunId([run; 16]);
        self.handed.begin(run);
        self.sealed.push((run, 0));
        self.outflows.push(Outflow::new(Ranges::default(), &Ranges::default(), Vec::new()));
    }

    fn seal(&mut self, count: u64) {
        self.sealed.last_mut().expect("a run").1 += count;
        (0..count).for_each(|_| self.outflows.last_mut().expect("a run").appended());
    }

    /// The connection breaks, and another one stands.
    fn connect(&mut self) {
        self.handed.connected(self.last());
        for ((run, _), outflow) in self.sealed.iter().zip(&mut self.outflows) {
            outflow.disconnected();
            outflow.connected(&self.handed.of(*run));
        }
    }

    /// The block that was published last, of those that the hub has.
    fn last(&self) -> Option<AtHub> {
        self.log.last().map(|&(run, number)| AtHub { run, number, place: self.log.len() as u64 })
    }

    /// Publishes a block, the present run's first; says whether one was due.
    fn publish(&mut self) -> bool {
        for ((run, _), outflow) in self.sealed.iter().zip(&mut self.outflows).rev() {
            let Some(number) = outflow.next_block() else { continue };
            let run = *run;
            outflow.acknowledged(number);
            self.log.push((run, number));
            self.handed.published(run, number);
            self.handed.acknowledged(AtHub { run, number, place: self.log.len() as u64 });
            return true;
        }
        false
    }

    /// Catches up for a while: each live block goes with one of the backlog, as on a slow line.
    fn catch_up(&mut self, count: u64) {
        for _ in 0..count {
            self.seal(1);
            assert!(self.publish() && self.publish());
        }
    }

    /// Publishes all that is due; says how many blocks that were.
    fn settle(&mut self) -> usize {
        (0..).take_while(|_| self.publish()).count()
    }

    /// The edge ends. Another begins with the journal, and with what this one wrote down.
    fn restart(&mut self) {
        let known: Vec<_> = self.handed.runs().map(|(run, blocks)| (run, blocks.clone())).collect();
        self.handed = HandedOver::new(known, self.handed.place());
        let held = |count: u64| Ranges::from_iter(count.checked_sub(1).map(|last| Range { first: 0, last }));
        self.outflows = self
            .sealed
            .iter()
            .map(|(_, count)| Outflow::new(held(*count), &Ranges::default(), Vec::new()))
            .collect();
    }

    /// Nothing waits, and the hub has each block that was sealed.
    fn assert_all_is_there(&self) {
        assert!(self.outflows.iter().all(|outflow| outflow.waiting() == 0));
        let there: BTreeSet<_> = self.log.iter().copied().collect();
        let all = self.sealed.iter().flat_map(|(run, count)| (0..*count).map(|number| (*run, number)));
        let missing: Vec<_> = all.filter(|block| !there.contains(block)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

/// A run before the present one, an outage, and a catch-up that is not done yet.
fn behind() -> Site {
    let mut site = Site::new();
    site.seal(5);
    site.settle();
    site.seal(20);
    site.begin(2);
    site.seal(30);
    site.connect();
    site.catch_up(10);
    site
}

#[test]
fn a_catch_up_that_broke_off_goes_on_where_it_was() {
    let mut site = behind();
    for _ in 0..3 {
        site.connect();
        site.catch_up(5);
    }
    site.connect();
    site.settle();
    site.assert_all_is_there();
    // The newest of each run goes with each connection, and nothing else twice.
    assert!(site.log.len() <= 25 + 30 + 10 + 15 + 2 * 4, "{}", site.log.len());
}

#[test]
fn a_hub_that_is_set_back_gets_again_what_it_lost() {
    let mut caught_up = behind();
    caught_up.settle();
    caught_up.begin(3);
    caught_up.connect();
    caught_up.seal(10);
    caught_up.settle();
    caught_up.connect();
    caught_up.settle();
    let mut sites = vec![behind(), caught_up.clone(), behind(), caught_up];
    sites.iter_mut().skip(2).for_each(Site::restart);
    for site in sites {
        for left in 0..=site.log.len() {
            let mut site = site.clone();
            site.log.truncate(left);
            site.connect();
            site.settle();
            site.assert_all_is_there();
        }
    }
}

#[test]
fn a_hub_that_is_set_back_a_little_gets_little_again() {
    let mut site = behind();
    site.settle();
    site.seal(10);
    site.settle();
    site.log.truncate(site.log.len() - 4);
    site.connect();
    assert_eq!(site.settle(), 4 + 1, "and the newest of the run before");
    site.assert_all_is_there();
}

#[test]
fn an_edge_that_starts_again_sends_what_was_not_acknowledged_and_little_more() {
    let mut site = behind();
    let there: BTreeSet<_> = site.log.iter().copied().collect();
    site.restart();
    site.begin(3);
    site.connect();
    assert_eq!(site.settle(), 25 + 40 - there.len() + 1, "and the newest of a run");
    site.assert_all_is_there();
}

#[test]
fn another_hub_gets_all_of_it() {
    let mut site = behind();
    site.settle();
    site.log.clear();
    site.connect();
    site.settle();
    site.assert_all_is_there();
}
