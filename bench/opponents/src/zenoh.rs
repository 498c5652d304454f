//! Zenoh: a publisher listens on TCP and hears of a subscriber by its liveliness token; subscribers connect to it.
//!
//! - Source: docs.rs of zenoh 1.

use core::ffi::c_int;
use core::time::Duration;
use std::net::TcpListener;

use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};

use super::{Fault, Limits};

type Samples = Subscriber<FifoChannelHandler<Sample>>;

/// One end with its address.
pub(crate) enum End {
    Publisher { publisher: Publisher<'static>, consumers: Samples, _session: Session },
    Subscriber { samples: Samples, _token: LivelinessToken, _session: Session },
}

impl End {
    /// Publishes, and says at which port.
    pub(crate) fn publisher(host: &str, _: Limits) -> Result<(Self, u16), Fault> {
        // Zenoh wants to know its port beforehand.
        let port = TcpListener::bind((host, 0)).and_then(|free| free.local_addr()).map_err(Fault::of)?.port();
        let session = open("listen/endpoints", &format!("tcp/{host}:{port}"))?;
        let consumers = session.liveliness().declare_subscriber(format!("{CONSUMERS}/*")).history(true);
        let consumers = consumers.with(FifoChannel::new(1024)).wait().map_err(Fault::of)?;
        let publisher = session.declare_publisher(SUBJECT).congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().map_err(Fault::of)?;
        Ok((Self::Publisher { publisher, consumers, _session: session }, port))
    }

    pub(crate) fn subscriber(address: &str, limits: Limits) -> Result<Self, Fault> {
        let session = open("connect/endpoints", &format!("tcp/{address}"))?;
        let samples = session.declare_subscriber(SUBJECT).with(FifoChannel::new(limits.queue.max(1)));
        let samples = samples.wait().map_err(Fault::of)?;
        let token = session.liveliness().declare_token(format!("{CONSUMERS}/{}", session.zid()));
        let token = token.wait().map_err(Fault::of)?;
        Ok(Self::Subscriber { samples, _token: token, _session: session })
    }

    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        let Self::Publisher { publisher, .. } = self else { return Err(Fault::of("not a publisher")) };
        publisher.put(message).wait().map_err(Fault::of)
    }

    /// Receives a message; a publisher one byte for each subscriber that came.
    pub(crate) fn receive(&mut self, out: &mut [u8], patience: Duration) -> Result<usize, Fault> {
        let next = |from: &Samples| from.recv_timeout(patience).map_err(Fault::of)?.ok_or(Fault::Late);
        match self {
            Self::Publisher { consumers, .. } => loop {
                if next(consumers)?.kind() == SampleKind::Put {
                    return Ok(1);
                }
            },
            Self::Subscriber { samples, .. } => {
                let sample = next(samples)?;
                let payload = sample.payload().to_bytes();
                if let Some(out) = out.get_mut(..payload.len()) {
                    out.copy_from_slice(&payload);
                }
                Ok(payload.len())
            }
        }
    }
}

fn open(key: &str, endpoint: &str) -> Result<Session, Fault> {
    let mut config = Config::default();
    let settings =
        [("mode", "\"peer\""), ("scouting/multicast/enabled", "false"), ("scouting/gossip/enabled", "false")];
    for (key, value) in settings {
        config.insert_json5(key, value).map_err(Fault::of)?;
    }
    // A peer listens everywhere unless it is told where.
    config.insert_json5("listen/endpoints", "[]").map_err(Fault::of)?;
    config.insert_json5(key, &format!("[\"{endpoint}\"]")).map_err(Fault::of)?;
    zenoh::open(config).wait().map_err(Fault::of)
}

/// Of zenoh, as `Cargo.toml` asks for it.
pub(crate) const VERSION: [c_int; 3] = [1, 10, 2];

const SUBJECT: &str = "schwann/bench/samples";
const CONSUMERS: &str = "schwann/bench/consumers";
