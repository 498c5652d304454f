//! The report: one page that needs nothing else (`report.html`), and a summary for a terminal or a repository
//! (`report.md`).
//!
//! Every figure stands with a sentence that is made from its numbers. The page reads without colour: each subject has a
//! mark, a dash and a name. It does not measure, and it says nothing that [`crate::analysis`] has not decided.

mod chapter;
mod chart;
mod heat;
mod markdown;
mod plots;
mod readings;
mod series;
mod tables;
mod words;

use std::fs;
use std::io;
use std::path::Path;

use crate::record::Records;
use chapter::Chapter;

/// Writes `report.html` and `report.md` into the folder of a suite, or into a folder of such folders.
///
/// # Errors
///
/// When the folder holds no results, or cannot be read or written.
pub fn write(folder: &Path) -> io::Result<()> {
    let chapters = chapters(folder)?;
    if chapters.is_empty() {
        return Err(io::Error::other(format!("{} holds no results", folder.display())));
    }
    fs::write(folder.join("report.html"), html(&chapters))?;
    fs::write(folder.join("report.md"), markdown::summary(&chapters))
}

/// The suite of `folder`, or every suite in its folders, in the order in which they ran.
fn chapters(folder: &Path) -> io::Result<Vec<Chapter>> {
    if Records::is_at(folder) {
        return Ok(vec![Chapter::of(Records::open(folder)?)?]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if Records::is_at(&path) {
            found.push(Chapter::of(Records::open(&path)?)?);
        }
    }
    found.sort_by_key(|chapter| chapter.records.manifest.started_at);
    Ok(found)
}

fn html(chapters: &[Chapter]) -> String {
    let mut body = String::new();
    for chapter in chapters {
        body += &chapter.html();
    }
    let contents: String = chapters
        .iter()
        .map(|chapter| {
            format!("<li><a href=\"#{0}\">{0}</a>: {1}</li>", chapter.name(), escape(chapter.about()))
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Schwann: measurements</title>\n<style>\n{STYLE}</style>\n<main>\n<h1>Schwann, measured</h1>\n\
         {circumstances}\n<nav aria-label=\"Suites\"><ul>{contents}</ul></nav>\n{METHOD}\n{body}</main>\n</html>\n",
        circumstances = words::circumstances(&chapters[0].records.manifest),
    )
}

/// Text as HTML shows it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = include_str!("style.css");
const METHOD: &str = include_str!("method.html");

#[cfg(test)]
mod tests;
