//! An attacker on the wire of an established session, a million times. It tampers with a record; nothing of that
//! record or of a later one is ever delivered.
//!
//! Between real processes such attacks are in `tests/tools/attacker` and `tests/system/test_attacker.py`.

use super::*;

/// What is done to the record that is attacked.
#[derive(Clone, Copy, Debug)]
enum Attack {
    BitFlipped,
    Dropped,
    HeaderRewritten,
    MadeUp,
    Reflected,
    Repeated,
    ReplayedFromEarlier,
    Shortened,
    SplicedFromAnotherSession,
    SwappedWithTheNext,
}

impl Attack {
    const ALL: [Self; 10] = [
        Self::BitFlipped,
        Self::Dropped,
        Self::HeaderRewritten,
        Self::MadeUp,
        Self::Reflected,
        Self::Repeated,
        Self::ReplayedFromEarlier,
        Self::Shortened,
        Self::SplicedFromAnotherSession,
        Self::SwappedWithTheNext,
    ];
}

/// Records of one direction, each with its plaintext; the last is the end.
type Traffic = Vec<(Vec<u8>, Vec<u8>)>;

fn key(random: &mut Random) -> Key {
    let mut bytes = [0; 32];
    bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
    Key::new(&bytes)
}

/// An outlet's and an inlet's end, past the greeting, under keys of their own.
fn fresh_ends(random: &mut Random) -> (Secure, Secure) {
    let (forth, back) = (random.next() | 1, random.next() | 1);
    let end = |sending, receiving| {
        Secure::outlet(key(&mut Random(sending)), key(&mut Random(receiving)), MAX_RECORD)
    };
    (end(forth, back), end(back, forth))
}

fn sealed(layer: &mut Secure, plain: &[u8]) -> Vec<u8> {
    let mut wire = vec![0; layer.sealed_len(plain.len())];
    let length = layer.seal(plain, &mut wire).unwrap();
    wire.truncate(length);
    wire
}

/// Two to six records with a rekey among them now and then, and the end.
fn records(layer: &mut Secure, random: &mut Random) -> Traffic {
    let mut all: Traffic = (0..2 + random.below(5))
        .map(|_| {
            if random.below(8) == 0 {
                layer.request_rekey();
            }
            let plain: Vec<u8> = (0..=random.below(60)).map(|_| random.next() as u8).collect();
            (sealed(layer, &plain), plain)
        })
        .collect();
    let mut end = vec![0; 64];
    let length = layer.close(&mut end).unwrap();
    end.truncate(length);
    all.push((end, Vec::new()));
    all
}

/// The wire after the attack.
fn attacked(attack: Attack, at: usize, random: &mut Random) -> (Secure, Traffic, Vec<u8>) {
    let (mut outlet, mut inlet) = fresh_ends(random);
    let own = sealed(&mut inlet, b"what the inlet said");
    let traffic = records(&mut outlet, random);
    let mut wires: Vec<Vec<u8>> = traffic.iter().map(|(wire, _)| wire.clone()).collect();
    let at = at % wires.len();
    let length = wires[at].len();
    match attack {
        Attack::BitFlipped => wires[at][random.below(length)] ^= 1 << random.below(8),
        Attack::Dropped => drop(wires.remove(at)),
        Attack::HeaderRewritten => wires[at][random.below(4)] ^= 1 + random.below(255) as u8,
        Attack::MadeUp => wires[at].iter_mut().skip(4).for_each(|byte| *byte = random.next() as u8),
        Attack::Reflected => wires[at] = own,
        Attack::Repeated => wires[at].extend_from_within(..),
        Attack::ReplayedFromEarlier => wires[at] = wires[random.below(at.max(1))].clone(),
        Attack::Shortened => drop(wires[at].remove(random.below(length))),
        Attack::SplicedFromAnotherSession => {
            let (mut other, _) = fresh_ends(random);
            let there: Traffic = traffic
                .iter()
                .map(|(_, plain)| if plain.is_empty() { &b"\0"[..] } else { plain })
                .map(|plain| (sealed(&mut other, plain), plain.to_vec()))
                .collect();
            wires[at].clone_from(&there[at].0);
        }
        Attack::SwappedWithTheNext => {
            let next = (at + 1) % wires.len();
            wires.swap(at, next);
        }
    }
    (inlet, traffic, wires.concat())
}

/// How many bytes of plaintext lie before the first byte that the attacker changed.
fn untouched(traffic: &Traffic, wire: &[u8]) -> usize {
    let mut at = 0;
    let whole = traffic.iter().take_while(|(record, _)| {
        let same = wire.get(at..at + record.len()) == Some(record);
        at += record.len();
        same
    });
    whole.map(|(_, plain)| plain.len()).sum()
}

#[test]
fn nothing_from_the_attacked_record_on_is_ever_delivered() {
    // checks/47-session.sh runs a million.
    let count: usize = std::env::var("SCHWANN_MUTATIONS").map_or(50_000, |count| count.parse().unwrap());
    let mut random = Random(0xA77AC4);
    let mut refused = [0_usize; Attack::ALL.len()];
    let mut truncated = 0_usize;
    let mut peak_before = None;
    let mut round = 0;
    while refused.iter().sum::<usize>() < count {
        round += 1;
        let which = round % Attack::ALL.len();
        let at = random.below(8);
        let (mut inlet, traffic, mut wire) = attacked(Attack::ALL[which], at, &mut random);
        let original: Vec<u8> = traffic.iter().flat_map(|(wire, _)| wire.clone()).collect();
        if wire == original {
            // Replaying the first record in its own place is no attack.
            continue;
        }
        let plain: Vec<u8> = traffic.iter().flat_map(|(_, plain)| plain.clone()).collect();
        let limit = untouched(&traffic, &wire);
        let (delivered, outcome) = drain(&mut inlet, &mut wire);
        assert!(plain.starts_with(&delivered), "{:?}: an altered byte was delivered", Attack::ALL[which]);
        assert!(delivered.len() <= limit, "{:?}: bytes from beyond the attack came", Attack::ALL[which]);
        assert!(outcome.is_err() || inlet.end_of_input().is_err(), "{:?}: unnoticed", Attack::ALL[which]);
        truncated += usize::from(outcome.is_ok());
        refused[which] += 1;
        if round == count / 10 {
            peak_before = peak_kib();
        }
    }
    for (attack, count) in Attack::ALL.iter().zip(refused) {
        std::println!("{count:8} {attack:?}");
    }
    let grown = peak_kib().zip(peak_before).map(|(now, before)| now - before);
    std::println!(
        "{count} attacks, all noticed: {truncated} wait for bytes that never come; memory grew by {grown:?} KiB"
    );
    assert!(grown.is_none_or(|grown| grown < 4096), "refusing costs memory");
}

/// Peak resident memory of this process, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    // Under Wine, the process that the file is about has another number there.
    let own = std::format!("Pid:\t{}", std::process::id());
    if !status.lines().any(|line| line == own) {
        return None;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
