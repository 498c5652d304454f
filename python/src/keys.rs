//! Which keys and which policy are in force, and the configuration.

use std::path::PathBuf;

use pyo3::prelude::*;
use schwann::Context;
use schwann::security::keys::store;
use schwann::security::{Roles, summary};

use crate::failure::{Kind, exception};

/// This process's membership in a lab.
#[pyclass(frozen, get_all, module = "schwann._schwann")]
pub(crate) struct Membership {
    /// What people call this device.
    device: String,
    /// The fingerprint of its key.
    fingerprint: String,
    /// The number of its certificate.
    serial: u64,
    /// The first and the last second of its validity, since 1970.
    valid: (u64, u64),
    may_send: bool,
    may_receive: bool,
    /// The number of the newest revocation list.
    revocation_list: u64,
}

/// The key folder, the policy, a sentence on both, what is wrong with them, and the membership.
#[pyfunction]
pub(crate) fn key_status() -> (PathBuf, &'static str, String, Option<String>, Option<Membership>) {
    let trust = Context::get().trust();
    let text = summary(&trust);
    let folder = store::folder();
    let trust = match trust {
        Ok(trust) => trust,
        Err(error) => return (folder, "require", text, Some(error.to_string()), None),
    };
    let membership = trust.member().map(|member| {
        let credentials = member.credentials();
        let statement = &credentials.certificate().statement;
        Membership {
            device: statement.name.as_str().to_owned(),
            fingerprint: statement.device.fingerprint().to_string(),
            serial: statement.serial,
            valid: (statement.not_before.0, statement.not_after.0),
            may_send: statement.roles.contain(Roles::PUBLISH),
            may_receive: statement.roles.contain(Roles::SUBSCRIBE),
            revocation_list: member.revocation_number(),
        }
    });
    (folder, trust.policy().word(), text, trust.check().err().map(|error| error.to_string()), membership)
}

/// The policy of the stream of this name.
#[pyfunction]
pub(crate) fn policy_of(py: Python<'_>, stream: &str) -> PyResult<&'static str> {
    match Context::get().trust() {
        Ok(trust) => Ok(trust.policy_for(stream).word()),
        Err(error) => Err(exception(py, Kind::Unsealed, error.to_string())),
    }
}

/// What this library is, and whether it seals streams.
#[pyfunction]
pub(crate) fn library_info() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "Schwann {version}/compatible:liblsl-1.18/link:PYTHON/security:{}",
        summary(&Context::get().trust())
    )
}

/// Has this text for the configuration, if nothing has asked for it before; says whether it has.
#[pyfunction]
pub(crate) fn set_config_content(text: &str) -> bool {
    schwann::set_config_content(text).is_ok()
}

/// Has this file for the configuration, if nothing has asked for it before; says whether it has.
#[pyfunction]
pub(crate) fn set_config_filename(path: PathBuf) -> bool {
    schwann::set_config_filename(&path).is_ok()
}
