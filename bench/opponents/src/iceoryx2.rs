//! iceoryx2: samples in shared memory, and an event that wakes the subscribers.
//!
//! The publisher holds a TCP port, and its number names both services. No other program of this computer has that
//! port meanwhile. A message is written where subscribers read it; a subscriber copies it out, as every other
//! opponent does.
//!
//! - Source: docs.rs of iceoryx2 0.10.

use core::ffi::c_int;
use core::time::Duration;
use std::net::TcpListener;
use std::time::Instant;

use iceoryx2::node::NodeBuilder;
use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{PortFactory as _, ServiceName, ipc};
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

use super::{Fault, Limits};

type Samples = PortFactory<ipc::Service, [u8], ()>;

/// One end with its address.
pub(crate) enum End {
    Publisher {
        samples: Samples,
        /// Made at the first message, whose length all have.
        publisher: Option<Publisher<ipc::Service, [u8], ()>>,
        wake: Notifier<ipc::Service>,
        /// Subscribers that the caller was told of.
        told: usize,
        _port: TcpListener,
    },
    Subscriber {
        subscriber: Subscriber<ipc::Service, [u8], ()>,
        wake: Listener<ipc::Service>,
    },
}

impl End {
    /// Publishes, and says under which number.
    pub(crate) fn publisher(host: &str, limits: Limits) -> Result<(Self, u16), Fault> {
        let held = TcpListener::bind((host, 0)).map_err(Fault::of)?;
        let port = held.local_addr().map_err(Fault::of)?.port();
        let node = NodeBuilder::new().create::<ipc::Service>().map_err(Fault::of)?;
        let samples = node.service_builder(&name("samples", port)?).publish_subscribe::<[u8]>();
        let samples = samples.max_publishers(1).max_subscribers(SUBSCRIBERS).max_nodes(SUBSCRIBERS + 1);
        // A sample that finds no room waits for it.
        let samples = samples.enable_safe_overflow(false).history_size(0);
        let queue = limits.queue.clamp(1, MOST_QUEUED);
        let samples = samples.subscriber_max_buffer_size(queue).create().map_err(Fault::of)?;
        let wake = node.service_builder(&name("wake", port)?).event();
        let wake = wake.max_notifiers(1).max_listeners(SUBSCRIBERS).max_nodes(SUBSCRIBERS + 1);
        let wake = wake.create().map_err(Fault::of)?.notifier_builder().create().map_err(Fault::of)?;
        Ok((Self::Publisher { samples, publisher: None, wake, told: 0, _port: held }, port))
    }

    pub(crate) fn subscriber(address: &str, _: Limits) -> Result<Self, Fault> {
        let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let port = port.ok_or_else(|| Fault::of("the address has no port"))?;
        let node = NodeBuilder::new().create::<ipc::Service>().map_err(Fault::of)?;
        // First what wakes it: once the publisher counts the subscriber, it can be woken.
        let wake = node.service_builder(&name("wake", port)?).event().open().map_err(Fault::of)?;
        let wake = wake.listener_builder().create().map_err(Fault::of)?;
        let samples = node.service_builder(&name("samples", port)?).publish_subscribe::<[u8]>();
        let samples = samples.open().map_err(Fault::of)?;
        let subscriber = samples.subscriber_builder().create().map_err(Fault::of)?;
        Ok(Self::Subscriber { subscriber, wake })
    }

    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        let Self::Publisher { samples, publisher, wake, .. } = self else {
            return Err(Fault::of("not a publisher"));
        };
        let publisher = match publisher {
            Some(publisher) => publisher,
            None => publisher.insert(
                samples
                    .publisher_builder()
                    .initial_max_slice_len(message.len())
                    .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
                    .create()
                    .map_err(Fault::of)?,
            ),
        };
        let room = publisher.loan_slice_uninit(message.len()).map_err(Fault::of)?;
        room.write_from_slice(message).send().map_err(Fault::of)?;
        wake.notify().map_err(Fault::of).map(drop)
    }

    /// Receives a message; a publisher one byte for each subscriber that came.
    pub(crate) fn receive(&mut self, out: &mut [u8], patience: Duration) -> Result<usize, Fault> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self {
                Self::Publisher { samples, told, .. } => {
                    if samples.dynamic_config().number_of_subscribers() > *told {
                        *told += 1;
                        return Ok(1);
                    }
                    if left.is_zero() {
                        return Err(Fault::Late);
                    }
                    std::thread::sleep(LOOK_AGAIN.min(left));
                }
                Self::Subscriber { subscriber, wake } => {
                    if let Some(sample) = subscriber.receive().map_err(Fault::of)? {
                        let payload = sample.payload();
                        if let Some(out) = out.get_mut(..payload.len()) {
                            out.copy_from_slice(payload);
                        }
                        return Ok(payload.len());
                    }
                    if left.is_zero() {
                        return Err(Fault::Late);
                    }
                    wake.timed_wait(|_| {}, left).map_err(Fault::of)?;
                }
            }
        }
    }
}

fn name(what: &str, port: u16) -> Result<ServiceName, Fault> {
    ServiceName::new(&format!("schwann-bench/{port}/{what}")).map_err(Fault::of)
}

/// Of iceoryx2, as `Cargo.toml` asks for it.
pub(crate) const VERSION: [c_int; 3] = [0, 10, 0];

/// Receiving processes of any cell.
const SUBSCRIBERS: usize = 64;
/// Messages in shared memory for each subscriber; more would take gigabytes.
const MOST_QUEUED: usize = 256;
/// The publisher looks so often for new subscribers.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
