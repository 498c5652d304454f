//! How the edge begins a connection to the hub.

use schwann_relay::{AtHub, Block, Range, Ranges};

use crate::{
    disk::Disk,
    edge::{Line, Process, block_of},
    hub::Hub,
    lab::Seeded,
    world::Bug,
};

/// Says what every member must know, and finds out what the hub has.
pub fn connect(
    process: &mut Process,
    journal: &Disk<Line>,
    bug: Option<Bug>,
    hub: &mut Hub,
    chance: &mut Seeded,
) {
    process.connected = true;
    let present = process.run.id();
    for line in journal.lines() {
        let message = match line {
            Line::Announcement(..) if bug == Some(Bug::AnnouncedOnce) && chance.below(4) > 0 => continue,
            Line::Keys(run, _) if bug == Some(Bug::KeysNotKept) && *run != present => continue,
            Line::Announcement(_, message) | Line::Keys(_, message) => message.clone(),
            Line::Block(..) => continue,
        };
        hub.publish(message, chance);
    }
    let last = hub.last(b"SRB\x01").and_then(|(message, place)| Some((Block::parse(message).ok()?, place)));
    let last = last.filter(|(block, _)| {
        bug == Some(Bug::TrustedResume)
            || block_of(journal, block.run(), block.number()) == Some(block.as_bytes())
    });
    let last = last.map(|(block, place)| AtHub { run: block.run(), number: block.number(), place });
    process.handed.connected(last);
    for (run, outflow) in &mut process.outflows {
        match last {
            Some(last) if last.run == *run && bug == Some(Bug::LastCountsForAllBefore) => {
                outflow.connected(&Ranges::from_iter([Range { first: 0, last: last.number }]));
            }
            _ => outflow.connected(&process.handed.of(*run)),
        }
    }
}
