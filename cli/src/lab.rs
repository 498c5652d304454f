//! Which network the commands work on: the lab's, as every LSL program has it, or one of our own.

use core::hash::{BuildHasher as _, Hasher as _};
use core::net::Ipv4Addr;
use std::hash::RandomState;
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Once};

use schwann::config::{LoadReport, Note, NoteKind, Outcome, Search};
use schwann::inlet::Protection;
use schwann::load_report;
use schwann::security::{Member, Policy, TrustError};
use schwann::{Config, Context, StreamInfo};

use crate::config_file;

/// Returns the configuration of the lab, read from where every LSL program reads it.
///
/// Says on the standard error stream what is wrong with it. A log in the middle of a painted screen would
/// not help. So the library's own log starts only if the configuration asks for it.
pub(crate) fn config() -> Arc<Context> {
    let (config, report) = config_with_report();
    static SAID: Once = Once::new();
    SAID.call_once(|| complain(&report));
    config
}

fn complain(report: &LoadReport) {
    for attempt in &report.attempts {
        let what = match &attempt.outcome {
            Outcome::Loaded { notes } => {
                let is_lost =
                    |note: &&Note| matches!(note.kind, NoteKind::WithoutBraces | NoteKind::WrongValue(_));
                for note in notes.iter().filter(is_lost) {
                    eprintln!("schwann: {}: {note}", attempt.origin);
                }
                continue;
            }
            Outcome::Invalid(invalid) => format!("{invalid}"),
            Outcome::Unreadable(kind) => format!("{kind}"),
            _ => String::from("not used"),
        };
        eprintln!("schwann: {} is not used: {what}", attempt.origin);
    }
}

/// Returns the configuration of the lab, and how it was found; says nothing of what is wrong with it.
pub(crate) fn config_with_report() -> (Arc<Context>, LoadReport) {
    crate::cmd::keys::keyring::open_key();
    let (config, report) = Search::from_environment().load();
    if config.raw("log", "level").is_some() || config.raw("log", "file").is_some() {
        return (Arc::clone(Context::get()), load_report().clone());
    }
    schwann::start_security_log(&config);
    (Arc::new(Context::new(config)), report)
}

/// Renews this device's certificate in the background where the authority is reached; says so, and when it expires soon.
pub(crate) fn look_after_certificate(context: &Context) {
    let Ok(trust) = context.trust() else { return };
    if let Some(days) = schwann::security::expires_in_days(&trust) {
        eprintln!(
            "schwann: this device's certificate expires in {days} days; it is renewed if `schwann keys renew --serve` runs on \
             the lab's computer"
        );
    }
    crate::cmd::keys::renew::in_background(true);
}

/// The same without a word, where the screen says it.
pub(crate) fn renew_in_background() {
    crate::cmd::keys::renew::in_background(false);
}

/// Says that a stream comes in the clear although this computer wants sealed ones; nothing if it does not.
pub(crate) fn admitted(
    context: &Context,
    info: &StreamInfo,
    protection: Option<Protection>,
) -> Option<String> {
    let wants_sealed = context.trust().is_ok_and(|trust| trust.policy() == Policy::Require);
    (wants_sealed && protection == Some(Protection::Plain)).then(|| {
        format!(
            "{} of {} comes in the clear, as [security] of {} admits: every program in the network can read and imitate it",
            info.name(),
            info.hostname(),
            config_path()
        )
    })
}

/// Keeps warnings of the library from an answer that says the same, unless the configuration asks for a log.
pub(crate) fn hush(config: &Config) {
    if config.raw("log", "level").is_none() && config.raw("log", "file").is_none() {
        schwann::log::hush();
    }
}

/// Keeps refusals out of the log of a command whose screen names them, unless the configuration asks for a log.
pub(crate) fn hush_refusals(config: &Config) {
    if config.raw("log", "level").is_none() && config.raw("log", "file").is_none() {
        schwann::security::refusals_are_shown();
    }
}

/// Returns the path of the configuration in use, or of the one that would be read if it existed.
pub(crate) fn config_path() -> String {
    config_file::path().display().to_string()
}

/// Returns the text of a configuration that no other program shares. It has a session of its own on free
/// ports of this computer alone. Works without a network, and disturbs none.
pub(crate) fn private_config() -> String {
    let random = RandomState::new().build_hasher().finish();
    let bases =
        (0..ATTEMPTS).map(|attempt| FIRST_PORT + (random.wrapping_add(attempt) % BASES) as u16 * PORTS);
    let base =
        bases.clone().find(|&base| is_free(base)).or_else(|| bases.clone().next()).unwrap_or(FIRST_PORT);
    format!(
        "[ports]\nMulticastPort={}\nBasePort={base}\nPortRange={}\nIPv6=disable\n\
         [multicast]\nResolveScope=machine\n[lab]\nSessionID=schwann-{random:016x}\n[log]\nlevel=-1\n",
        base + PORTS - 1,
        PORTS - 1
    )
}

/// Whether the ports that will be used first are free.
fn is_free(base: u16) -> bool {
    (base..base + 4).chain([base + PORTS - 1]).all(|port| {
        UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
            && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
    })
}

/// This computer's membership, by which certificates are judged and signed; none if it has no keys.
///
/// - Errors: why keys that are there cannot be read. That is not to be taken for having none.
pub(crate) fn member() -> Result<Option<Arc<Member>>, TrustError> {
    match config().trust() {
        Ok(trust) => Ok(trust.member().cloned()),
        Err(TrustError::NoKey(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why streams cannot be sealed here; also where they need not be, if there is a key.
pub(crate) fn unsealed(context: &Context) -> Option<TrustError> {
    let trust = match context.trust() {
        Ok(trust) => trust,
        Err(error) => return Some(error),
    };
    let member = trust.member()?;
    let statement = member.credentials().certificate().statement;
    member.check(statement.roles).err()
}

/// Below the ports that systems hand out by themselves, and above those of well-known services.
const FIRST_PORT: u16 = 20_000;
/// Ports of one configuration; a search asks each of them.
const PORTS: u16 = 12;
const BASES: u64 = 1000;
const ATTEMPTS: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_configuration_is_valid_and_shared_with_nobody() {
        let [one, other] = [(); 2].map(|()| Config::parse(&private_config()).expect("it is valid"));
        assert_ne!(one.lab.session_id, other.lab.session_id);
        assert!(one.multicast.discovery_addresses.iter().all(core::net::IpAddr::is_loopback));
        assert!(!one.ports.service_range().any(|port| port == one.ports.multicast));
    }
}
