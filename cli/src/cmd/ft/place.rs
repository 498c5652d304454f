//! Where a buffer is on the command line, and what the commands do with it in the same way.

use std::io::Write;

use schwann_fieldtrip::wire::{DataType, Family};
use schwann_fieldtrip::{Address, Client, ClientError, Options, to_f64};

use crate::exit::Problem;

/// The buffer that a command talks to.
#[derive(clap::Args, Debug)]
pub(super) struct BufferAddress {
    /// The buffer.
    #[arg(value_name = "ADDRESS", default_value_t)]
    pub(super) address: Address,
}

impl BufferAddress {
    /// Connects.
    pub(super) fn connect(&self) -> Result<Client, Problem> {
        Client::connect(self.address.clone(), Options::default()).map_err(|error| match error {
            ClientError::Unreachable(_) => Problem::with(
                &self.address,
                format_args!("{error}; is a server there? `schwann ft serve` starts one"),
            ),
            error => self.problem(error),
        })
    }

    /// Says that `error` happened at this buffer.
    pub(super) fn problem(&self, error: ClientError) -> Problem {
        let advice = match error {
            ClientError::Refused(code) if code == Family::Get.refused() => {
                ": it has no header yet, or not what was asked for; `schwann ft put --rate HZ` writes a header"
            }
            _ => "",
        };
        Problem::with(&self.address, format_args!("{error}{advice}"))
    }
}

/// Writes samples, at most so many, as text: a line per sample, a tab between channels.
///
/// - Shape: `values` is samples × channels, in the machine's byte order.
pub(super) fn write_rows(
    out: &mut impl Write,
    data_type: DataType,
    channel_count: u32,
    values: &[u8],
    most: u64,
) -> std::io::Result<()> {
    let row = usize::try_from(channel_count).unwrap_or(usize::MAX).max(1);
    for sample in texts(data_type, values).chunks(row).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        writeln!(out, "{}", sample.join("\t"))?;
    }
    Ok(())
}

/// Each value as a text that reads back as the same number of this type. A float64 does not have all integers of 64 bits.
fn texts(data_type: DataType, values: &[u8]) -> Vec<String> {
    let wide = values.as_chunks().0.iter();
    match data_type {
        DataType::Int64 => wide.map(|bytes| i64::from_ne_bytes(*bytes).to_string()).collect(),
        DataType::Uint64 => wide.map(|bytes| u64::from_ne_bytes(*bytes).to_string()).collect(),
        _ => to_f64(data_type, values).iter().map(|&number| shortest(data_type, number)).collect(),
    }
}

/// The shortest text that reads back as the same number of this type.
fn shortest(data_type: DataType, number: f64) -> String {
    // A float32 printed as the float64 it was widened to shows digits that it never had.
    if data_type == DataType::Float32 { (number as f32).to_string() } else { number.to_string() }
}
