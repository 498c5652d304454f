//! Reads a code in a terminal's half blocks from its input, as a camera would, and prints the text in it.
//!
//! Run it with `cargo run -p schwann-cli --example read_code < shown.txt`.

use std::io;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let shown = io::read_to_string(io::stdin())?;
    let rows: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    // Each character is two pixels on top of each other.
    let is_light = |x: usize, y: usize| match rows.get(y / 2).and_then(|row| row.get(x)) {
        Some('█') => true,
        Some('▀') => y.is_multiple_of(2),
        Some('▄') => !y.is_multiple_of(2),
        _ => false,
    };
    let mut seen =
        rqrr::PreparedImage::prepare_from_greyscale(width * SIZE, rows.len() * 2 * SIZE, |x, y| {
            if is_light(x / SIZE, y / SIZE) { 255 } else { 0 }
        });
    let grids = seen.detect_grids();
    let (_, text) = grids.first().ok_or("there is no code")?.decode()?;
    println!("{text}");
    Ok(())
}

/// Pixels of the camera per pixel of the code, in each direction.
const SIZE: usize = 3;
