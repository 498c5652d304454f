//! What a hundred idle connections hold, counted by the allocator.

use std::io::Write;
use std::process::{Command, Stdio};

use schwann_mse::stream::Stream;
use schwann_mse::{Accept, Draw, Group, InfoHash, Initiator, Method, Methods, Offer, Responder, Status};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};

use super::cipher::carry;
use super::{Effort, Error, Outcome};

const CONNECTIONS: usize = 100;
const LIMIT_KIB: f64 = 256.0;

/// Counts here if this program counts, or else lets `mse-bench` do it.
pub(super) fn run(_: Effort) -> Result<Vec<Outcome>, Error> {
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    drop(core::hint::black_box(vec![0u8; 100]));
    if region.change().allocations == 0 { elsewhere() } else { count() }
}

/// A program for users does not pay for counting; the one beside it does.
fn elsewhere() -> Result<Vec<Outcome>, Error> {
    let own = std::env::current_exe()?;
    let counter = own.with_file_name(format!("mse-bench{}", std::env::consts::EXE_SUFFIX));
    if !counter.exists() {
        eprintln!(
            "memory is not measured: no {} counts it. Build it: cargo build --release -p schwann-bench --bin mse-bench",
            counter.display()
        );
        return Ok(Vec::new());
    }
    let records = std::env::temp_dir().join(format!("mse-memory-{}.json", std::process::id()));
    let status =
        Command::new(counter).args(["memory", "--json"]).arg(&records).stdout(Stdio::null()).status()?;
    let text = std::fs::read_to_string(&records)?;
    std::fs::remove_file(&records)?;
    if !status.success() {
        return Err("mse-bench failed to count".into());
    }
    text.lines().map(|line| Outcome::from_json(&serde_json::from_str(line)?)).collect()
}

fn count() -> Result<Vec<Outcome>, Error> {
    let mut outcomes = Vec::new();
    for method in [Method::Rc4, Method::Aes128Ctr, Method::Aes256Ctr] {
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let streams = (0..CONNECTIONS).map(|_| connection(method)).collect::<Result<Vec<_>, _>>()?;
        let change = region.change();
        drop(streams);
        let held = (change.bytes_allocated - change.bytes_deallocated) as f64 / 1024.0;
        outcomes.push(
            Outcome::new(format!("{CONNECTIONS} connections, {method}"), "KiB", vec![held])
                .held_against("<= 256 KiB", |held| held <= LIMIT_KIB),
        );
    }
    Ok(outcomes)
}

/// The responder's end of a connection that has been used.
fn connection(method: Method) -> Result<Stream<std::io::Empty>, Error> {
    let torrent = InfoHash([2; 20]);
    let methods = Methods::of(&[method]);
    let draw = || Draw::system(Group::Mse768);
    let mut a = Initiator::new(torrent, Offer::new(methods, Vec::new()), draw()?)?;
    let mut b = Responder::new(torrent, Accept::new(methods, method), draw()?);
    carry(&mut a, &mut b)?;
    carry(&mut b, &mut a)?;
    let Status::Established(established) = carry(&mut a, &mut b)? else {
        return Err("no agreement".into());
    };
    let mut stream = Stream::new(std::io::empty(), *established, &[]);
    stream.write_all(&[0; 20_000])?;
    Ok(stream)
}
