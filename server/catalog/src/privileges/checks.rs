//! Whether a role may do something with an object.

use std::collections::BTreeSet;

use braid_types::{Error, Result, SqlState};

use super::acl::{Acl, lists_owner};
use super::memberships::Privileges;
use super::object::Object;
use super::rights::Rights;
use crate::{
    Database, DefaultKind, DefaultPrivileges, Id, READ_ALL_DATA, WRITE_ALL_DATA, is_temporary,
};

impl Privileges<'_> {
    /// Whether a role may act as an object's owner.
    pub fn acts_as_owner(self, role: Id, object: Object<'_>) -> bool {
        self.acts_in(role, object.owner(), object.database())
    }

    /// Whether a role may grant a privilege on an object on to others.
    pub fn may_grant(self, role: Id, object: Object<'_>, privilege: &str) -> bool {
        let wanted = Rights::of([privilege]);
        Acl::of(object).options_of(self, role, wanted) == wanted
    }

    /// Whether a role has a privilege (upper case) on an object.
    pub fn has(self, role: Id, object: Object<'_>, privilege: &str) -> bool {
        if let Object::Virtual(_) = object {
            return privilege == "SELECT" || self.is_superuser(role);
        }
        if let Object::Schema(schema) = object
            && is_temporary(schema.id)
        {
            // It is the session's own.
            return true;
        }
        if self.is_superuser(role) {
            return true;
        }
        let owner_has_all = !lists_owner(object.owner(), object.grants());
        if owner_has_all && self.acts_as_owner(role, object) {
            return true;
        }
        is_predefined_for(&self.memberships(role), object, privilege)
            || self.is_granted((role, object.database()), object.grants(), privilege)
    }

    /// 42501 `permission denied for …`.
    pub fn denied(self, object: Object<'_>) -> Error {
        let (kind, name) = object.describe();
        let message = format!("permission denied for {kind} {name}");
        Error::new(SqlState::InsufficientPrivilege, message)
    }

    /// 42501 `permission denied for …` unless the role has the privilege on the object.
    pub fn check(self, role: Id, object: Object<'_>, privilege: &str) -> Result<()> {
        if self.has(role, object, privilege) {
            return Ok(());
        }
        Err(self.denied(object))
    }

    /// 42501 `must be owner of …` unless the role acts as the owner.
    pub fn check_owner(self, role: Id, object: Object<'_>) -> Result<()> {
        if !matches!(object, Object::Virtual(_)) && self.acts_as_owner(role, object) {
            return Ok(());
        }
        let (kind, name) = object.describe();
        if let Object::Virtual(_) = object {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
        let message = format!("must be owner of {kind} {name}");
        Err(Error::new(SqlState::InsufficientPrivilege, message))
    }

    /// An object's ACL as PostgreSQL prints it; `None` while nothing was granted.
    pub fn acl(self, object: Object<'_>) -> Option<Vec<String>> {
        let untouched = match object {
            Object::Database(database) => database.grants == Database::first_grants(),
            Object::Enum(_) | Object::Domain(_) | Object::Composite(_) => {
                object.grants() == DefaultKind::Types.built_in_grants()
            }
            Object::Routine(_) => object.grants() == DefaultKind::Functions.built_in_grants(),
            _ => object.grants().is_empty(),
        };
        (!untouched).then(|| Acl::of(object).texts(self))
    }

    /// The ACL of default privileges. That for one schema has only what is added there.
    pub fn default_acl(self, entry: &DefaultPrivileges) -> Vec<String> {
        Acl::of_default(entry).texts(self)
    }
}

/// Whether one of the roles is a predefined one that has a privilege on all objects of a kind.
fn is_predefined_for(roles: &BTreeSet<Id>, object: Object<'_>, privilege: &str) -> bool {
    let reads = roles.contains(&READ_ALL_DATA);
    let writes = roles.contains(&WRITE_ALL_DATA);
    match object {
        Object::Table(_) | Object::View(_) | Object::Sequence(_) => match privilege {
            "SELECT" => reads,
            "INSERT" | "UPDATE" | "DELETE" => writes,
            _ => false,
        },
        Object::Schema(_) => privilege == "USAGE" && (reads || writes),
        _ => false,
    }
}
