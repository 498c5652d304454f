//! Transfers through a link of 1 Gbit/s, as laboratories have them: there the network is the limit, and a cipher
//! should cost nothing.
//!
//! The link is the loopback interface of a network namespace, slowed down by the kernel's token bucket. Where that
//! cannot be had, the sender is slowed down instead, and the rows say so.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use super::transfer::{Pace, VARIANTS, median, rounds};
use super::worker::Variant;
use super::{Effort, Error, Outcome};

const BITS_PER_SECOND: u64 = 1_000_000_000;
/// Names the file that the process inside the namespace writes its figures to; only [`run`] sets it.
const RECORDS: &str = "SCHWANN_MSE_BENCH_SHAPED";
/// Set beside [`RECORDS`] for [`Effort::Share`].
const SHARE: &str = "SCHWANN_BENCH_MSE_SHARE";
/// Segments of ordinary length and a bucket of 2 ms, as a network card and a switch would have them.
const SCRIPT: &str = "ip link set lo up mtu 1500 \
    && tc qdisc add dev lo root tbf rate 1gbit burst 256k latency 20ms && exec \"$0\"";

/// Starts this program again in a network namespace whose loopback interface is shaped.
pub(super) fn run(effort: Effort) -> Result<Vec<Outcome>, Error> {
    let own = std::env::current_exe()?;
    let records = std::env::temp_dir().join(format!("schwann-bench-mse-{}.json", std::process::id()));
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", SCRIPT]).arg(&own).env(RECORDS, &records).stdout(Stdio::null());
    if let Effort::Share(share) = effort {
        command.env(SHARE, share.to_string());
    }
    let status = command.status();
    let text = std::fs::read_to_string(&records);
    _ = std::fs::remove_file(&records);
    if let (true, Ok(text)) = (status.is_ok_and(|status| status.success()), text) {
        return text.lines().map(|line| Outcome::from_json(&serde_json::from_str(line)?)).collect();
    }
    eprintln!(
        "no shaped link (it takes root, unshare, ip, tc and the kernel's tbf): the sender is paced instead"
    );
    measure(effort, "sender paced to 1 Gbit/s", Pace::Paced(BITS_PER_SECOND))
}

/// Measures and never returns, if this process was started inside the namespace.
pub(super) fn run_if_inside() {
    let Some(records) = std::env::var_os(RECORDS) else { return };
    if let Err(error) = measure_into(&records) {
        eprintln!("schwann-bench mse on a shaped link: {error}");
        std::process::exit(1);
    }
    std::process::exit(0);
}

fn measure_into(records: &OsString) -> Result<(), Error> {
    let share = std::env::var(SHARE).ok().and_then(|share| share.parse().ok());
    let effort = share.map_or(Effort::Quick, Effort::Share);
    let outcomes = measure(effort, "1 Gbit/s link", Pace::Free)?;
    let lines = outcomes.iter().map(|outcome| format!("{}\n", outcome.to_json("shaped")));
    std::fs::write(records, lines.collect::<String>())?;
    Ok(())
}

fn measure(effort: Effort, link: &str, pace: Pace) -> Result<Vec<Outcome>, Error> {
    let figures = rounds(effort.count(5).max(3), effort.count(256 << 20) as u64, pace)?;
    let plain = median(&figures[0], |figures| figures.mib_per_second);
    let mut outcomes = Vec::new();
    for (variant, figures) in VARIANTS.into_iter().zip(figures) {
        let name = variant.name();
        let speeds: Vec<f64> = figures.iter().map(|figures| figures.mib_per_second).collect();
        let outcome = Outcome::new(format!("{link}, {name}"), "MiB/s", speeds);
        let loss = 100.0 * (1.0 - outcome.median() / plain);
        outcomes.push(outcome);
        if variant != Variant::Plain {
            outcomes.push(
                Outcome::new(format!("{link}, {name}, reduction"), "%", vec![loss])
                    .held_against("< 2 %", |loss| loss < 2.0),
            );
        }
    }
    Ok(outcomes)
}
