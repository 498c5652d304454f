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
pub(crate) fn page(all: &[Records]) -> io::Result<String> {
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
    /// Writes the line, from the newest record that has its figure.
    fn write(&self, all: &[Records], out: &mut String) -> io::Result<()> {
        for records in all.iter().rev().filter(|records| records.manifest.suite == self.suite) {
            if let Some((values, figure)) = self.figure.of(records)? {
                let (what, against, command) = (self.what, self.against, command(records));
                *out += &format!("| {what} | {against} | {values} | {figure} | `{command}` |\n");
                return Ok(());
            }
        }
        Err(io::Error::other(format!("no record has {:?}", self.what)))
    }
}

impl Pick {
    /// The two values, if it compares any, and the figure that follows; nothing where the record has no such figure.
    fn of(&self, records: &Records) -> io::Result<Option<(String, String)>> {
        match *self {
            Self::Ratio(cell, metric, subject, base) => {
                let (_, cells) = ran(records)?;
                let all = compare_those(records, &cells, |c, m| (c, m) == (cell, metric));
                let is_it = |c: &&Comparison| (c.subject, c.base) == (subject, base);
                let unit = crate::reading::unit_of(metric);
                Ok(all.iter().find(is_it).map(|comparison| {
                    let values =
                        format!("{} to {} {unit}", number(comparison.value), number(comparison.base_value));
                    let figure = format!("{} {}", comparison.ratio, comparison.outcome().sign());
                    (values.trim_end().to_owned(), figure)
                }))
            }
            Self::Figure(step, subject, name) => {
                let is_it = |r: &&Reading| (&*r.step, &*r.subject, &*r.name) == (step, subject, name);
                Ok(records.readings.iter().find(is_it).map(|reading| {
                    let ends = format!(" [{}, {}]", number(reading.low), number(reading.high));
                    let range = if reading.low < reading.high { ends } else { String::new() };
                    (String::new(), format!("{}{range} {}", number(reading.median), reading.unit))
                }))
            }
        }
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
within 5 %, · smaller than what liblsl differs from itself. The original is liblsl 1.18, with its default settings and in its \
zero-copy mode (`transp_sync_blocking`). Where two records hold a figure, the newer is shown.

| What | Against | Values | Ratio or figure | `schwann-bench …` |
| --- | --- | --- | --- | --- |
";

const BEHIND: &str = "
Where Schwann is behind. A push of ours sends the sample itself, the original's hands it to another thread: ours takes longer, and
the sample arrives sooner. iceoryx2 writes a sample to shared memory once for all subscribers; ours writes it to a socket for each
inlet. To push as fast would take a path through shared memory between processes of one computer.

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

use Role::{Iceoryx2, Opponent, Raw, ZeroCopy};

/// Ours over `base`, by `metric` in the cell of a suite.
const fn ratio(
    what: &'static str,
    (suite, cell): (&'static str, &'static str),
    metric: &'static str,
    base: Role,
) -> Headline {
    let against = match base {
        Opponent => "liblsl",
        ZeroCopy => "liblsl, zero-copy",
        Raw => "a raw TCP socket",
        Iceoryx2 => "iceoryx2",
        _ => "another",
    };
    Headline { what, against, suite, figure: Pick::Ratio(cell, metric, Role::Schwann, base) }
}

const fn line(what: &'static str, against: &'static str, suite: &'static str, figure: Pick) -> Headline {
    Headline { what, against, suite, figure }
}

const LATENCY: (&str, &str) = ("lsl-latency", "latency-64ch-1000hz-1in");
const LATENCY_16: (&str, &str) = ("lsl-latency", "latency-64ch-1000hz-16in");
const FAN_OUT_384: (&str, &str) = ("lsl-fanout", "latency-384ch-1000hz-4in");
const FAN_OUT_5000: (&str, &str) = ("lsl-fanout", "latency-5000ch-500hz-4in");
const SINGLES: (&str, &str) = ("lsl-throughput", "flow-64ch-1");
const CHUNKS: (&str, &str) = ("lsl-throughput", "flow-64ch-256");
const WIDE: (&str, &str) = ("lsl-throughput", "flow-5000ch-3");
const MEMORY: (&str, &str) = ("lsl", "memory-prompt");
const ETHERNET: (&str, &str) = ("lsl-network", "ethernet-64ch-1000hz");
const WIFI: (&str, &str) = ("lsl-network", "wifi-64ch-1000hz");
const WIFI_8: (&str, &str) = ("lsl-network", "wifi-8ch-1000hz");

const HEADLINES: &[Headline] = &[
    ratio("latency, median: 64 channels at 1 kHz", LATENCY, "latency_push_p50_us", Opponent),
    ratio("the same", LATENCY, "latency_push_p50_us", ZeroCopy),
    ratio("the same", LATENCY, "latency_push_p50_us", Raw),
    ratio("the same, 99 %", LATENCY, "latency_push_p99_us", Opponent),
    ratio("the same, 99 %", LATENCY, "latency_push_p99_us", ZeroCopy),
    ratio("the same, processor time (s per million samples)", LATENCY, "cpu_s_per_million", Opponent),
    ratio("the same, processor time", LATENCY, "cpu_s_per_million", ZeroCopy),
    ratio("latency, median: 16 inlets", LATENCY_16, "latency_push_p50_us", Opponent),
    ratio("the same", LATENCY_16, "latency_push_p50_us", ZeroCopy),
    ratio("latency, median: 384 channels at 1 kHz, 4 inlets", FAN_OUT_384, "latency_push_p50_us", ZeroCopy),
    ratio("the same", FAN_OUT_384, "latency_push_p50_us", Iceoryx2),
    ratio(
        "latency, median: 5,000 channels at 500 Hz, 4 inlets",
        FAN_OUT_5000,
        "latency_push_p50_us",
        ZeroCopy,
    ),
    ratio("the same", FAN_OUT_5000, "latency_push_p50_us", Iceoryx2),
    ratio("throughput, single samples of 64 channels", SINGLES, "delivered_samples_per_s", Opponent),
    ratio("the same", SINGLES, "delivered_samples_per_s", ZeroCopy),
    ratio("throughput, chunks of 256", CHUNKS, "delivered_samples_per_s", Opponent),
    ratio("the same", CHUNKS, "delivered_samples_per_s", ZeroCopy),
    ratio("throughput, 5,000 channels", WIDE, "delivered_samples_per_s", Opponent),
    ratio("the same", WIDE, "delivered_samples_per_s", ZeroCopy),
    ratio("receiver's memory, 384 channels at 30 kHz", MEMORY, "receiver_peak_mb", Opponent),
    ratio("latency, median, over Ethernet of 0.4 to 1.2 ms", ETHERNET, "latency_push_p50_us", Opponent),
    ratio("latency, 99 %, over Wi-Fi that loses 0.1 %", WIFI, "latency_push_p99_us", Opponent),
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
    ratio("time of a push, median: 64 channels at 1 kHz", LATENCY, "push_p50_us", Opponent),
    ratio("the same", LATENCY, "push_p50_us", ZeroCopy),
    ratio("the same with 16 inlets", LATENCY_16, "push_p50_us", Opponent),
    ratio("the same with 16 inlets", LATENCY_16, "push_p50_us", ZeroCopy),
    ratio("time of a push, median: 384 channels at 1 kHz, 4 inlets", FAN_OUT_384, "push_p50_us", Iceoryx2),
    ratio(
        "time of a push, median: 5,000 channels at 500 Hz, 4 inlets",
        FAN_OUT_5000,
        "push_p50_us",
        ZeroCopy,
    ),
    ratio("the same", FAN_OUT_5000, "push_p50_us", Iceoryx2),
    ratio("latency, 90 %: 8 channels over Wi-Fi", WIFI_8, "latency_push_p90_us", Opponent),
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
