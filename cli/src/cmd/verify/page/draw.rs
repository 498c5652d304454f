//! Pictures of a page, as SVG within it. However long a recording is, a picture has as many parts as it has columns.

use core::fmt::Write as _;

use schwann_xdf::Histogram;

use super::time;

/// When a stream was there, in seconds on the recorder's clock.
pub(super) struct Bar {
    /// Its name, as HTML.
    pub(super) name: String,
    pub(super) from: f64,
    pub(super) to: f64,
    /// Where samples are missing: from, to.
    pub(super) gaps: Vec<[f64; 2]>,
    /// From where on it is not known where samples are missing, because there are more gaps than are listed.
    pub(super) unlisted: Option<f64>,
    /// Whether its clock was measured, so that it can be compared with the others.
    pub(super) was_measured: bool,
}

/// A row per stream; gaps in red, and in grey where they are not listed.
pub(super) fn timeline(bars: &[Bar]) -> String {
    let is_sure = bars.iter().any(|bar| bar.was_measured);
    let sure = || bars.iter().filter(|bar| bar.was_measured || !is_sure);
    let begin = sure().map(|bar| bar.from).fold(f64::INFINITY, f64::min);
    let end = sure().map(|bar| bar.to).fold(f64::NEG_INFINITY, f64::max).max(begin + 1e-3);
    let height = ROW * bars.len() as f64 + 24.0;
    let mut out = open(height, "When each stream was there");
    let place = |at: f64| LEFT + ((at - begin) / (end - begin)).clamp(0.0, 1.0) * (WIDTH - LEFT);
    for (row, bar) in bars.iter().enumerate() {
        let y = ROW * row as f64;
        put_text(&mut out, 0.0, y + 15.0, &shortened(&bar.name));
        if bar.to < begin || bar.from > end {
            put_text(&mut out, LEFT, y + 15.0, "on another clock");
        } else {
            put_bar(&mut out, bar, y, place);
        }
    }
    put_text(&mut out, LEFT, height - 6.0, "0 s");
    let _ = write!(
        out,
        "<text x=\"{WIDTH}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
        height - 6.0,
        time(end - begin)
    );
    out + "</svg>\n"
}

/// The bar of one stream, with its gaps; `place` says where a time is.
fn put_bar(out: &mut String, bar: &Bar, y: f64, place: impl Fn(f64) -> f64 + Copy) {
    let (from, to) = (place(bar.from), place(bar.to));
    put_box(out, [from, y + 5.0, (to - from).max(1.0), ROW - 10.0], "#2da44e");
    if let Some(unlisted) = bar.unlisted.map(place) {
        put_box(out, [unlisted, y + 5.0, (to - unlisted).max(1.0), ROW - 10.0], "#8c959f");
    }
    // Gaps in one column are one box.
    let mut drawn = f64::NEG_INFINITY;
    for [from, to] in bar.gaps.iter().map(|gap| gap.map(place)) {
        if to > drawn && from.is_finite() && to.is_finite() {
            put_box(out, [from, y + 3.0, (to - from).max(1.0), ROW - 6.0], "#cf222e");
            drawn = to.max(from + 1.0);
        }
    }
}

/// A line through points, with its range beside it.
pub(super) fn curve(title: &str, unit: &str, points: &[[f64; 2]]) -> String {
    let points = thinned(points);
    let range = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        (least, most)
    };
    let ((from, to), (least, most)) = (range(0), range(1));
    if points.len() < 2 || to <= from {
        return String::new();
    }
    let span = (most - least).max(1e-9);
    let mut line = String::new();
    for [x, y] in &points {
        let x = LEFT + (x - from) / (to - from) * (WIDTH - LEFT);
        let y = 10.0 + (1.0 - (y - least) / span) * (HEIGHT - 34.0);
        let _ = write!(line, "{x:.1},{y:.1} ");
    }
    let mut out = open(HEIGHT, title);
    let _fits =
        write!(out, "<polyline points=\"{line}\" fill=\"none\" stroke=\"#0969da\" stroke-width=\"1.5\"/>");
    put_text(&mut out, 0.0, 16.0, &format!("{most:.3} {unit}"));
    put_text(&mut out, 0.0, HEIGHT - 26.0, &format!("{least:.3} {unit}"));
    put_text(&mut out, LEFT, HEIGHT - 6.0, &format!("{title}, over {}", time(to - from)));
    out + "</svg>\n"
}

/// Counts of times between a microsecond and ten seconds, by their logarithm.
pub(super) fn histogram(title: &str, counts: &Histogram) -> String {
    let bins = counts.bins(SHORTEST, LONGEST, BINS);
    let most = bins.iter().copied().max().unwrap_or_default();
    if most == 0 {
        return String::new();
    }
    let mut out = open(HEIGHT, title);
    let width = (WIDTH - LEFT) / BINS as f64;
    for (place, count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (*count as f64 / most as f64 * (HEIGHT - 34.0)).max(1.0);
        let x = LEFT + place as f64 * width;
        put_box(&mut out, [x, HEIGHT - 24.0 - height, width - 0.5, height], "#0969da");
    }
    put_text(&mut out, 0.0, 16.0, &crate::terminal::thousands(most));
    let decades = (LONGEST / SHORTEST).log10();
    for (place, label) in ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"].iter().enumerate()
    {
        put_text(&mut out, LEFT + place as f64 / decades * (WIDTH - LEFT), HEIGHT - 6.0, label);
    }
    out + "</svg>\n"
}

/// At most two points per column: the lowest and the highest.
fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let finite: Vec<_> =
        points.iter().copied().filter(|point| point.iter().all(|value| value.is_finite())).collect();
    let per_column = finite.len().div_ceil(COLUMNS);
    if per_column <= 2 {
        return finite;
    }
    let column = |points: &[[f64; 2]]| {
        let by_height = |one: &&[f64; 2], other: &&[f64; 2]| one[1].total_cmp(&other[1]);
        let bounds = [points.iter().min_by(by_height), points.iter().max_by(by_height)];
        let mut bounds: Vec<_> = bounds.into_iter().flatten().copied().collect();
        bounds.sort_by(|one, other| one[0].total_cmp(&other[0]));
        bounds
    };
    finite.chunks(per_column).flat_map(column).collect()
}

fn open(height: f64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\"><title>{title}</title>"
    )
}

fn put_text(out: &mut String, x: f64, y: f64, html: &str) {
    let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{html}</text>");
}

fn put_box(out: &mut String, [x, y, width, height]: [f64; 4], colour: &str) {
    let _ = write!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

/// A name that fits beside its row; no sign of HTML is cut in two.
fn shortened(html: &str) -> String {
    let mut shown = 0;
    let mut inside = false;
    let cut = html.char_indices().find(|(_, character)| {
        let is_over = shown >= NAME_MAX && !inside;
        inside = match character {
            '&' => true,
            ';' => false,
            _ => inside,
        };
        shown += usize::from(!inside);
        is_over
    });
    cut.map_or_else(|| html.to_owned(), |(at, _)| format!("{}…", html.get(..at).unwrap_or_default()))
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 140.0;
/// Room for names and numbers beside a picture.
const LEFT: f64 = 190.0;
const ROW: f64 = 22.0;
const COLUMNS: usize = 350;
const BINS: usize = 84;
const NAME_MAX: usize = 26;
const SHORTEST: f64 = 1e-6;
const LONGEST: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_a_long_recording_is_small_and_keeps_its_peaks() {
        let mut points: Vec<_> = (0..1_000_000).map(|n| [f64::from(n), f64::from(n % 7)]).collect();
        points[500_001][1] = 99.0;
        points[3] = [f64::NAN, f64::INFINITY];
        let drawn = curve("x", "ms", &points);
        assert!(
            drawn.len() < 20_000 && drawn.contains("99.000 ms") && !drawn.contains("NaN"),
            "{}",
            drawn.len()
        );
        let gaps = (0..100_000).map(|n| [f64::from(n), f64::from(n) + 0.5]).collect();
        let bar = Bar { name: "x".to_owned(), from: 0.0, to: 1e5, gaps, unlisted: None, was_measured: true };
        assert!(timeline(&[bar]).len() < 200_000);
    }

    #[test]
    fn a_name_is_not_cut_within_a_sign() {
        assert_eq!(shortened(&"&amp;".repeat(40)), "&amp;".repeat(NAME_MAX) + "…");
        assert_eq!(shortened("EEG"), "EEG");
    }
}
