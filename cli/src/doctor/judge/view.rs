//! What a program on the other computer tells of itself, held against this computer.

use schwann::resolver::{HostView, Viewed};
use schwann_session::discovery::TIME_TOLERANCE;

use super::add;
use crate::doctor::{
    Finding, Weight,
    facts::{Facts, Host},
    firewall::Manager,
};
use crate::sys::commands;

/// Compares both ends; says nothing where the other end tells nothing.
pub(super) fn judge_view(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    let Viewed::Told(view) = &host.view else { return };
    judge_version(&host.name, view, findings);
    judge_calendar(&host.name, view, findings);
    judge_certificate(&host.name, view, findings);
    judge_policy(&host.name, view, facts, findings);
}

fn judge_version(name: &str, view: &HostView, findings: &mut Vec<Finding>) {
    if view.version != OWN_VERSION {
        let what = format!("{name} runs Schwann {}, and this computer {OWN_VERSION}.", view.version);
        let fix = "schwann --version    # here and there; then bring both to the later one";
        add(findings, Weight::Warning, "host-version", what, fix);
    }
}

fn judge_calendar(name: &str, view: &HostView, findings: &mut Vec<Finding>) {
    let ahead = view.clock_ahead;
    if ahead.abs() > CLOCK_SECONDS + view.clock_uncertainty {
        let which = if ahead > 0.0 { "ahead of" } else { "behind" };
        let what = format!(
            "The calendar of {name} is {:.0} s {which} this computer's; from 30 s on, sealed searches fail.",
            ahead.abs()
        );
        add(findings, Weight::Warning, "host-clock", what, commands::set_clock());
    }
}

fn judge_certificate(name: &str, view: &HostView, findings: &mut Vec<Finding>) {
    let days = view.certificate_until.saturating_sub(now()) / 86_400;
    if days <= WARN_DAYS {
        let what =
            format!("The certificate of {name} expires in {days} days; after that no member admits it.");
        let fix = format!(
            "on {name}: schwann keys renew    # while `schwann keys renew --serve` runs on the lab's computer"
        );
        add(findings, Weight::Warning, "host-certificate", what, fix);
    }
}

fn judge_policy(name: &str, view: &HostView, facts: &Facts, findings: &mut Vec<Finding>) {
    let own = facts.config.trust().map(|trust| trust.policy().word());
    if own.is_ok_and(|own| own == "require" && view.policy != own) {
        let what = format!(
            "{name} sends also in the clear: its policy is {}, and this computer's require.",
            view.policy
        );
        let fix = format!("on {name}: schwann config set security.policy require");
        add(findings, Weight::Warning, "host-policy", what, fix);
    }
}

/// Whether the other computer has told its calendar, and sealed searches do not fail by that.
pub(super) fn has_our_time(host: &Host) -> bool {
    matches!(&host.view, Viewed::Told(view) if view.clock_ahead.abs() + view.clock_uncertainty < TIME_TOLERANCE.into())
}

/// Whether a query that this computer has sent to the other one now, by multicast, has come.
pub(super) fn has_heard_multicast(view: &Viewed) -> Option<bool> {
    heard(view, |view| view.multicast.age)
}

/// Whether a query that this computer has sent to the other one now, by its address, has come.
pub(super) fn has_heard_unicast(view: &Viewed) -> Option<bool> {
    heard(view, |view| view.unicast.age)
}

fn heard(view: &Viewed, age: impl FnOnce(&HostView) -> Option<f64>) -> Option<bool> {
    match view {
        Viewed::Told(view) => Some(age(view).is_some_and(|age| age < RECENT_SECONDS)),
        _ => None,
    }
}

/// The firewall that the other computer sees to be switched on, as part of a sentence.
pub(super) fn firewall_of(view: &Viewed) -> String {
    match view {
        Viewed::Told(view) => {
            view.firewall.as_ref().map_or_else(String::new, |name| format!(" ({name} is switched on there)"))
        }
        _ => String::new(),
    }
}

/// The program that manages the firewall of the other computer, as far as that is known.
pub(super) fn manager_of(view: &Viewed) -> Manager {
    match view {
        Viewed::Told(view) => Manager::of_name(view.firewall.as_deref()),
        _ => Manager::Unknown,
    }
}

/// What the other computer says of itself, in lines; or why it says nothing.
pub(crate) fn told(facts: &Facts) -> Option<String> {
    let host = facts.host.as_ref().filter(|host| !host.addresses.is_empty())?;
    let name = &host.name;
    Some(match &host.view {
        Viewed::Told(view) => told_by(name, view),
        Viewed::NoKeys => format!(
            "{name} tells nothing of itself, because it answers only members of its lab: schwann keys join"
        ),
        Viewed::Refused(refusal) => format!("{name} tells nothing of itself: {refusal}"),
        _ => format!(
            "{name} tells nothing of itself: no program with a stream is reached there, or it is older than this one, or a microcontroller"
        ),
    })
}

fn told_by(name: &str, view: &HostView) -> String {
    let age = |heard: schwann_proto::wire::view::Heard| match heard.age {
        Some(age) => format!("{} (latest {age:.1} s ago)", heard.count),
        None => String::from("none"),
    };
    let streams = if view.stream_count == 1 { "1 stream" } else { &format!("{} streams", view.stream_count) };
    format!(
        "{name} says of itself: {}, Schwann {}, {streams}, policy {}, revocation list {}, certificate valid {} more days,\n  \
         calendar {:+.3} s ± {:.3} s from this one, queries heard by multicast {}, by address {}, firewall {}",
        view.device,
        view.version,
        view.policy,
        view.revocation_number,
        view.certificate_until.saturating_sub(now()) / 86_400,
        view.clock_ahead,
        view.clock_uncertainty,
        age(view.multicast),
        age(view.unicast),
        view.firewall.as_deref().unwrap_or("not known"),
    )
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Differences of calendars that nothing minds.
const CLOCK_SECONDS: f64 = 2.0;
/// As everywhere: `schwann_session::renewal::AHEAD`.
const WARN_DAYS: u64 = 30;
/// The searches of this run are not older.
const RECENT_SECONDS: f64 = 15.0;
