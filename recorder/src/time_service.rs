//! What keeps the wall clock of this computer right, and how far off that clock may be.
//!
//! Each service is asked by its own program. A system's kernel knows a bound, too, but not every service tells it one.

use std::path::Path;
use std::process::{Command, Stdio};

/// A program that keeps the wall clock right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeService {
    /// Its name.
    pub name: &'static str,
    /// Most seconds by which the wall clock may be off; nothing if the service does not say.
    pub bound: Option<f64>,
}

impl TimeService {
    /// Asks which service keeps the wall clock right now; nothing if none does, as far as can be told without a privilege.
    ///
    /// Runs programs of the system, which may take a second.
    #[must_use]
    pub fn ask() -> Option<Self> {
        let bound_of = |program, arguments, read: fn(&str) -> Option<f64>| read(&said(program, arguments)?);
        if let Some(bound) = bound_of("chronyc", &["-c", "tracking"], chrony_bound) {
            return Some(Self { name: "chrony", bound: Some(bound) });
        }
        if Path::new(TIMESYNCD).exists() {
            return Some(Self { name: "systemd-timesyncd", bound: None });
        }
        let bound = bound_of("w32tm", &["/query", "/status"], windows_bound)?;
        Some(Self { name: "w32time", bound: Some(bound) })
    }
}

/// What a program prints; nothing if it is not here or fails.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads `chronyc -c tracking`. Fields from 0: 4 how far the system's clock is off, 10 root delay, 11 root dispersion, 13 whether a
/// source is followed.
fn chrony_bound(tracking: &str) -> Option<f64> {
    let fields: Vec<_> = tracking.trim().split(',').collect();
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let is_followed = fields.get(13).is_some_and(|leap| *leap != "Not synchronised");
    proper(number(4)?.abs() + number(10)? / 2.0 + number(11)?).filter(|_| is_followed)
}

/// Reads `w32tm /query /status`, whose words are of the system's language: 0 leap indicator, 3 root delay, 4 root dispersion.
fn windows_bound(status: &str) -> Option<f64> {
    let values: Vec<_> = status.lines().filter_map(|line| Some(line.split_once(':')?.1.trim())).collect();
    let seconds = |at: usize| values.get(at)?.strip_suffix('s')?.replace(',', ".").parse::<f64>().ok();
    let is_followed = values.first().is_some_and(|leap| !leap.starts_with('3'));
    proper(seconds(3)? / 2.0 + seconds(4)?).filter(|_| is_followed)
}

fn proper(bound: f64) -> Option<f64> {
    (bound.is_finite() && bound >= 0.0).then_some(bound)
}

/// systemd's service makes this file once it has set the clock.
const TIMESYNCD: &str = "/run/systemd/timesync/synchronized";

#[cfg(test)]
mod tests {
    use super::*;

    /// What chrony 4.3 printed that followed a server on the same computer.
    const FOLLOWS: &str = "7F000001,127.0.0.1,2,1795636188.748452183,-0.000001499,-0.000000482,0.000000482,-8.361,-0.000,359.299,\
                           0.000009665,0.000346677,0.3,Normal\n";

    #[test]
    fn chrony_is_within_half_the_way_to_its_source_and_what_that_source_may_be_off() {
        let bound = chrony_bound(FOLLOWS).expect("it follows a source");
        assert!((bound - (0.000_001_499 + 0.000_009_665 / 2.0 + 0.000_346_677)).abs() < 1e-12, "{bound}");
    }

    #[test]
    fn chrony_without_a_source_gives_no_bound() {
        assert_eq!(chrony_bound(&FOLLOWS.replace("Normal", "Not synchronised")), None);
        assert_eq!(chrony_bound("506 Cannot talk to daemon\n"), None);
        assert_eq!(chrony_bound(&FOLLOWS.replace("0.000346677", "-1.0")), None);
        assert_eq!(chrony_bound(&FOLLOWS.replace("0.000346677", "nan")), None);
    }

    #[test]
    fn windows_tells_it_in_any_language() {
        let status = |leap| {
            format!(
                "Sprungindikator: {leap}\r\nStratum: 3 (Sekundärreferenz)\r\nPräzision: -23 (119.209ns pro Tick)\r\n\
                 Stammverzögerung: 0,0203711s\r\nStammabweichung: 0,0300443s\r\nReferenz-ID: 0x0A000001\r\n"
            )
        };
        let bound = windows_bound(&status("0(keine Warnung)")).expect("it follows a source");
        assert!((bound - (0.020_371_1 / 2.0 + 0.030_044_3)).abs() < 1e-12, "{bound}");
        assert_eq!(windows_bound(&status("3(nicht synchronisiert)")), None);
    }
}
