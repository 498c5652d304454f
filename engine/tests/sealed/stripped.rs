//! An attacker between a search and an outlet of a sealed lab. It replays what it heard, or takes the seal away.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use schwann::inlet::Recover;
use schwann::security::Policy;
use schwann::{Config, StreamInfo};
use schwann_proto::stream_info::IpVersion;
use schwann_proto::wire::discover;
use schwann_session::discovery::{DiscoveryKey, QUERY_OVERHEAD};
use schwann_session::{SystemEntropy, UnixSeconds};

use crate::sealing::{LONG, Lab, SHORT, context, description_of, find, inlet_of, network, outlet};

/// What the attacker does with a query.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mood {
    /// Passes it on.
    PassesOn,
    /// Answers with what the outlet answered before.
    Replays,
    /// Answers with a description in the clear.
    Strips,
}

/// A computer between a search, which asks nothing else, and an outlet.
struct Between {
    socket: UdpSocket,
    outlet: SocketAddr,
    info: StreamInfo,
    mood: Mutex<Mood>,
    /// The outlet's answer to an earlier search.
    recorded: Vec<u8>,
    attacks: AtomicUsize,
}

const ATTACKER: &str = "127.0.0.2";

impl Between {
    fn begin(config: &Config, info: StreamInfo, recorded: Vec<u8>) -> Arc<Self> {
        let port = info.endpoint(IpVersion::V4).service_port;
        let between = Arc::new(Self {
            socket: UdpSocket::bind((ATTACKER, config.ports.multicast)).expect("an address of loopback"),
            outlet: SocketAddr::from(([127, 0, 0, 1], port)),
            info,
            mood: Mutex::new(Mood::PassesOn),
            recorded,
            attacks: AtomicUsize::new(0),
        });
        let attacking = Arc::clone(&between);
        std::thread::spawn(move || {
            let mut query = [0; 2048];
            while let Ok((length, from)) = attacking.socket.recv_from(&mut query) {
                attacking.meet(&query[..length], from);
            }
        });
        between
    }

    fn meet(&self, query: &[u8], from: SocketAddr) {
        let answer = |text: &[u8]| self.socket.send_to(text, from).expect("sent");
        let mood = *self.mood.lock().expect("whole");
        match mood {
            Mood::PassesOn => {
                // The answer goes to the port that the sealed query names, at the address that it came from: past the attacker.
                self.socket.send_to(query, self.outlet).expect("sent");
            }
            Mood::Replays => {
                answer(&self.recorded);
                self.attacks.fetch_add(1, Ordering::Relaxed);
            }
            Mood::Strips => {
                let session = self.info.session_id().to_string();
                let conditions = ["", "name='Sealed'", &format!("session_id='{session}' and name='Sealed'")]
                    .map(str::to_owned);
                for condition in conditions {
                    let mut reply = Vec::new();
                    let (id, text) = (discover::query_id(&condition).to_string(), self.info.shortinfo());
                    let text = String::from_utf8(text).expect("text");
                    discover::encode_reply(&id, &text, &mut reply).expect("a vector takes everything");
                    answer(&reply);
                    self.attacks.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn is_now(&self, mood: Mood) {
        *self.mood.lock().expect("whole") = mood;
        self.attacks.store(0, Ordering::Relaxed);
    }
}

/// What an outlet answers to the sealed search of a member, as an attacker on the wire records it.
fn recorded(lab: &Lab, info: StreamInfo) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs_f64(LONG))).expect("a timeout");
    let return_port = socket.local_addr().expect("bound").port();
    let id = discover::query_id("").to_string();
    let mut query = Vec::new();
    discover::Query { condition: "", return_port, id: &id }
        .encode(&mut query)
        .expect("a vector takes everything");
    let mut datagram = vec![0; query.len() + QUERY_OVERHEAD];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    DiscoveryKey::new(lab.discovery())
        .seal_query(&query, UnixSeconds(now), &mut SystemEntropy, &mut datagram)
        .expect("sealed");
    socket.send_to(&datagram, ("127.0.0.1", info.endpoint(IpVersion::V4).service_port)).expect("sent");
    let mut reply = vec![0; 4096];
    let length = socket.recv(&mut reply).expect("a member gets an answer");
    reply.truncate(length);
    reply
}

#[test]
fn an_old_announcement_and_one_without_its_seal_bring_nothing() {
    let (lab, network) = (Lab::new(), network());
    let sending = context(&network, Policy::Require, Some(lab.member(1, |_| {})));
    let sender = outlet(&sending).expect("an outlet");
    // Ports that the outlet does not listen at: only the attacker hears the search.
    let base = sending.config().ports.base;
    let searching = network
        .replace(&format!("MulticastPort={}", base + 38), &format!("MulticastPort={}", base + 36))
        .replace(&format!("BasePort={base}"), &format!("BasePort={}\nPortRange=2", base + 33))
        .replace("[multicast]\n", &format!("[multicast]\nMachineAddresses={{{ATTACKER}}}\n"));
    let receiving = context(&searching, Policy::Require, Some(lab.member(2, |_| {})));
    let between =
        Between::begin(receiving.config(), description_of(&sender), recorded(&lab, description_of(&sender)));
    assert_eq!(find(&receiving, LONG).len(), 1, "what is passed on is found");
    for mood in [Mood::Replays, Mood::Strips] {
        between.is_now(mood);
        assert!(find(&receiving, SHORT).is_empty(), "{mood:?}");
        assert!(between.attacks.load(Ordering::Relaxed) > 0, "{mood:?} was never tried");
    }
    between.is_now(Mood::PassesOn);
    assert_eq!(find(&receiving, LONG).len(), 1, "the attacks have shut nothing");
}

#[test]
fn an_outlet_that_has_lost_its_seal_is_not_received_where_it_was() {
    let (lab, network) = (Lab::new(), network());
    let receiving = context(&network, Policy::Require, Some(lab.member(2, |_| {})));
    // The same stream at the same place, as an attacker would offer it: everything but the keys.
    let stripped = outlet(&context(&network, Policy::Off, None)).expect("an outlet");
    let inlet = inlet_of(&description_of(&stripped), &receiving, Recover::BySourceId).expect("an inlet");
    assert!(inlet.open_stream(SHORT).is_err() && inlet.full_info(SHORT).is_err());
    assert!(!stripped.have_consumers());
}
