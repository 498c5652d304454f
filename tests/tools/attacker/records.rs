//! Attacks on records: each ends a session, so there is one session for each.

use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::ChildStdout;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Instant;

use crate::attack::{Attack, Loot, Random, forged};
use crate::ends::SAMPLE_LEN;
use crate::is_stopped;
use crate::stage::{Process, Stage};
use crate::tally::{Tally, Watch};
use crate::wire::{Unit, Wire, data_len};

/// One inlet's place on the wire.
struct Lane<'a> {
    number: usize,
    listener: TcpListener,
    outlet: SocketAddr,
    reports: Receiver<Report>,
    /// The inlet's next connection, with its first line, if it came before the last one's report.
    next: Option<(Wire, Vec<u8>)>,
    random: Random,
    /// Records of an earlier session: the outlet's, and the inlet's first.
    elsewhere: (Vec<Vec<u8>>, Vec<u8>),
    /// Bytes of the protocol before the first sample.
    answer_len: usize,
    tally: &'a Tally,
}

/// How an inlet's stream ended, in its own words.
struct Report {
    samples: usize,
    end: String,
}

/// What the attacker saw of one session.
#[derive(Default)]
struct Seen {
    records: Vec<Vec<u8>>,
    request: Vec<u8>,
    /// Bytes of the protocol that passed unchanged before the attack.
    passed: usize,
    /// What must not happen on the wire.
    breach: Option<&'static str>,
}

/// Attacks `goal` sessions, and prints what came of it.
pub(crate) fn attack(stage: &Stage, goal: u64, seed: u64) -> Tally {
    let tally = Tally::new("attacked records", Attack::ALL.map(|attack| format!("{attack:?}")).into());
    let listeners: Vec<_> = (0..LANES).map(listener).collect();
    let astray = listeners.iter().map(|listener| {
        let address = listener.local_addr().expect("an address");
        stage.led_astray(&address.ip().to_string(), address.port())
    });
    let (inlets, output) = Process::start("inlets", &astray.collect::<Vec<_>>());
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..LANES).map(|_| mpsc::channel()).unzip();
    thread::spawn(move || hand_out(output, &senders));
    let outlet = SocketAddr::from((Ipv4Addr::LOCALHOST, stage.port("v4data_port")));
    let begun = AtomicU64::new(0);
    thread::scope(|scope| {
        for (number, (listener, reports)) in listeners.into_iter().zip(receivers).enumerate() {
            let random = Random::new(seed * LANES as u64 + number as u64 + 1);
            let (lane, begun) = (Lane::new(number, listener, outlet, reports, random, &tally), &begun);
            scope.spawn(move || lane.run(begun, goal));
        }
        let mut watch = Watch::new(&tally, vec![("outlet", &stage.outlet), ("inlets", &inlets)]);
        while begun.load(Ordering::Relaxed) < goal && !is_stopped() && tally.is_clean() {
            thread::sleep(Duration::from_millis(100));
            watch.look(goal);
        }
        watch.end();
    });
    tally.print();
    tally
}

/// An address of its own for each lane. A used port can be used again at once only towards another address.
fn listener(lane: usize) -> TcpListener {
    TcpListener::bind((Ipv4Addr::new(127, 0, 0, 10 + lane as u8), 0)).expect("a port")
}

/// Gives each lane what its inlet reports.
fn hand_out(output: BufReader<ChildStdout>, lanes: &[Sender<Report>]) {
    for line in output.lines().map_while(Result::ok) {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().expect("three words");
        let lane: usize = word().parse().expect("a lane");
        let samples = word().parse().expect("a count");
        // A lane that has ended needs no report.
        let _ = lanes[lane].send(Report { samples, end: word().to_owned() });
    }
}

impl<'a> Lane<'a> {
    fn new(
        number: usize,
        listener: TcpListener,
        outlet: SocketAddr,
        reports: Receiver<Report>,
        random: Random,
        tally: &'a Tally,
    ) -> Self {
        let elsewhere = Default::default();
        Self { number, listener, outlet, reports, next: None, random, elsewhere, answer_len: 0, tally }
    }

    /// Attacks until all lanes together have begun `goal` attacks.
    fn run(mut self, begun: &AtomicU64, goal: u64) {
        self.learn();
        while !is_stopped() && self.tally.is_clean() {
            let number = begun.fetch_add(1, Ordering::Relaxed);
            if number >= goal {
                return;
            }
            let kind = number as usize % Attack::ALL.len();
            match self.attack(Attack::ALL[kind]) {
                Ok(()) => self.tally.refused(kind, 1),
                Err(what) => {
                    self.tally.breach(format!("attack {number}, {:?}: {what}", Attack::ALL[kind]));
                }
            }
        }
    }

    /// Lets a session pass: everything arrives, or all that follows would prove nothing.
    fn learn(&mut self) {
        let seen = self.session(None);
        let seen = seen.expect("a session without an attack");
        self.answer_len = data_len(&seen.records[1]);
        let report = self.reports.recv_timeout(REPORT_WITHIN).expect("the inlet reports");
        let arrived = self.answer_len + report.samples * SAMPLE_LEN;
        if report.end != "lost" || arrived != seen.passed {
            self.tally.breach(format!("without an attack: {} after {} samples", report.end, report.samples));
        }
        self.elsewhere = (seen.records, seen.request);
    }

    /// One attack.
    ///
    /// - Errors: why it succeeded.
    fn attack(&mut self, attack: Attack) -> Result<(), String> {
        let at = match attack {
            // There must be something earlier.
            Attack::ReplayedFromEarlier => 1 + self.random.below(PLACES - 1),
            _ => self.random.below(PLACES),
        };
        let seen = self.session(Some((attack, at)))?;
        let report = self.report()?;
        let permitted = seen.passed.saturating_sub(self.answer_len) / SAMPLE_LEN;
        if report.end != "lost" {
            return Err(format!("record {at}: {}", report.end));
        } else if report.samples > permitted {
            return Err(format!(
                "record {at}: {} samples, of which {permitted} were genuine",
                report.samples
            ));
        } else if let Some(breach) = seen.breach {
            return Err(format!("record {at}: {breach}"));
        }
        if seen.records.len() >= PLACES {
            self.elsewhere = (seen.records, seen.request);
        }
        Ok(())
    }

    /// Waits for what the inlet says.
    ///
    /// A forged byte before the first record may be the one with which an outlet refuses a suite; then the inlet asks once
    /// more, in the classic one (secure-session §3.7), and is let down.
    fn report(&mut self) -> Result<Report, String> {
        self.listener.set_nonblocking(true).expect("a socket");
        let deadline = Instant::now() + REPORT_WITHIN;
        let report = loop {
            match self.reports.recv_timeout(LOOK_EVERY) {
                Ok(report) => break Ok(report),
                Err(_) if Instant::now() > deadline => break Err(String::from("the inlet does not report")),
                Err(_) if self.next.is_some() => {}
                Err(_) => self.next = self.connection().filter(|(_, line)| !line.ends_with(b" classic\r\n")),
            }
        };
        self.listener.set_nonblocking(false).expect("a socket");
        report
    }

    /// The inlet's next connection and its first line; nothing if there is none yet.
    fn connection(&self) -> Option<(Wire, Vec<u8>)> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).ok()?;
        let mut inlet = Wire::new(stream).ok()?;
        let line = inlet.next(Unit::Line).ok()??;
        Some((inlet, line))
    }

    /// Stands between the inlet's next connection and the outlet until one of them ends it.
    fn session(&mut self, attack: Option<(Attack, usize)>) -> Result<Seen, String> {
        let wire = |error: std::io::Error| format!("lane {}: {error}", self.number);
        let next = self.next.take().or_else(|| self.connection());
        let (mut inlet, line) = next.ok_or("the inlet does not connect")?;
        let mut outlet = TcpStream::connect(self.outlet).and_then(Wire::new).map_err(wire)?;
        let mut seen = Seen::default();
        outlet.send(&line);
        pass(&mut inlet, &mut outlet, Unit::Message)?;
        if let Some((Attack::HandshakeChanged, _)) = attack {
            let message = expect(&mut outlet, Unit::Message)?;
            inlet.send(&forged(Attack::HandshakeChanged, &message, &Loot::NONE, &mut self.random));
            return until_closed(&mut inlet).map(|()| seen);
        }
        pass(&mut outlet, &mut inlet, Unit::Message)?;
        pass(&mut inlet, &mut outlet, Unit::Message)?;
        seen.request = expect(&mut inlet, Unit::Record)?;
        match attack {
            Some((attack, _)) if attack.is_on_the_request() => {
                self.attack_request(attack, &mut inlet, &mut outlet, &mut seen)?;
            }
            _ => {
                outlet.send(&seen.request);
                self.attack_records(attack, &mut inlet, &mut outlet, &mut seen)?;
            }
        }
        Ok(seen)
    }

    /// Attacks the inlet's record: the outlet must end the session without an answer.
    fn attack_request(
        &mut self,
        attack: Attack,
        inlet: &mut Wire,
        outlet: &mut Wire,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let greeting = expect(outlet, Unit::Record)?;
        let loot = Loot { earlier: &[], elsewhere: &self.elsewhere.1, opposite: &greeting };
        outlet.send(&forged(attack, &seen.request, &loot, &mut self.random));
        inlet.send(&greeting);
        while let Some(record) = outlet.next(Unit::Record).map_err(|_| "the outlet goes on")? {
            if data_len(&record) > 0 {
                seen.breach = Some("the outlet answered");
            }
            inlet.send(&record);
        }
        Ok(())
    }

    /// Attacks one of the outlet's records: the inlet must end the session.
    fn attack_records(
        &mut self,
        attack: Option<(Attack, usize)>,
        inlet: &mut Wire,
        outlet: &mut Wire,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let at = attack.map_or(usize::MAX, |(_, at)| at);
        let mut behind = Vec::new();
        for number in 0..UNNOTICED {
            let Some(record) = outlet.next(Unit::Record).map_err(|error| error.to_string())? else {
                return Err(String::from("the outlet ended the session"));
            };
            let mut wire = self.in_place_of(&record, attack.filter(|_| number == at), seen);
            wire.append(&mut behind);
            if number < at || (number == at && wire.starts_with(&record)) {
                seen.passed += data_len(&record);
            }
            let is_heard = inlet.send(&wire);
            match attack {
                Some((Attack::ConnectionCut, _)) if number == at => return Ok(()),
                Some((Attack::SwappedWithTheNext, _)) if number == at => behind.clone_from(&record),
                _ => {}
            }
            seen.records.push(record);
            let is_over = number >= at && (!is_heard || inlet.has_closed());
            if is_over || (attack.is_none() && number + 1 == 2 * PLACES) {
                return Ok(());
            }
        }
        Err(String::from("the inlet goes on"))
    }

    /// What is sent for one of the outlet's records, which is under an attack if there is one.
    fn in_place_of(&mut self, record: &[u8], attack: Option<(Attack, usize)>, seen: &Seen) -> Vec<u8> {
        let Some((attack, at)) = attack else { return record.to_vec() };
        let elsewhere = self.elsewhere.0.get(at).map_or(&[][..], Vec::as_slice);
        let loot = Loot { earlier: &seen.records, elsewhere, opposite: &seen.request };
        forged(attack, record, &loot, &mut self.random)
    }
}

/// Passes one unit on.
fn pass(from: &mut Wire, to: &mut Wire, unit: Unit) -> Result<(), String> {
    to.send(&expect(from, unit)?);
    Ok(())
}

/// A unit that comes unless something is wrong.
fn expect(wire: &mut Wire, unit: Unit) -> Result<Vec<u8>, String> {
    let unit = wire.next(unit).map_err(|error| error.to_string())?;
    unit.ok_or_else(|| String::from("closed before the attack"))
}

/// Waits until the peer closes, whatever it says before.
fn until_closed(wire: &mut Wire) -> Result<(), String> {
    while wire.next(Unit::Line).map_err(|_| "the inlet goes on")?.is_some() {}
    Ok(())
}

/// Inlets that are attacked at the same time.
const LANES: usize = 4;
/// Records of which one is attacked: the greeting, the answer, and the samples behind it.
const PLACES: usize = 8;
/// Records that may follow an attack before it counts as unnoticed.
const UNNOTICED: usize = 20_000;
/// Time between two looks for another connection, while an inlet reports.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long an inlet may take to say how its stream ended.
const REPORT_WITHIN: Duration = Duration::from_secs(20);
