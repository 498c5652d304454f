//! One end of a transfer.

use core::ffi::c_int;
use core::fmt::Display;
use core::time::Duration;
use std::net::TcpListener;

use zenoh::handlers::{FifoChannel, FifoChannelHandler};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};

/// Why a call failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// Nothing came in time.
    Late,
    /// Zenoh refused, and said why on the standard error.
    Failed,
}

impl Fault {
    /// The number that `errno` tells: EAGAIN, or EIO.
    pub(crate) fn number(self) -> c_int {
        match self {
            Self::Late => 11,
            Self::Failed => 5,
        }
    }

    fn of(error: impl Display) -> Self {
        eprintln!("zenoh: {error}");
        Self::Failed
    }
}

type Samples = Subscriber<FifoChannelHandler<Sample>>;

/// One end, before and after it has an address.
#[derive(Default)]
pub(crate) struct Socket {
    /// Messages that a subscriber keeps.
    queue: usize,
    patience: Duration,
    endpoint: String,
    end: End,
}

#[derive(Default)]
enum End {
    #[default]
    Idle,
    Publisher {
        publisher: Publisher<'static>,
        consumers: Samples,
        _session: Session,
    },
    Subscriber {
        samples: Samples,
        _token: LivelinessToken,
        _session: Session,
    },
}

impl Socket {
    /// Sets an option of libzmq, if there is such a thing here.
    pub(crate) fn set(&mut self, option: c_int, value: c_int) {
        match option {
            RECEIVE_QUEUE => self.queue = usize::try_from(value).unwrap_or(0),
            RECEIVE_TIMEOUT => {
                self.patience = Duration::from_millis(u64::try_from(value).unwrap_or(u64::MAX / 2))
            }
            _ => {}
        }
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn publish(&mut self, address: &str) -> Result<(), Fault> {
        let host = address.trim_start_matches("tcp://").trim_end_matches(":*");
        // Zenoh wants to know its port beforehand.
        let port = TcpListener::bind((host, 0)).and_then(|free| free.local_addr()).map_err(Fault::of)?.port();
        let session = open("listen/endpoints", &format!("tcp/{host}:{port}"))?;
        let consumers = session.liveliness().declare_subscriber(format!("{CONSUMERS}/*")).history(true);
        let consumers = consumers.with(FifoChannel::new(1024)).wait().map_err(Fault::of)?;
        let publisher = session.declare_publisher(SUBJECT).congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().map_err(Fault::of)?;
        self.endpoint = format!("tcp://{host}:{port}");
        self.end = End::Publisher { publisher, consumers, _session: session };
        Ok(())
    }

    pub(crate) fn subscribe(&mut self, address: &str) -> Result<(), Fault> {
        let session = open("connect/endpoints", &address.replacen("tcp://", "tcp/", 1))?;
        let samples = session.declare_subscriber(SUBJECT).with(FifoChannel::new(self.queue.max(1)));
        let samples = samples.wait().map_err(Fault::of)?;
        let token = session.liveliness().declare_token(format!("{CONSUMERS}/{}", session.zid()));
        let token = token.wait().map_err(Fault::of)?;
        self.end = End::Subscriber { samples, _token: token, _session: session };
        Ok(())
    }

    pub(crate) fn send(&self, message: &[u8]) -> Result<(), Fault> {
        let End::Publisher { publisher, .. } = &self.end else { return Err(Fault::of("not a publisher")) };
        publisher.put(message).wait().map_err(Fault::of)
    }

    /// Receives a message; a publisher one byte for each subscriber that came.
    pub(crate) fn receive(&self, out: &mut [u8]) -> Result<usize, Fault> {
        match &self.end {
            End::Idle => Err(Fault::of("not connected")),
            End::Publisher { consumers, .. } => loop {
                if self.next(consumers)?.kind() == SampleKind::Put {
                    return Ok(1);
                }
            },
            End::Subscriber { samples, .. } => {
                let sample = self.next(samples)?;
                let payload = sample.payload().to_bytes();
                if let Some(out) = out.get_mut(..payload.len()) {
                    out.copy_from_slice(&payload);
                }
                Ok(payload.len())
            }
        }
    }

    fn next(&self, from: &Samples) -> Result<Sample, Fault> {
        from.recv_timeout(self.patience).map_err(Fault::of)?.ok_or(Fault::Late)
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
const RECEIVE_QUEUE: c_int = 24;
const RECEIVE_TIMEOUT: c_int = 27;
