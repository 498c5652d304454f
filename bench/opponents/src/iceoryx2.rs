//! iceoryx2: samples in shared memory, and an event that wakes the subscribers.
//!
//! The publisher holds a TCP port, and its number names both services. No other program of this computer has that
//! port meanwhile. A message is written where subscribers read it; a subscriber copies it out, as every other
//! opponent does.
//!
//! - Source: docs.rs of iceoryx2 0.10.

use core::ffi::CStr;
use core::net::Ipv4Addr;
use core::time::Duration;
use std::net::TcpListener;
use std::time::Instant;

use iceoryx2::node::NodeBuilder;
use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::{PortFactory as _, ServiceName, ipc};
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

use super::Failed;

type Samples = PortFactory<ipc::Service, [u8], ()>;

/// The sending end.
pub struct Publisher {
    samples: Samples,
    /// Made at the first message, whose length all have.
    publisher: Option<iceoryx2::port::publisher::Publisher<ipc::Service, [u8], ()>>,
    wake: Notifier<ipc::Service>,
    pub(crate) port: u16,
    _held: TcpListener,
}

impl Publisher {
    pub(crate) fn new(queue: usize) -> Result<Self, Failed> {
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failed::of)?;
        let port = held.local_addr().map_err(Failed::of)?.port();
        let node = NodeBuilder::new().create::<ipc::Service>().map_err(Failed::of)?;
        let samples = node.service_builder(&name("samples", port)?).publish_subscribe::<[u8]>();
        let samples = samples.max_publishers(1).max_subscribers(SUBSCRIBERS).max_nodes(SUBSCRIBERS + 1);
        // A sample that finds no room waits for it, so that nothing is lost.
        let samples = samples.enable_safe_overflow(false).history_size(0);
        let queue = queue.clamp(1, MOST_QUEUED);
        let samples = samples.subscriber_max_buffer_size(queue).create().map_err(Failed::of)?;
        let wake = node.service_builder(&name("wake", port)?).event();
        let wake = wake.max_notifiers(1).max_listeners(SUBSCRIBERS).max_nodes(SUBSCRIBERS + 1);
        let wake = wake.create().map_err(Failed::of)?.notifier_builder().create().map_err(Failed::of)?;
        Ok(Self { samples, publisher: None, wake, port, _held: held })
    }

    /// Says whether there were so many subscribers in time.
    pub(crate) fn wait(&self, count: usize, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.samples.dynamic_config().number_of_subscribers() < count {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }

    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Failed> {
        let publisher = match &mut self.publisher {
            Some(publisher) => publisher,
            none => none.insert(
                self.samples
                    .publisher_builder()
                    .initial_max_slice_len(message.len())
                    .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
                    .create()
                    .map_err(Failed::of)?,
            ),
        };
        let room = publisher.loan_slice_uninit(message.len()).map_err(Failed::of)?;
        room.write_from_slice(message).send().map_err(Failed::of)?;
        self.wake.notify().map_err(Failed::of).map(drop)
    }
}

/// The receiving end.
pub struct Subscriber {
    subscriber: iceoryx2::port::subscriber::Subscriber<ipc::Service, [u8], ()>,
    wake: Listener<ipc::Service>,
}

impl Subscriber {
    pub(crate) fn new(port: u16) -> Result<Self, Failed> {
        let node = NodeBuilder::new().create::<ipc::Service>().map_err(Failed::of)?;
        // First what wakes it: once the publisher counts the subscriber, it can be woken.
        let wake = node.service_builder(&name("wake", port)?).event().open().map_err(Failed::of)?;
        let wake = wake.listener_builder().create().map_err(Failed::of)?;
        let samples = node.service_builder(&name("samples", port)?).publish_subscribe::<[u8]>();
        let samples = samples.open().map_err(Failed::of)?;
        let subscriber = samples.subscriber_builder().create().map_err(Failed::of)?;
        Ok(Self { subscriber, wake })
    }

    /// Receives a message and returns its length; 0 if none came in time.
    pub(crate) fn receive(&self, out: &mut [u8], patience: Duration) -> Result<usize, Failed> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(sample) = self.subscriber.receive().map_err(Failed::of)? {
                let payload = sample.payload();
                if let Some(out) = out.get_mut(..payload.len()) {
                    out.copy_from_slice(payload);
                }
                return Ok(payload.len());
            }
            if left.is_zero() {
                return Ok(0);
            }
            self.wake.timed_wait(|_| {}, left).map_err(Failed::of)?;
        }
    }
}

fn name(what: &str, port: u16) -> Result<ServiceName, Failed> {
    ServiceName::new(&format!("schwann-bench/{port}/{what}")).map_err(Failed::of)
}

/// Of iceoryx2, as `Cargo.toml` asks for it.
pub(crate) const VERSION: &CStr = c"0.10.0";

/// Receiving processes of any cell.
const SUBSCRIBERS: usize = 64;
/// Messages in shared memory for each subscriber; more would take gigabytes.
const MOST_QUEUED: usize = 256;
/// The publisher looks so often for new subscribers.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
