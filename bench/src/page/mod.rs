//! The report.

use std::io;
use std::path::Path;

use crate::record::Records;
use crate::report::table;
use crate::suite::{Kind, find};

/// Writes `report.md` into a results folder.
///
/// # Errors
///
/// When the folder cannot be read or written.
pub fn write(folder: &Path) -> io::Result<()> {
    let records = Records::open(folder)?;
    let suite = find(&records.manifest.suite).ok_or_else(|| io::Error::other("an unknown suite"))?;
    if let Kind::Transfers(cells) = &suite.kind {
        let cells = cells(crate::command::effort(&records.manifest));
        std::fs::write(folder.join("report.md"), format!("```text\n{}```\n", table(&records, &cells)))?;
    }
    Ok(())
}
