//! The keys of this user: the files of the key folder, and the membership in a lab that they give.

pub(super) mod error;
mod files;
pub(super) mod member;
pub mod met;
mod permissions;
pub(super) mod secrecy;
pub mod store;

#[cfg(test)]
pub(super) use self::files::store_update;
pub use self::files::{alone, install as install_list, read_pair as read_list, replace as replace_list};
pub use self::permissions::weaknesses;
pub use self::secrecy::{forbid_dumps, keep_from_swap, keep_stack_from_swap};
pub(crate) use self::{
    error::TrustError,
    member::{DiscoverySecret, Member},
};
