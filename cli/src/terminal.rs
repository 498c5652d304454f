//! What a person sees: text that is repainted in place on a terminal, and colours where they are wanted.
//!
//! Colours never carry a meaning alone: everything they mark is said in words, too. What comes from the network is
//! shown by [`printable`], because a name may hold anything.

use alloc::borrow::Cow;
use core::fmt::{self, Write as _};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use qrcode::render::unicode::Dense1x2;
use schwann::log::steers_terminals;

pub(crate) use schwann_recorder::words::{Readable, plural, thousands};

/// A code that a camera reads as `text`, in half blocks; none where the terminal is too narrow for it.
pub(crate) fn code(text: &str) -> Option<String> {
    let code = qrcode::QrCode::with_error_correction_level(text.as_bytes(), qrcode::EcLevel::L).ok()?;
    let columns = terminal_size::terminal_size().map_or(80, |(columns, _)| usize::from(columns.0));
    // Terminals are dark more often than light.
    let render = || code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    (code.width() + 8 <= columns).then(render)
}

/// Text that replaces itself on a terminal, and is printed once per call elsewhere.
pub(crate) struct Screen<W> {
    out: W,
    destination: Destination,
    /// Lines painted last, which the next paint replaces.
    painted: usize,
}

/// Where the text goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Destination {
    /// To a person's terminal.
    Terminal,
    /// To a file or another program.
    Elsewhere,
}

impl Destination {
    /// Says where `out` leads.
    pub(crate) fn of(out: &impl IsTerminal) -> Self {
        if out.is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb") {
            Self::Terminal
        } else {
            Self::Elsewhere
        }
    }
}

impl<W: Write + IsTerminal> Screen<W> {
    /// Paints on `out`.
    pub(crate) fn new(out: W) -> Self {
        let destination = Destination::of(&out);
        Self { out, destination, painted: 0 }
    }

    /// Where it paints.
    pub(crate) fn destination(&self) -> Destination {
        self.destination
    }

    /// Replaces what was painted before by `text`.
    pub(crate) fn paint(&mut self, text: &str) -> io::Result<()> {
        if self.destination == Destination::Elsewhere {
            self.out.write_all(text.as_bytes())?;
            return self.out.flush();
        }
        let mut all = String::with_capacity(text.len() + 64);
        self.put_erasure(&mut all);
        // A line that wraps would count as one and take two.
        all.push_str("\x1b[?7l");
        let rows = terminal_size::terminal_size().map_or(usize::MAX, |(_, rows)| usize::from(rows.0));
        let lines = that_fit(text, rows.saturating_sub(1).max(1));
        self.painted = lines.len();
        for line in lines {
            all.push_str(&line);
            all.push_str("\x1b[K\n");
        }
        all.push_str("\x1b[J\x1b[?7h");
        self.out.write_all(all.as_bytes())?;
        self.out.flush()
    }

    /// How many characters a line may have; none where there is no terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        let size = (self.destination == Destination::Terminal).then(terminal_size::terminal_size).flatten();
        size.map(|(width, _)| usize::from(width.0))
    }

    /// Leaves what was painted where it is; the next paint goes below.
    pub(crate) fn keep(&mut self) {
        self.painted = 0;
    }

    fn put_erasure(&self, out: &mut String) {
        if self.painted > 0 {
            write!(out, "\x1b[{}A\r", self.painted).expect("a string takes any text");
        }
    }
}

/// Returns the lines of a text. If they are more than `rows`, the last one says how many were left out.
fn that_fit(text: &str, rows: usize) -> Vec<Cow<'_, str>> {
    let count = text.lines().count();
    if count <= rows {
        return text.lines().map(Cow::from).collect();
    }
    let left_out = count - (rows - 1);
    let note = format!("  … {left_out} more lines than this window has room for");
    text.lines().take(rows - 1).map(Cow::from).chain([note.into()]).collect()
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Look {
    /// Less important.
    Faint,
    /// Something is well.
    Good,
    /// A title.
    Strong,
    /// Something needs attention.
    Warning,
    /// Something is wrong.
    Wrong,
}

/// Colours, or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Palette {
    /// Colours are used.
    Coloured,
    /// They are not.
    Plain,
}

impl Palette {
    /// Chooses for output to `place`. `NO_COLOR` is respected (no-color.org).
    pub(crate) fn of(destination: Destination) -> Self {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if destination == Destination::Terminal && !unwanted { Self::Coloured } else { Self::Plain }
    }

    /// Gives `text` a look.
    pub(crate) fn paint<T: fmt::Display>(self, look: Look, text: T) -> Painted<T> {
        Painted { look: (self == Self::Coloured).then_some(look), text }
    }
}

/// Text with a look.
pub(crate) struct Painted<T> {
    look: Option<Look>,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(look) = self.look else { return self.text.fmt(out) };
        let code = match look {
            Look::Faint => "2",
            Look::Good => "32",
            Look::Strong => "1",
            Look::Warning => "33",
            Look::Wrong => "1;31",
        };
        // The width of a column must not count the colour.
        write!(out, "\x1b[{code}m")?;
        self.text.fmt(out)?;
        out.write_str("\x1b[0m")
    }
}

/// Returns how often something happened in words: `once`, `3 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", thousands(count)) }
}

/// Returns the time that something has taken so far, as a clock shows it: `02:05`, `1:00:00`.
pub(crate) fn stopwatch(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 {
        format!("{minutes:02}:{seconds:02}")
    } else {
        format!("{hours}:{minutes:02}:{seconds:02}")
    }
}

/// Returns foreign text in a form that is safe in a line: a control character could repaint the terminal, or worse.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    without(text, steers_terminals)
}

/// Prints lines, as they are, at once. The work goes on and ends as it must where no program reads them.
pub(crate) fn say(lines: &[String]) {
    let mut out = io::stdout().lock();
    let said = lines.iter().try_for_each(|line| writeln!(out, "{}", printable(line)));
    let _ = said.and_then(|()| out.flush());
}

/// The path of a file, whose name may be foreign text as well.
pub(crate) fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

/// JSON in which foreign text does not steer the terminal either: what would is escaped, as JSON may have any character.
pub(crate) struct Shown<'a>(pub(crate) &'a serde_json::Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if out.alternate() { format!("{:#}", self.0) } else { self.0.to_string() };
        // The only control characters outside of its strings, and none is left inside of them.
        text.chars().try_for_each(|c| match c != '\n' && steers_terminals(c) {
            true => write!(out, "\\u{:04x}", u32::from(c)),
            false => out.write_char(c),
        })
    }
}

/// Writes a message of any number of lines to the standard error stream. Foreign text in it does not steer the
/// terminal. The `eprintln!` of this crate.
pub(crate) fn complain(message: fmt::Arguments<'_>) {
    let message = message.to_string();
    let message = without(&message, |c| c != '\n' && steers_terminals(c));
    // A closed standard error stream hears of nothing.
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Returns a line of data as it goes out: unchanged to a file or a program, made safe to a terminal.
pub(crate) fn line_of_data(line: &str, goes_to_terminal: bool) -> Cow<'_, str> {
    if goes_to_terminal { without(line, |c| c != '\n' && steers_terminals(c)) } else { line.into() }
}

fn without(text: &str, unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&unwanted) { text.replace(&unwanted, "\u{fffd}").into() } else { text.into() }
}

/// Returns a lag or another short time with the unit that suits it.
pub(crate) fn short_time(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        s if s < 1.0 => format!("{:.2} ms", seconds * 1e3),
        s if s < 100.0 => format!("{seconds:.2} s"),
        _ => format!("{:.0} s", Readable(seconds)),
    }
}

/// The rate of a stream, as measured and as its sender says it, in Hz; 0 if irregular.
pub(crate) fn rate(measured: Option<f64>, nominal: f64) -> String {
    let says = Readable(nominal);
    match (measured.map(Readable), nominal) {
        (None, 0.0) => "irregular".to_owned(),
        (None, _) => format!("? of {says} Hz"),
        (Some(rate), 0.0) => format!("{rate:.1} Hz, irregular"),
        (Some(rate), _) => format!("{rate:.2} of {says} Hz"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Look, Palette, code, line_of_data, printable, short_time, stopwatch, that_fit, times};

    #[test]
    fn a_camera_reads_the_code_that_a_dark_terminal_shows() {
        let text = "boring settle mixture ignore maximum put at 192.168.100.200:16603";
        let shown = code(text).expect("room for it");
        let rows: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
        // Each character is two pixels on top of each other, and the camera sees each pixel as a square of nine.
        let is_light = |x: usize, y: usize| match rows[y / 2][x] {
            '█' => true,
            '▀' => y.is_multiple_of(2),
            '▄' => !y.is_multiple_of(2),
            _ => false,
        };
        let (width, height) = (rows[0].len() * 3, rows.len() * 6);
        let mut seen = rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| {
            if is_light(x / 3, y / 3) { 255 } else { 0 }
        });
        let read = seen.detect_grids().first().map(|grid| grid.decode().expect("a code").1);
        assert_eq!(read.as_deref(), Some(text));
    }

    #[test]
    fn colour_is_left_out_where_it_is_not_wanted() {
        assert_eq!(Palette::Plain.paint(Look::Wrong, "lost").to_string(), "lost");
        assert_eq!(Palette::Coloured.paint(Look::Wrong, "lost").to_string(), "\x1b[1;31mlost\x1b[0m");
    }

    #[test]
    fn a_column_keeps_its_width_in_colour() {
        assert_eq!(format!("{:>6}|", Palette::Coloured.paint(Look::Good, "ok")), "\x1b[32m    ok\x1b[0m|");
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [short_time(42e-6), short_time(-0.0125), short_time(3.0), short_time(125.0)],
            ["42 µs", "-12.50 ms", "3.00 s", "125 s"]
        );
        assert_eq!([times(1), times(2)], ["once", "2 times"]);
        assert_eq!([stopwatch(-1.0), stopwatch(65.9), stopwatch(3_661.0)], ["00:00", "01:05", "1:01:01"]);
    }

    #[test]
    fn a_name_cannot_repaint_the_terminal() {
        assert_eq!(printable("EEG µV"), "EEG µV");
        assert_eq!(printable("EEG\u{202e}gpj\u{2066}"), "EEG\u{fffd}gpj\u{fffd}");
        assert_eq!(printable("a\x1b[2Jb\r\n\u{9b}c"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}c");
    }

    #[test]
    fn data_are_left_alone_but_for_a_terminal() {
        let line = "1.0,\x1b]0;owned\x07\n";
        assert_eq!(line_of_data(line, false), line);
        assert_eq!(line_of_data(line, true), "1.0,\u{fffd}]0;owned\u{fffd}\n");
    }

    #[test]
    fn what_does_not_fit_is_said_to_be_left_out() {
        assert_eq!(that_fit("a\nb\nc\n", 3), ["a", "b", "c"]);
        assert_eq!(that_fit("a\nb\nc\nd\n", 3), ["a", "b", "  … 2 more lines than this window has room for"]);
        assert_eq!(that_fit("a\nb\n", 1).len(), 1);
    }
}
