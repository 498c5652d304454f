//! What a process may, and what others may do with it.

/// Whether this program has rights that the user who started it has not: such programs are started by a service here, which
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
