//! Attacks on sealed clock probes, in both directions.
//!
//! Datagrams arrive here in the order in which they are sent. So once the genuine one is answered, all changed ones
//! before it have been looked at. The system's count of those that found no room must be zero.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, BufRead, BufReader};
use std::net::UdpSocket;
use std::process::ChildStdout;

use crate::attack::{Random, flip};
use crate::is_stopped;
use crate::stage::{Process, Stage};
use crate::tally::{Tally, Watch};

/// One direction's genuine datagrams, and what the attacker makes of them.
struct Forger {
    random: Random,
    /// The genuine one before.
    before: Vec<u8>,
    /// The newest of the other direction.
    opposite: Vec<u8>,
}

/// Attacks until `goal` datagrams were refused, and prints what came of it.
pub(crate) fn attack(stage: &Stage, goal: u64, seed: u64) -> Tally {
    let tally = Tally::new("attacked clock probes", ATTACKS.map(str::to_owned).into());
    let near = bound();
    let far = bound();
    far.connect((Ipv4Addr::LOCALHOST, stage.port("v4service_port"))).expect("an address");
    let own_port = near.local_addr().expect("an address").port();
    let ports = [stage.port("v4data_port"), own_port].map(|port| port.to_string());
    let (prober, mut reports) =
        Process::start("prober", &[&[stage.description.clone()][..], &ports].concat());
    let mut watch = Watch::new(&tally, vec![("outlet", &stage.outlet), ("prober", &prober)]);
    let mut forgers = [1, 2].map(|side| Forger::new(seed * 2 + side));
    let mut prober_address = None;
    while tally.total() < goal && !is_stopped() && tally.is_clean() {
        let round = round(&near, &far, &mut forgers, &mut reports, &mut prober_address);
        match round {
            Ok(counts) => counts.iter().enumerate().for_each(|(kind, count)| tally.refused(kind, *count)),
            Err(what) => tally.breach(what),
        }
        watch.look(goal);
    }
    let ports = [Some(stage.port("v4service_port")), prober_address.map(|address| address.port())];
    if let Some(dropped) = dropped(&ports).filter(|dropped| *dropped > 0) {
        tally.breach(format!("{dropped} datagrams found no room: they prove nothing"));
    }
    watch.end();
    tally.print();
    tally
}

fn bound() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout");
    socket
}

/// One probe and its answer, each behind a batch of changed ones; how many of each kind were refused.
///
/// - Errors: what was not refused.
fn round(
    near: &UdpSocket,
    far: &UdpSocket,
    [forth, back]: &mut [Forger; 2],
    reports: &mut BufReader<ChildStdout>,
    prober: &mut Option<SocketAddr>,
) -> Result<[u64; ATTACKS.len()], String> {
    let mut counts = [0; ATTACKS.len()];
    let silent = |error: io::Error| format!("a genuine probe is not answered: {error}");
    let mut buffer = [0; 2048];
    let (len, address) = near.recv_from(&mut buffer).map_err(silent)?;
    *prober = Some(address);
    let probe = buffer[..len].to_vec();
    forth.send(&probe, &mut counts, |bytes| far.send(bytes)).map_err(silent)?;
    let len = far.recv(&mut buffer).map_err(silent)?;
    let answer = buffer[..len].to_vec();
    far.set_nonblocking(true).expect("a socket");
    let another = far.recv(&mut buffer);
    far.set_nonblocking(false).expect("a socket");
    if another.is_ok() {
        return Err(String::from("a changed probe was answered"));
    }
    (forth.opposite, back.opposite) = (answer.clone(), probe);
    let refused_by_the_prober = back.send(&answer, &mut counts, |bytes| near.send_to(bytes, address));
    let mut report = String::new();
    reports.read_line(&mut report).map_err(silent)?;
    match refused_by_the_prober.map_err(silent)?.to_string() == report.trim() {
        true => Ok(counts),
        false => Err(format!("an answer: {} refused", report.trim())),
    }
}

impl Forger {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), before: Vec::new(), opposite: Vec::new() }
    }

    /// Sends a batch of changed datagrams, then the genuine one; says how many were changed.
    fn send(
        &mut self,
        genuine: &[u8],
        counts: &mut [u64; ATTACKS.len()],
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<u64> {
        let mut sent = 0;
        for _ in 0..BATCH {
            let kind = self.random.below(ATTACKS.len());
            let bytes = self.forged(kind, genuine);
            // Of the first genuine ones there is nothing to repeat or reflect.
            if bytes.is_empty() {
                continue;
            }
            send(&bytes)?;
            counts[kind] += 1;
            sent += 1;
        }
        send(genuine)?;
        self.before = genuine.to_vec();
        Ok(sent)
    }

    fn forged(&mut self, kind: usize, genuine: &[u8]) -> Vec<u8> {
        let (mut bytes, len) = (genuine.to_vec(), genuine.len());
        match ATTACKS[kind] {
            "ProbeBitFlipped" => flip(&mut bytes, 0..len, &mut self.random),
            "ProbeSessionChanged" => flip(&mut bytes, 0..NAME_LEN, &mut self.random),
            "ProbeCounterChanged" => flip(&mut bytes, NAME_LEN..HEADER_LEN, &mut self.random),
            "ProbeTagChanged" => flip(&mut bytes, len - TAG_LEN..len, &mut self.random),
            "ProbeShortened" => bytes.truncate(1 + self.random.below(len - 1)),
            "ProbeLengthened" => bytes.extend((0..=self.random.below(40)).map(|_| 0)),
            "ProbeRepeated" => bytes.clone_from(&self.before),
            "ProbeReflected" => bytes.clone_from(&self.opposite),
            // A new counter before an old text.
            "ProbeSpliced" => {
                let text = self.before.get(HEADER_LEN..).unwrap_or_default();
                bytes.truncate(HEADER_LEN);
                bytes.extend_from_slice(text);
            }
            _ => bytes[HEADER_LEN..].iter_mut().for_each(|byte| *byte = self.random.byte()),
        }
        if bytes == genuine { Vec::new() } else { bytes }
    }
}

/// Datagrams for these ports that found their socket's buffer full, where the system tells.
fn dropped(ports: &[Option<u16>]) -> Option<u64> {
    let table = std::fs::read_to_string("/proc/net/udp").ok()?;
    let of_line = |line: &str| -> Option<u64> {
        let mut words = line.split_whitespace();
        let (_, port) = words.nth(1)?.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        ports.contains(&Some(port)).then(|| words.last()?.parse().ok())?
    };
    Some(table.lines().filter_map(of_line).sum())
}

/// Changed datagrams before each genuine one; they have to fit into a socket's buffer.
const BATCH: usize = 60;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Lengths of magic and session, of the counter, and of the tag (secure-session §5.1).
const NAME_LEN: usize = 12;
const HEADER_LEN: usize = 20;
const TAG_LEN: usize = 16;
/// What is done to a datagram.
const ATTACKS: [&str; 10] = [
    "ProbeBitFlipped",
    "ProbeSessionChanged",
    "ProbeCounterChanged",
    "ProbeTagChanged",
    "ProbeShortened",
    "ProbeLengthened",
    "ProbeRepeated",
    "ProbeReflected",
    "ProbeSpliced",
    "ProbeMadeUp",
];
