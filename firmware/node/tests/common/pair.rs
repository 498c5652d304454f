//! An outlet and an inlet that are connected in simulated time.

use schwann_node::{Description, Found, Inlet, Keep, Pace, Producer, Security, Wanted};
use schwann_session::Suite;

use super::{Lab, NodeInlet, NodeOutlet, World, exchange, outlet};

pub(crate) fn wanted(description: &Description<'_>) -> Wanted {
    let mut document = Vec::new();
    description.put_shortinfo(&mut document).expect("a vector takes everything");
    let document = String::from_utf8(document).expect("text");
    Wanted::new(&Found::parse(&document).expect("a stream"), 1000).expect("a UUID")
}

pub(crate) fn inlet(description: &Description<'_>, security: Security<'static>) -> NodeInlet {
    Inlet::new(wanted(description), security, Suite::Classic)
}

pub(crate) struct Pair {
    pub(crate) world: World,
    pub(crate) producer: Producer<'static>,
    pub(crate) outlet: NodeOutlet,
    pub(crate) inlet: NodeInlet,
}

impl Pair {
    pub(crate) fn new(description: Description<'static>, sealed: bool, pace: Pace, samples: usize) -> Self {
        let lab = Lab::new();
        let security = |serial| if sealed { lab.security(serial, |_| {}) } else { Security::Off };
        let (producer, outlet) = outlet(description, security(1), pace, Keep::Newest, samples);
        let inlet = inlet(&description, security(2));
        Self { world: World::new(), producer, outlet, inlet }
    }

    pub(crate) fn connect(&mut self) {
        self.outlet.accept(0, self.world.now);
        self.inlet.connected(&mut self.world.surroundings());
        self.exchange(usize::MAX);
    }

    pub(crate) fn exchange(&mut self, most: usize) {
        exchange(&mut self.world, &mut self.outlet, 0, &mut self.inlet, most);
    }
}

/// Sends a request over a link and collects everything that comes back.
pub(crate) fn ask(
    world: &mut World,
    outlet: &mut NodeOutlet,
    link: usize,
    request: &[u8],
    answer: &mut Vec<u8>,
) {
    outlet.receive(link, request, &mut world.surroundings());
    loop {
        outlet.poll(world.now);
        let count = outlet.transmit(link).len().min(33);
        answer.extend_from_slice(&outlet.transmit(link)[..count]);
        outlet.sent(link, count, world.now);
        if count == 0 {
            return;
        }
    }
}
