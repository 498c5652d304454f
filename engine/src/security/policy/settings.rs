//! What the environment and the configuration say of security, and what of it weakens the promises.
//!
//! | What says it | May weaken |
//! | --- | --- |
//! | the environment (`SCHWANN_SECURITY`, `SCHWANN_SECURITY_STREAMS`) | yes; announced once |
//! | the file or the text that `LSLAPICFG` or the program names, `~/lsl_api/`, `/etc/lsl_api/` | yes; announced once |
//! | `SCHWANN_SECURITY_PLAIN` | yes; announced once |
//! | `lsl_api.cfg` in the current folder | no: it came with a folder, and may be anybody's |
//!
//! Beneath the file in the current folder lies the one that would count without it. The stricter word of both
//! counts. What cannot be read means `require`.
//!
//! Source: secure-session §6.

use core::time::Duration;
use std::path::PathBuf;

use schwann_session::RekeyLimits;

use super::{Admitted, Pins, Policy, StreamPolicies};
use crate::config::Config;
use crate::environment;
use crate::security::keys::TrustError;

/// Everything that is said of security, in force.
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) streams: StreamPolicies,
    /// Streams of others that may come in the clear.
    pub(super) admitted: Admitted,
    /// Streams that come from one device alone.
    pub(super) pins: Pins,
    pub(super) key_lifetime: Duration,
    pub(super) permits_core_dumps: bool,
    /// What weakens the promises, or tried to, and where it is said.
    pub(super) remarks: Vec<String>,
    /// Where the policy, the policies of single streams and the admitted streams come from.
    places: [String; 3],
}

impl Settings {
    /// Reads the environment and the configuration; `installed` says whether this user has a key.
    ///
    /// - Errors: a number of the configuration makes no sense.
    pub(super) fn load(config: &Config, installed: bool) -> Result<Self, TrustError> {
        let mut settings = match &config.beneath {
            None => Self::of_file(config, installed)?,
            Some(beneath) => Self::of_file(beneath, installed)?.tightened(config)?,
        };
        if let Some(word) = environment::text(VARIABLE) {
            settings.policy = Policy::of_word(&word).unwrap_or(Policy::Require);
            settings.places[0] = String::from(VARIABLE);
        }
        if let Some(text) = environment::text(STREAMS_VARIABLE).filter(|text| !text.trim().is_empty()) {
            settings.streams = StreamPolicies::parse(&text);
            settings.places[1] = String::from(STREAMS_VARIABLE);
        }
        if let Some(text) = environment::text(PLAIN_VARIABLE) {
            settings.places[2] = String::from(PLAIN_VARIABLE);
            settings.admit(&text);
        }
        if installed {
            settings.remark_what_is_open();
        }
        Ok(settings)
    }

    /// What a file says that may weaken.
    fn of_file(config: &Config, installed: bool) -> Result<Self, TrustError> {
        let is_strict = installed || config.has_lost_policy;
        let default = if is_strict { Policy::Require } else { Policy::Off };
        // If the first file cannot be read, the words of another file open nothing up.
        let said = said(config).filter(|_| !config.is_substitute || !is_strict);
        let mut settings = Self {
            policy: said.unwrap_or(default),
            streams: StreamPolicies::of(config),
            key_lifetime: key_lifetime(config)?.unwrap_or(RekeyLimits::default().lifetime),
            permits_core_dumps: is_true(config.raw("security", "core_dumps")),
            admitted: Admitted::default(),
            pins: pins(config)?,
            remarks: Vec::new(),
            places: [config.place(), config.place(), config.place()],
        };
        let place = config.place();
        settings.remarks.extend(remark_of_unknown(config));
        if config.has_lost_policy {
            settings.remarks.push(String::from(
                "a configuration with a section [security] cannot be used, so nothing is sent unsealed; mend the line that is named",
            ));
        }
        if let Some(text) = config.raw("security", "plain").filter(|_| !config.is_substitute) {
            settings.admit(text);
        }
        if installed && settings.key_lifetime > RekeyLimits::default().lifetime {
            let seconds = settings.key_lifetime.as_secs();
            settings.remarks.push(format!("{place} lets the key of a session be used for {seconds} s"));
        }
        if installed && settings.permits_core_dumps {
            settings.remarks.push(format!("{place} permits core dumps, which hold keys"));
        }
        Ok(settings)
    }

    /// Admits what a condition says; nothing if it cannot be asked.
    fn admit(&mut self, condition: &str) {
        self.admitted = Admitted::parse(condition).unwrap_or_else(|error| {
            self.remarks.push(format!("{}: plain in [security] admits no stream: {error}", self.places[2]));
            Admitted::default()
        });
    }

    /// The same with what a file in the current folder says, where that is stricter.
    fn tightened(mut self, local: &Config) -> Result<Self, TrustError> {
        let place = local.place();
        self.remarks.extend(remark_of_unknown(local));
        let mut ignored = |what: String| {
            self.remarks.push(format!(
                "{place} is in the current folder, so it cannot weaken anything: {what} is ignored"
            ));
        };
        let said = said(local);
        if let Some(looser) = said.filter(|said| *said < self.policy) {
            ignored(format!("policy {}", looser.word()));
        }
        let of_streams = StreamPolicies::of(local);
        for (name, said) in of_streams.iter() {
            let before = self.streams.of_stream(name).unwrap_or(self.policy);
            if said < before {
                ignored(format!("{} = {{{name}}}", said.word()));
            }
        }
        if is_true(local.raw("security", "core_dumps")) && !self.permits_core_dumps {
            ignored(String::from("core_dumps"));
        }
        for key in ["plain", "pin"].into_iter().filter(|key| local.raw("security", key).is_some()) {
            ignored(String::from(key));
        }
        let lifetime = key_lifetime(local)?.unwrap_or(self.key_lifetime);
        if lifetime > self.key_lifetime {
            ignored(String::from("session_key_lifetime"));
        }
        self.key_lifetime = self.key_lifetime.min(lifetime);
        self.streams = self.streams.tightened(self.policy, &of_streams, said.unwrap_or_default());
        self.policy = self.policy.max(said.unwrap_or_default());
        Ok(self)
    }

    fn remark_what_is_open(&mut self) {
        let [of_policy, of_streams, of_admitted] = &self.places;
        let what = match self.policy {
            Policy::Off => Some("all streams travel in the clear"),
            Policy::Prefer => Some("streams travel in the clear to peers without keys"),
            Policy::Require => None,
        };
        let word = self.policy.word();
        self.remarks.extend(what.map(|what| format!("{of_policy} sets the policy to {word}: {what}")));
        let plain: Vec<&str> = self.streams.plain().collect();
        if !plain.is_empty() {
            let names = plain.join(", ");
            self.remarks.push(format!("{of_streams} lets these streams travel in the clear: {names}"));
        }
        if let Some(condition) = self.admitted.condition().filter(|_| self.policy == Policy::Require) {
            self.remarks.push(format!("{of_admitted} admits streams in the clear: {condition}"));
        }
    }
}

/// The policy that a file asks for; none if it says nothing of it.
fn said(config: &Config) -> Option<Policy> {
    if config.unknown_of_security().is_some() {
        return Some(Policy::Require);
    }
    let enabled = config.raw("security", "enabled");
    match (config.raw("security", "policy"), enabled) {
        (Some("off"), _) => Some(Policy::Off),
        (Some("prefer"), _) if !is_false(enabled) => Some(Policy::Prefer),
        (None, Some(_)) | (Some("require"), _) if is_false(enabled) => Some(Policy::Off),
        (None, None) => None,
        _ => Some(Policy::Require),
    }
}

/// What was meant by a key that does not exist cannot be known.
fn remark_of_unknown(config: &Config) -> Option<String> {
    config.unknown_of_security().map(|note| format!("{}, {note}: `schwann config edit`", config.place()))
}

/// How long the key of a session is used at most: `security.session_key_lifetime`, in seconds.
///
/// - Errors: it is no number of seconds between one and a day.
fn key_lifetime(config: &Config) -> Result<Option<Duration>, TrustError> {
    let Some(text) = config.raw("security", "session_key_lifetime") else { return Ok(None) };
    let seconds = text.trim().parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
    seconds.map(|seconds| Some(Duration::from_secs(seconds))).ok_or_else(|| {
        let reason = format!(
            "session_key_lifetime in section [security] must be from 1 to 86400 seconds, not {text}; correct it there"
        );
        TrustError::File(PathBuf::from(config.place()), reason)
    })
}

/// Which streams come from one device alone: `security.pin`.
///
/// - Errors: it cannot be read, so no stream may be received.
fn pins(config: &Config) -> Result<Pins, TrustError> {
    let parsed = Pins::parse(config.raw("security", "pin").unwrap_or_default());
    parsed.map_err(|error| {
        let reason = format!("pin in section [security]: {error}; correct it there");
        TrustError::File(PathBuf::from(config.place()), reason)
    })
}

fn is_true(word: Option<&str>) -> bool {
    matches!(word, Some("1" | "true" | "yes" | "on"))
}

fn is_false(word: Option<&str>) -> bool {
    matches!(word, Some("0" | "false" | "no" | "off"))
}

const VARIABLE: &str = "SCHWANN_SECURITY";
const STREAMS_VARIABLE: &str = "SCHWANN_SECURITY_STREAMS";
const PLAIN_VARIABLE: &str = "SCHWANN_SECURITY_PLAIN";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, installed: bool) -> Settings {
        Settings::of_file(&Config::parse(text).expect("valid"), installed).expect("sensible")
    }

    #[test]
    fn a_policy_that_cannot_be_read_opens_nothing() {
        let policy_of = |text: &str, installed| of(text, installed).policy;
        assert_eq!(policy_of("", false), Policy::Off);
        assert_eq!(policy_of("", true), Policy::Require);
        assert_eq!(policy_of("[security]\nenabled=true\n", false), Policy::Require);
        assert_eq!(policy_of("[security]\nenabled=0\n", true), Policy::Off);
        assert_eq!(policy_of("[security]\npolicy=prefer\n", true), Policy::Prefer);
        assert_eq!(policy_of("[security]\npolicy=off\n", true), Policy::Off);
        assert_eq!(policy_of("[security]\npolicy=prefre\n", true), Policy::Require);
        assert_eq!(policy_of("[security]\nenabled=maybe\n", true), Policy::Require);
        for wrong in ["[security]\npolicy=off\npolcy=require\n", "[Security]\npolicy=off\n"] {
            let settings = of(wrong, false);
            assert_eq!((settings.policy, settings.remarks.len()), (Policy::Require, 1), "{wrong}");
        }
        let mut after_one_that_is_lost = Config::parse("[security]\npolicy=off\n").expect("valid");
        (after_one_that_is_lost.is_substitute, after_one_that_is_lost.has_lost_policy) = (true, true);
        let settings = Settings::of_file(&after_one_that_is_lost, false).expect("sensible");
        assert_eq!((settings.policy, settings.remarks.len()), (Policy::Require, 1));
    }

    #[test]
    fn a_condition_admits_streams_and_one_that_cannot_be_read_admits_none() {
        let read = of("[security]\nplain=name='Eyes' and hostname='tracker-pc'\n", true);
        assert_eq!(read.admitted.condition(), Some("name='Eyes' and hostname='tracker-pc'"));
        let wrong = of("[security]\nplain=name='Eyes\n", true);
        assert_eq!((wrong.admitted.condition(), wrong.remarks.len()), (None, 1));
    }

    #[test]
    fn a_pin_that_cannot_be_read_shuts_everything() {
        let key = schwann_session::PublicKey([7; 32]).fingerprint();
        let text = |pin: &str| Config::parse(&format!("[security]\npin={pin}\n")).expect("valid");
        let read = Settings::of_file(&text(&format!("name='EEG' -> {key}")), true).expect("sensible");
        assert_eq!(read.pins.iter().count(), 1);
        assert!(Settings::of_file(&text("name='EEG' -> amplifier"), true).is_err());
    }

    #[test]
    fn a_file_in_the_current_folder_admits_and_pins_nothing() {
        let local = Config::parse("[security]\nplain=name='Eyes'\n").expect("valid");
        let settings = of("", true).tightened(&local).expect("sensible");
        assert_eq!((settings.admitted.condition(), settings.remarks.len()), (None, 1));
    }

    #[test]
    fn a_file_in_the_current_folder_makes_everything_stricter_and_nothing_looser() {
        let both = |beneath: &str, local: &str| {
            let local = Config::parse(&format!("[security]\n{local}\n")).expect("valid");
            of(&format!("[security]\n{beneath}\n"), true).tightened(&local).expect("sensible")
        };
        for (beneath, local, policy, remarks) in [
            ("", "policy=off", Policy::Require, 1),
            ("policy=require", "enabled=0", Policy::Require, 1),
            ("policy=require", "policy=prefer", Policy::Require, 1),
            ("policy=prefer", "policy=off", Policy::Prefer, 1),
            ("policy=prefer", "policy=require", Policy::Require, 0),
            ("policy=off", "policy=prefer", Policy::Prefer, 0),
            ("policy=off", "", Policy::Off, 0),
            ("policy=off", "policy=prefre", Policy::Require, 0),
        ] {
            let settings = both(beneath, local);
            assert_eq!((settings.policy, settings.remarks.len()), (policy, remarks), "{beneath} {local}");
        }
        let names =
            both("policy=require\noff={Markers, Lone}", "off={EEG}\nprefer={Lone}\nrequire={Markers}");
        let of = |name| names.streams.of_stream(name).unwrap_or(names.policy);
        assert_eq!(
            [of("EEG"), of("Lone"), of("Markers")],
            [Policy::Require, Policy::Prefer, Policy::Require]
        );
        assert!(names.remarks.iter().any(|remark| remark.contains("off = {EEG}")), "{:?}", names.remarks);
        let all = both("policy=prefer\noff={Markers}", "policy=require");
        assert_eq!(all.streams.of_stream("Markers"), Some(Policy::Require));

        let long = both("", "session_key_lifetime=80000\ncore_dumps=1");
        assert_eq!(
            (long.key_lifetime.as_secs(), long.permits_core_dumps, long.remarks.len()),
            (3600, false, 2)
        );
        assert_eq!(both("", "session_key_lifetime=60").key_lifetime.as_secs(), 60);
    }
}
