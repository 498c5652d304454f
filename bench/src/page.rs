//! The published page, `docs/benchmarks.md`: what, against what, by how much, with which command, when, and of which commit.

use std::io;

use crate::analysis::{Comparison, compare_those};
use crate::record::{Reading, Records, Role, Tree};
use crate::report::{date, number, ran};

/// The page of the published records.
///
/// # Errors
///
/// When a figure of the page is in no record.
pub fn page(all: &[Records]) -> io::Result<String> {
    let mut out = String::from(HEAD);
    HEADLINES.iter().try_for_each(|headline| headline.write(all, &mut out))?;
    out += BEHIND;
    LOSSES.iter().try_for_each(|headline| headline.write(all, &mut out))?;
    out += RECORDS;
    for records in all {
        out += &record_row(records);
    }
    Ok(out + FOOT)
}

/// One line of the page.
struct Headline {
    what: &'static str,
    against: &'static str,
    suite: &'static str,
    figure: Pick,
}

/// Where its figure is.
enum Pick {
    /// Ours over another's: a cell and its metric.
    Ratio(&'static str, &'static str, Role, Role),
    /// A step's figure: the step, whose, and the name.
    Figure(&'static str, &'static str, &'static str),
}

impl Headline {
    fn write(&self, all: &[Records], out: &mut String) -> io::Result<()> {
        let missing = || io::Error::other(format!("no record has {:?}", self.what));
        let records = all.iter().find(|records| records.manifest.suite == self.suite).ok_or_else(missing)?;
        let (values, figure) = match self.figure {
            Pick::Ratio(cell, metric, subject, base) => {
                let (_, cells) = ran(records)?;
                let all = compare_those(records, &cells, |c, m| (c, m) == (cell, metric));
                let is_it = |c: &&Comparison| (c.subject, c.base) == (subject, base);
                let comparison = all.iter().find(is_it).ok_or_else(missing)?;
                let unit = crate::reading::unit_of(metric);
                let values =
                    format!("{} to {} {unit}", number(comparison.value), number(comparison.base_value));
                (values, format!("{} {}", comparison.ratio, comparison.outcome().sign()))
            }
            Pick::Figure(step, subject, name) => {
                let is_it = |r: &&Reading| (&*r.step, &*r.subject, &*r.name) == (step, subject, name);
                let reading = records.readings.iter().find(is_it).ok_or_else(missing)?;
                let ends = format!(" [{}, {}]", number(reading.low), number(reading.high));
                let range = if reading.low < reading.high { ends } else { String::new() };
                (String::new(), format!("{}{range} {}", number(reading.median), reading.unit))
            }
        };
        let (what, against, command) = (self.what, self.against, command(records));
        *out += &format!("| {what} | {against} | {} | {figure} | `{command}` |\n", values.trim_end());
        Ok(())
    }
}

/// The command that makes such a record.
fn command(records: &Records) -> String {
    let name = records.manifest.suite.replacen('-', " ", 1);
    if records.manifest.quick { format!("{name} --quick") } else { name }
}

fn record_row(records: &Records) -> String {
    let manifest = &records.manifest;
    let tree = match manifest.tree {
        Tree::Committed => "",
        Tree::Foreign => " †",
        Tree::Uncommitted => " ‡",
    };
    let machine = &manifest.machine;
    format!(
        "| `{}` | {} | {}{tree} | {} × {}, {} |\n",
        command(records),
        date(manifest.started_at),
        manifest.commit,
        machine.cores,
        machine.processor,
        machine.kernel
    )
}

const HEAD: &str = "# Schwann measured against others

Each pair of subjects takes turns in one run, in new processes, and every sample is checked on arrival. A ratio is Schwann's \
figure over the other's, with its 95 % interval, or the range where there are fewer than six pairs. ▲ better, ▼ worse, = equal \
within 5 %, · smaller than what liblsl differs from itself. The original is liblsl 1.18 with its default settings.

| What | Against | Values | Ratio or figure | `schwann-bench …` |
| --- | --- | --- | --- | --- |
";

const BEHIND: &str = "
Where Schwann is behind. A push of ours sends the sample itself, the original's hands it to another thread: ours takes longer, and
the sample arrives sooner.

| What | Against | Values | Ratio or figure | `schwann-bench …` |
| --- | --- | --- | --- | --- |
";

const RECORDS: &str = "
## When, where and of which commit

| `schwann-bench …` | Begun | Commit | Machine |
| --- | --- | --- | --- |
";

const FOOT: &str = "
† This commit is not in the repository. ‡ The tree held changes that were never committed. These records are older than the rule \
that forbids both; the program now refuses to publish such a record.

All figures, with their statistics: `cargo run --release -p schwann-bench -- report docs/benchmarks`. How such comparisons are \
made believable: [bench/README.md](../bench/README.md). This page is made by `schwann-bench page docs/benchmarks`.
";

use Role::{Opponent, Raw, Schwann};

const LIBLSL: &str = "liblsl";

const fn line(what: &'static str, against: &'static str, suite: &'static str, figure: Pick) -> Headline {
    Headline { what, against, suite, figure }
}

const HEADLINES: &[Headline] = &[
    line(
        "latency, median: 64 channels at 1 kHz",
        LIBLSL,
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-1in", "latency_push_p50_us", Schwann, Opponent),
    ),
    line(
        "the same, 99 %",
        LIBLSL,
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-1in", "latency_push_p99_us", Schwann, Opponent),
    ),
    line(
        "the same, median",
        "a raw TCP socket",
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-1in", "latency_push_p50_us", Schwann, Raw),
    ),
    line(
        "the same, processor time (s per million samples)",
        LIBLSL,
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-1in", "cpu_s_per_million", Schwann, Opponent),
    ),
    line(
        "latency, median: 16 inlets",
        LIBLSL,
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-16in", "latency_push_p50_us", Schwann, Opponent),
    ),
    line(
        "throughput, single samples of 64 channels",
        LIBLSL,
        "lsl-throughput",
        Pick::Ratio("flow-64ch-1", "delivered_samples_per_s", Schwann, Opponent),
    ),
    line(
        "throughput, chunks of 256",
        LIBLSL,
        "lsl-throughput",
        Pick::Ratio("flow-64ch-256", "delivered_samples_per_s", Schwann, Opponent),
    ),
    line(
        "throughput, 5,000 channels",
        LIBLSL,
        "lsl-throughput",
        Pick::Ratio("flow-5000ch-3", "delivered_samples_per_s", Schwann, Opponent),
    ),
    line(
        "receiver's memory, 384 channels at 30 kHz",
        LIBLSL,
        "lsl",
        Pick::Ratio("memory-prompt", "receiver_peak_mb", Schwann, Opponent),
    ),
    line(
        "latency, median, over Ethernet of 0.4 to 1.2 ms",
        LIBLSL,
        "lsl-network",
        Pick::Ratio("ethernet-64ch-1000hz", "latency_push_p50_us", Schwann, Opponent),
    ),
    line(
        "latency, 99 %, over Wi-Fi that loses 0.1 %",
        LIBLSL,
        "lsl-network",
        Pick::Ratio("wifi-64ch-1000hz", "latency_push_p99_us", Schwann, Opponent),
    ),
    line(
        "what sealing adds: 64 channels at 1 kHz",
        "the same in the clear",
        "sealed",
        Pick::Figure("paired 64ch-1000hz-1in", "Schwann", "sealed - in the clear"),
    ),
    line(
        "sealing 264 B in batches of 16, AVX2",
        "the fastest of six libraries",
        "aead",
        Pick::Figure("264 B", "schwann avx2 x16", "goal: seal, against the best peer"),
    ),
    line(
        "FieldTrip, an unmodified client and our server: putting 32 x 16 values over TCP",
        "a stand-in for the original",
        "fieldtrip",
        Pick::Figure("32 x 16", "FieldTrip", "goal: Put 32x16: OldClientTcp against OriginalTcp"),
    ),
    line(
        "the same with our client, too, over UNIX sockets",
        "a stand-in for the original",
        "fieldtrip",
        Pick::Figure("32 x 16", "FieldTrip", "goal: Put 32x16: Unix against OriginalUnix"),
    ),
    line(
        "a microcontroller's push of 8 channels",
        "-",
        "mcu",
        Pick::Figure(
            "instructions in QEMU",
            "channels 8, subscribers none",
            "a push in the application: mean",
        ),
    ),
    line(
        "a push that is 5 % longer on purpose is found as",
        "liblsl itself",
        "sensitivity",
        Pick::Figure("push_chunk(100)", "liblsl against itself", "a push with a spin of 5 % is longer by"),
    ),
    line(
        "an equal push is found as",
        "liblsl itself",
        "sensitivity",
        Pick::Figure("push_chunk(100)", "liblsl against itself", "an equal push is longer by"),
    ),
];

const LOSSES: &[Headline] = &[
    line(
        "time of a push, median: 64 channels at 1 kHz",
        LIBLSL,
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-1in", "push_p50_us", Schwann, Opponent),
    ),
    line(
        "the same with 16 inlets",
        LIBLSL,
        "lsl-latency",
        Pick::Ratio("latency-64ch-1000hz-16in", "push_p50_us", Schwann, Opponent),
    ),
    line(
        "latency, 90 %: 8 channels over Wi-Fi",
        LIBLSL,
        "lsl-network",
        Pick::Ratio("wifi-8ch-1000hz", "latency_push_p90_us", Schwann, Opponent),
    ),
    line("RC4 of MSE", "OpenSSL", "mse", Pick::Figure("cipher", "MSE", "rc4, schwann / openssl")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_published_page_says_what_the_published_records_say() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let all = Records::all_at(&docs.join("benchmarks")).expect("the records are published");
        let published = std::fs::read_to_string(docs.join("benchmarks.md")).expect("the page is published");
        assert!(
            page(&all).expect("every figure has its record") == published,
            "make it again: schwann-bench page"
        );
    }

    #[test]
    fn what_is_published_stays_small() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks");
        let sizes = std::fs::read_dir(docs).expect("a folder").map(|file| file.expect("a file").metadata());
        let bytes: u64 = sizes.map(|metadata| metadata.expect("of a file").len()).sum();
        assert!(bytes < 300_000, "{bytes} bytes of records");
    }
}
