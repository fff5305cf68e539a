//! Who may do what: owners, superusers, memberships, grants, PUBLIC.
//!
//! Rules, PostgreSQL's: a superuser may do everything; a role has the privileges of every role it
//! is a member of, directly or not; an owner has every privilege on its object until it revokes
//! some from itself. The catalog views are readable by all and writable by nobody.

mod acl;
mod checks;
mod columns;
mod defaults;
mod memberships;
mod object;
mod owners;
mod policies;
mod rights;

pub use acl::{Acl, AclItem, Dependents};
pub use memberships::Privileges;
pub use object::{Object, TABLE_PRIVILEGES};
pub use owners::Owned;
pub use rights::Rights;
