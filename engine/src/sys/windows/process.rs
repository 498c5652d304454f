//! What a process may, and what others may do with it.

/// Whether this program has more rights than the user who started it. A service starts such programs here, and
/// gives them an environment of their own.
pub(crate) fn has_rights_of_its_own() -> bool {
    false
}

/// Nothing: the system writes no dump unless an administrator has asked for it.
///
/// - Errors: none on this system.
pub(crate) fn forbid_dumps() -> std::io::Result<()> {
    Ok(())
}
