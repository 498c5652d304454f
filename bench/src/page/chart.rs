//! Axes, marks and lines as SVG.

use core::fmt::Write;

use super::escape;
use crate::record::Role;
use crate::report::number;

/// How a value becomes a place on the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spacing {
    Even,
    /// Equal ratios are equally far apart; values must be positive.
    Log,
}

/// One direction of a chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    spacing: Spacing,
    low: f64,
    high: f64,
    /// Where `low` and `high` lie on the paper.
    from: f64,
    to: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let map = |v: f64| if self.spacing == Spacing::Log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let share = (map(value) - map(self.low)) / (map(self.high) - map(self.low));
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values on the axis, about five of them.
    fn ticks(&self) -> Vec<f64> {
        match self.spacing {
            Spacing::Even => even_ticks(self.low, self.high),
            Spacing::Log => log_ticks(self.low, self.high),
        }
    }
}

fn even_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let unit = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|m| m * unit).into_iter().find(|step| *step >= rough).unwrap_or(unit);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let multiples: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = exponents.flat_map(|e| multiples.iter().map(move |m| m * 10f64.powi(e)));
    all.filter(|v| (low * 0.999..=high * 1.001).contains(v)).collect()
}

/// What a chart shows: the range of its axes and what they are called.
pub(super) struct Frame<'a> {
    pub(super) x: (Spacing, f64, f64, &'a str),
    pub(super) y: (Spacing, f64, f64, &'a str),
}

/// A drawing that grows.
pub(super) struct Chart {
    out: String,
    x: Axis,
    y: Axis,
    legend: Vec<(Role, String)>,
}

impl Chart {
    pub(super) fn new(frame: &Frame<'_>) -> Self {
        let (spacing, low, high, x_name) = frame.x;
        let x = Axis { spacing, low, high, from: LEFT, to: WIDTH - RIGHT };
        let (spacing, low, high, y_name) = frame.y;
        let y = Axis { spacing, low, high, from: HEIGHT - BOTTOM, to: TOP };
        let mut chart = Self { out: String::new(), x, y, legend: Vec::new() };
        chart.axes(x_name, y_name);
        chart
    }

    fn axes(&mut self, x_name: &str, y_name: &str) {
        let (top, bottom, right) = (TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in self.x.ticks() {
            let at = self.x.place(tick);
            self.put(format_args!("<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>"));
            let (y, text) = (bottom + 16.0, tidy(tick));
            self.put(format_args!(
                "<text class=\"tick\" x=\"{at:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>"
            ));
        }
        // Rows that have names of their own need no numbers.
        let ticks = if y_name.is_empty() { Vec::new() } else { self.y.ticks() };
        for tick in ticks {
            let at = self.y.place(tick);
            self.put(format_args!("<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/>"));
            let (x, y, text) = (LEFT - 6.0, at + 4.0, tidy(tick));
            self.put(format_args!(
                "<text class=\"tick\" x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"
            ));
        }
        self.put(format_args!("<path class=\"axis\" d=\"M{LEFT} {top}V{bottom}H{right}\"/>"));
        let (x, y) = (right, HEIGHT - 6.0);
        self.put(format_args!(
            "<text class=\"name\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
            escape(x_name)
        ));
        self.put(format_args!(
            "<text class=\"name\" x=\"{LEFT}\" y=\"{}\">{}</text>",
            TOP - 8.0,
            escape(y_name)
        ));
    }

    /// A line through `points`, in the subject's dash.
    pub(super) fn line(&mut self, role: Role, points: &[(f64, f64)]) {
        let (class, dash) = (class(role), dash(role));
        let path = self.path(points);
        self.put(format_args!(
            "<path class=\"line trace {class}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>"
        ));
    }

    /// The area between lows and highs: x, low, high.
    pub(super) fn ribbon(&mut self, role: Role, points: &[(f64, f64, f64)]) {
        let mut around: Vec<(f64, f64)> = points.iter().map(|&(x, low, _)| (x, low)).collect();
        around.extend(points.iter().rev().map(|&(x, _, high)| (x, high)));
        let (class, path) = (class(role), self.path(&around));
        self.put(format_args!("<path class=\"ribbon paint {class}\" d=\"{path}Z\"/>"));
    }

    /// The subject's mark at each of `points`.
    pub(super) fn marks(&mut self, role: Role, points: &[(f64, f64)]) {
        for &(x, y) in points {
            let (x, y) = (self.x.place(x), self.y.place(y));
            self.out += &mark(role, x, y);
        }
    }

    /// A closed shape on the paper, given by its values.
    pub(super) fn shape(&mut self, role: Role, points: &[(f64, f64)]) {
        let (class, path) = (class(role), self.path(points));
        self.put(format_args!("<path class=\"paint {class}\" opacity=\".45\" d=\"{path}Z\"/>"));
    }

    /// Text at a place given by values.
    pub(super) fn text(&mut self, (x, y): (f64, f64), text: &str) {
        let (x, y) = (self.x.place(x), self.y.place(y) + 4.0);
        self.put(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(text)));
    }

    /// Names a subject below the drawing.
    pub(super) fn name(&mut self, role: Role, label: &str) {
        self.legend.push((role, label.to_owned()));
    }

    /// The drawing; `describes` is what a screen reader says.
    pub(super) fn finish(mut self, describes: &str) -> String {
        let legend = core::mem::take(&mut self.legend);
        let mut x = LEFT;
        let y = HEIGHT + 14.0;
        for (role, label) in &legend {
            let (class, dash) = (class(*role), dash(*role));
            let end = x + 26.0;
            self.put(format_args!(
                "<path class=\"line trace {class}\" stroke-dasharray=\"{dash}\" d=\"M{x} {y}H{end}\"/>"
            ));
            self.out += &mark(*role, x + 13.0, y);
            self.put(format_args!("<text x=\"{}\" y=\"{}\">{}</text>", end + 6.0, y + 4.0, escape(label)));
            x += 46.0 + 7.2 * label.chars().count() as f64;
        }
        let height = if legend.is_empty() { HEIGHT } else { HEIGHT + 26.0 };
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            escape(describes),
            self.out
        )
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (n, &(x, y)) in points.iter().enumerate() {
            let letter = if n == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", self.x.place(x), self.y.place(y));
        }
        path
    }

    fn put(&mut self, line: core::fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{line}");
    }
}

/// The class that gives a subject its colour.
pub(super) fn class(role: Role) -> &'static str {
    match role {
        Role::Schwann => "schwann",
        Role::Sealed => "sealed",
        Role::Opponent => "opponent",
        Role::Null => "null",
        Role::Raw => "raw",
        Role::ZeroMq => "zeromq",
        Role::Zenoh => "zenoh",
    }
}

fn dash(role: Role) -> &'static str {
    match role {
        Role::Schwann => "none",
        Role::Sealed => "9 3",
        Role::Opponent => "5 4",
        Role::Null => "1 4",
        Role::Raw => "2 3",
        Role::ZeroMq => "6 2 1 2",
        Role::Zenoh => "8 2 2 2 2 2",
    }
}

/// A shape for each subject, so that colour is not needed.
fn mark(role: Role, x: f64, y: f64) -> String {
    let class = class(role);
    match role {
        Role::Schwann => format!("<circle class=\"mark {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>\n"),
        Role::Sealed => format!("<circle class=\"open {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>\n"),
        Role::Opponent => square("mark", class, x, y),
        Role::Null => square("open", class, x, y),
        Role::Raw => cross(class, x, y),
        Role::ZeroMq => outline("l4.4 4.4l-4.4 4.4l-4.4 -4.4Z", class, x, y),
        Role::Zenoh => outline("l4.4 7.6l-8.8 0Z", class, x, y),
    }
}

fn square(fill: &str, class: &str, x: f64, y: f64) -> String {
    let (x, y) = (x - 3.3, y - 3.3);
    format!("<rect class=\"{fill} {class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"6.6\" height=\"6.6\"/>\n")
}

/// What is drawn from a point above the middle.
fn outline(path: &str, class: &str, x: f64, y: f64) -> String {
    format!("<path class=\"open {class}\" d=\"M{x:.1} {:.1}{path}\"/>\n", y - 4.4)
}

fn cross(class: &str, x: f64, y: f64) -> String {
    let (x, y) = (x - 3.4, y - 3.4);
    format!("<path class=\"line trace {class}\" d=\"M{x:.1} {y:.1}l6.8 6.8m0 -6.8l-6.8 6.8\"/>\n")
}

/// A tick's number without idle digits.
fn tidy(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{} M", trim(value / 1e6)),
        size if size >= 1e4 => format!("{} k", trim(value / 1e3)),
        _ => trim(value),
    }
}

fn trim(value: f64) -> String {
    let text = if value.fract() == 0.0 { format!("{value:.0}") } else { number(value) };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(even_ticks(0.0, 9.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(log_ticks(3.0, 60.0), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!([tidy(20_000.0), tidy(0.5), tidy(2e6), tidy(100.0)], ["20 k", "0.5", "2 M", "100"]);
    }

    #[test]
    fn equal_ratios_are_equally_far_apart_on_a_log_axis() {
        let axis = Axis { spacing: Spacing::Log, low: 1.0, high: 100.0, from: 0.0, to: 10.0 };
        assert!((axis.place(10.0) - 5.0).abs() < 1e-9);
        assert_eq!(axis.place(1e9), 10.0, "what is outside stays on the paper");
    }
}
