//! GRANT and REVOKE of privileges.
//!
//! ```text
//!   statement ──targets──▶ objects ──words──▶ privileges ──change──▶ ACLs ──▶ descriptors
//! ```

mod change;
mod run;
mod target;
mod words;

pub(crate) use change::{Change, Subject, dependents};
pub(crate) use run::{change_acl, grant, revoke, revoke_from};
pub(crate) use target::Target;
pub(crate) use words::{check_grantor, grantees, names_of};
