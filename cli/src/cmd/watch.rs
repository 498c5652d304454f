//! `schwann watch`: the samples of a stream as text.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Instant;

use schwann::inlet::InletOptions;
use schwann::resolver::resolve_bypred;
use schwann::{Context, Error, Inlet, StreamInfo};
use schwann_export::put_csv_field;
use schwann_recorder::words::quoted;
use schwann_recorder::{Chunk, Item, Selector, Stop, any_of};

use crate::exit::{Exit, Outcome, Problem};
use crate::lab;
use crate::stop;
use crate::terminal::{Readable, line_of_data, printable};

mod fresh;
mod judged;

use fresh::{Freshness, seconds};
use judged::Judged;

/// Print the samples of a stream as they come, as text or CSV.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann watch Markers
  schwann watch EEG --csv > eeg.csv
  schwann watch \"type='EEG' and hostname='amp-pc'\" --count 10
  schwann watch EEG --latest=0.2 --alert

Stamps are in seconds on the sender's clock; with --clock local, on this computer's. Standard error tells what is
wrong with the stream, and when it is well again.")]
pub(crate) struct Arguments {
    /// The stream: its name, type, source id, or a condition.
    #[arg(value_name = "NAME")]
    query: Selector,
    /// Print CSV with a line of titles.
    #[arg(long)]
    csv: bool,
    /// End after so many samples.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// The clock of the stamps.
    #[arg(long, value_enum, default_value_t = Clock::Sender)]
    clock: Clock,
    /// Skip samples older than this, and print only recent ones; at the end, print how many were skipped.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "0.1", value_parser = seconds)]
    latest: Option<f64>,
    /// Report on standard error when samples are older than this, were skipped or stop coming, and when that is
    /// over; end with exit code 1 after any report.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = seconds)]
    alert: Option<f64>,
    /// How long to look for the stream.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = crate::stop::seconds)]
    wait: f64,
}

/// Whose clock stamps are on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Clock {
    /// This computer's.
    Local,
    /// The sender's.
    Sender,
}

/// Prints samples until Ctrl-C, or until the stream is gone.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stop = stop::on_signals()?;
    let config = lab::config();
    let info = find(arguments, &config)?;
    let wrong = |error| Problem::with(info.name(), error);
    let inlet = Inlet::in_context(&info, &InletOptions::default(), config).map_err(wrong)?;
    let Some(mut chunk) = open(&inlet, &stop)? else { return Ok(Exit::Good) };
    if arguments.clock == Clock::Local {
        inlet.set_post_processing(schwann_proto::postproc::CLOCKSYNC);
    }
    let name = info.name().to_string();
    let freshness = Freshness::of(&inlet, &name, arguments.latest, arguments.alert);
    let mut printer = Printer::new(arguments.csv);
    if arguments.csv {
        printer.put_titles(&inlet.full_info(FULL_INFO_SECONDS).unwrap_or_else(|_| info.clone()))?;
    }
    let mut judged = Judged::new(&inlet);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && !stop.is_raised() {
        let pulled = chunk.pull(&inlet, WAIT);
        judged.pulled(&inlet, &chunk, &pulled);
        match pulled {
            Ok(()) => left -= printer.put(&chunk, left)?,
            // The clock offset is not known yet; the next pull asks again.
            Err(Error::Timeout) => {}
            Err(error) => return Err(wrong(error)),
        }
    }
    let exit = freshness.conclude(&inlet, &name);
    Ok(if arguments.alert.is_some() && judged.has_reported() { Exit::Found } else { exit })
}

/// Prints samples as text or CSV.
struct Printer {
    out: BufWriter<io::StdoutLock<'static>>,
    is_terminal: bool,
    csv: bool,
    line: String,
}

impl Printer {
    fn new(csv: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { out: BufWriter::new(io::stdout().lock()), is_terminal, csv, line: String::new() }
    }

    fn put_titles(&mut self, info: &StreamInfo) -> io::Result<()> {
        self.out.write_all(line_of_data(&titles(info), self.is_terminal).as_bytes())
    }

    /// Prints a chunk, or its first samples if no more than `left` are wanted; returns how many it printed.
    fn put(&mut self, chunk: &Chunk, left: u64) -> io::Result<u64> {
        let rows = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.count());
        for row in 0..rows {
            self.line.clear();
            put_row(&mut self.line, chunk, row, self.csv);
            self.out.write_all(line_of_data(&self.line, self.is_terminal).as_bytes())?;
        }
        self.out.flush()?;
        Ok(rows as u64)
    }
}

/// Opens the stream, and says so if that takes long; nothing if Ctrl-C comes first.
fn open(inlet: &Inlet, stop: &Stop) -> Result<Option<Chunk>, Problem> {
    let info = inlet.info();
    let mut late = Some(Instant::now() + LATE);
    loop {
        match Chunk::open(inlet, WAIT) {
            Ok(Some(chunk)) => return Ok(Some(chunk)),
            Ok(None) => return Err(Problem::with(info.name(), "it has no channels")),
            Err(Error::Timeout) if stop.is_raised() => return Ok(None),
            Err(Error::Timeout) => {}
            Err(error) => return Err(Problem::with(info.name(), error)),
        }
        if late.take_if(|late| Instant::now() > *late).is_some() {
            let host = info.hostname().to_string();
            let title = format!("{} of {host}", info.name());
            eprintln!(
                "schwann: {} was found, but no samples arrive; why: schwann doctor {}",
                printable(&title),
                quoted(&host)
            );
        }
    }
}

fn find(arguments: &Arguments, config: &Arc<Context>) -> Result<StreamInfo, Problem> {
    let query = any_of([&arguments.query]).unwrap_or_default();
    let wait = stop::seconds_or_forever(arguments.wait);
    let found = resolve_bypred(config, &query, 1, wait).map_err(|error| Problem::with("search", error))?;
    if found.len() > 1 {
        eprintln!("schwann: {} streams match {}; watching the first", found.len(), arguments.query);
    }
    found.into_iter().next().ok_or_else(|| {
        Problem::Failed(format!(
            "no stream {} within {} s; why: schwann doctor",
            arguments.query, arguments.wait
        ))
    })
}

/// The titles of a CSV file: the labels of the channels if there are any, else their numbers.
fn titles(info: &StreamInfo) -> String {
    let label = |channel| info.document().child_value_named(channel, "label").to_string_lossy().into_owned();
    let labels: Vec<_> = info.described_channels().map(label).collect();
    let mut out = String::from("time");
    for channel in 0..info.channel_count() as usize {
        out.push(',');
        match labels.get(channel).filter(|label| !label.is_empty()) {
            Some(label) => put_csv_field(label, &mut out),
            None => out.push_str(&format!("channel {}", channel + 1)),
        }
    }
    out.push('\n');
    out
}

fn put_row(out: &mut String, chunk: &Chunk, row: usize, csv: bool) {
    let stamp = chunk.stamps().get(row).copied().unwrap_or_default();
    write!(out, "{:.6}", Readable(stamp)).expect("a string takes any text");
    for item in chunk.row(row) {
        out.push(if csv { ',' } else { ' ' });
        match item {
            Item::Number(number) => write!(out, "{number}").expect("a string takes any text"),
            Item::Text(text) if csv => put_csv_field(&String::from_utf8_lossy(text), out),
            // What a stranger sends must not steer our terminal.
            Item::Text(text) => write!(out, "{}", String::from_utf8_lossy(text).escape_debug())
                .expect("a string takes any text"),
        }
    }
    out.push('\n');
}

/// For the whole description, in seconds.
const FULL_INFO_SECONDS: f64 = 5.0;
/// Longest wait before looking whether to stop, in seconds.
const WAIT: f64 = 0.1;
/// After this long it is said that something does not come.
const LATE: Duration = Duration::from_secs(5);
