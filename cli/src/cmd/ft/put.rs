//! `schwann ft put`: samples from a file or a pipe.

use core::str::FromStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::PathBuf;

use schwann_fieldtrip::Client;
use schwann_fieldtrip::wire::{DataType, Header, SamplesDefinition};

use super::place::BufferAddress;
use crate::exit::{Exit, Outcome, Problem};

/// Append samples to a buffer, read as text: a line per sample.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  schwann ft put --file samples.txt --rate 250 --labels Fz,Cz,Pz    a new header, then the samples
  program | schwann ft put                                          more samples, as they come

Spaces, tabs, commas or semicolons separate numbers. --rate begins a new acquisition: it replaces the header and
drops what the buffer held.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: BufferAddress,
    /// File with the samples; by default the standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write a new header with this sampling rate in Hz.
    #[arg(long, value_name = "HZ", value_parser = super::generate::positive)]
    rate: Option<f32>,
    /// Names of the channels, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "rate")]
    labels: Vec<String>,
    /// Type of the samples in the buffer, such as float32 or int16.
    #[arg(long = "type", value_name = "TYPE", default_value = "float32", requires = "rate", value_parser = data_type)]
    data_type: DataType,
}

/// Puts.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut client = arguments.place.connect()?;
    let (source, mut input): (String, Box<dyn BufRead>) = match &arguments.file {
        None => ("the standard input".to_owned(), Box::new(io::stdin().lock())),
        Some(path) => {
            let file = File::open(path).map_err(|error| Problem::with(path.display(), error))?;
            (path.display().to_string(), Box::new(BufReader::new(file)))
        }
    };
    let mut header = None;
    let (mut line, mut count) = (String::new(), 0_u64);
    loop {
        line.clear();
        if input.read_line(&mut line).map_err(|error| Problem::with(&source, error))? == 0 {
            break;
        }
        let words: Vec<_> = line.split([' ', '\t', ',', ';', '\n', '\r']).filter(|w| !w.is_empty()).collect();
        if words.is_empty() {
            continue;
        }
        let header = match &header {
            Some(header) => header,
            None => header.insert(begin(arguments, &mut client, words.len())?),
        };
        let at = |error| Problem::Failed(format!("{source}, sample {}: {error}", count + 1));
        let (block, values) = sample(header, &words).map_err(at)?;
        client.put_sample_bytes(block, &values).map_err(|error| arguments.place.problem(error))?;
        count += 1;
    }
    writeln!(io::stdout(), "{count} sample{}", if count == 1 { "" } else { "s" })?;
    Ok(Exit::Good)
}

/// Writes the requested header, or reads the present one.
fn begin(arguments: &Arguments, client: &mut Client, channel_count: usize) -> Result<Header, Problem> {
    let wrong = |error| arguments.place.problem(error);
    let Some(rate) = arguments.rate else { return Ok(client.header().map_err(wrong)?.0) };
    if !arguments.labels.is_empty() && arguments.labels.len() != channel_count {
        let labels = arguments.labels.len();
        return Err(Problem::Failed(format!(
            "--labels has {labels} names, and a line has {channel_count} numbers"
        )));
    }
    let channel_count = u32::try_from(channel_count).unwrap_or(u32::MAX);
    let mut header = Header::new(channel_count, rate, arguments.data_type);
    if !arguments.labels.is_empty() {
        header = header.with_channel_names(&arguments.labels);
    }
    client.put_header(&header).map_err(wrong)?;
    Ok(header)
}

/// One sample as bytes in the machine's order.
fn sample(header: &Header, words: &[&str]) -> Result<(SamplesDefinition, Vec<u8>), String> {
    if u32::try_from(words.len()) != Ok(header.channel_count) {
        return Err(format!("{} numbers for {} channels", words.len(), header.channel_count));
    }
    let mut values = Vec::new();
    for word in words {
        let bytes = value(header.data_type, word);
        values.extend(bytes.ok_or_else(|| format!("{word} is not a number of {}", header.data_type.name()))?);
    }
    let block = SamplesDefinition::new(header.channel_count, 1, header.data_type);
    Ok((block.ok_or("too many channels")?, values))
}

fn value(data_type: DataType, word: &str) -> Option<Vec<u8>> {
    macro_rules! bytes {
        ($number:ty) => {
            <$number>::from_str(word).ok().map(|number| number.to_ne_bytes().to_vec())
        };
    }
    match data_type {
        DataType::Char | DataType::Uint8 => bytes!(u8),
        DataType::Uint16 => bytes!(u16),
        DataType::Uint32 => bytes!(u32),
        DataType::Uint64 => bytes!(u64),
        DataType::Int8 => bytes!(i8),
        DataType::Int16 => bytes!(i16),
        DataType::Int32 => bytes!(i32),
        DataType::Int64 => bytes!(i64),
        // What is too large for the type would become infinite.
        DataType::Float32 => bytes!(f32).filter(|_| fits(word, f32::MAX.into())),
        DataType::Float64 => bytes!(f64).filter(|_| fits(word, f64::MAX)),
    }
}

/// Whether a word with digits is within this range; `inf` is meant.
fn fits(word: &str, most: f64) -> bool {
    let is_infinite = !word.contains(|letter: char| letter.is_ascii_digit());
    is_infinite || f64::from_str(word).is_ok_and(|number| number.abs() <= most)
}

fn data_type(text: &str) -> Result<DataType, &'static str> {
    DataType::from_name(text).ok_or("int8, int16, int32, int64, uint8 to uint64, float32 or float64")
}
