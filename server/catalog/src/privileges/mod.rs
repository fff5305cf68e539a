//! Who may do what: owners, superusers, memberships, grants, PUBLIC.
//!
//! Rules, PostgreSQL's: a superuser may do everything; a role has the privileges of every role it
//! is a member of, directly or not; an owner has every privilege on its object until it revokes
//! some from itself. The catalog views are readable by all and writable by nobody.

mod acl;
mod columns;
mod defaults;
mod owners;
mod policies;
mod rights;

pub use acl::{Acl, AclItem, Dependents};
pub use owners::Owned;
pub use rights::Rights;

use std::collections::BTreeSet;

use braid_types::{Error, Result, SqlState};

use crate::{
    Catalog, Composite, DATABASE_OWNER, Database, DefaultKind, DefaultPrivileges, Domain, Enum,
    Grant, Id, LargeObject, READ_ALL_DATA, Relation, Role, Routine, Schema, Sequence, Table, View,
    VirtualTable, WRITE_ALL_DATA, is_temporary,
};

/// The grantee that stands for everybody.
pub const PUBLIC: Id = 0;

/// An object that privileges are on.
#[derive(Clone, Copy)]
pub enum Object<'a> {
    /// A table.
    Table(&'a Table),
    /// A view.
    View(&'a View),
    /// A sequence.
    Sequence(&'a Sequence),
    /// A schema.
    Schema(&'a Schema),
    /// A database.
    Database(&'a Database),
    /// An enum.
    Enum(&'a Enum),
    /// A domain.
    Domain(&'a Domain),
    /// A composite type.
    Composite(&'a Composite),
    /// A function or procedure.
    Routine(&'a Routine),
    /// A large object.
    LargeObject(&'a LargeObject),
    /// A catalog view.
    Virtual(&'a VirtualTable),
}

impl<'a> From<&'a Relation> for Object<'a> {
    fn from(relation: &'a Relation) -> Self {
        match relation {
            Relation::Table(table) | Relation::Index(table, _) => Object::Table(table),
            Relation::View(view) => Object::View(view),
            Relation::Sequence(sequence) => Object::Sequence(sequence),
            Relation::Composite(found) => Object::Composite(found),
            Relation::Virtual(table) => Object::Virtual(table),
        }
    }
}

impl<'a> Object<'a> {
    /// Its kind and name, as messages name it.
    pub fn describe(&self) -> (&'static str, &'a str) {
        match *self {
            Object::Table(table) => (table.kind(), &table.name),
            Object::View(view) => ("view", &view.name),
            Object::Sequence(sequence) => ("sequence", &sequence.name),
            Object::Schema(schema) => ("schema", &schema.name),
            Object::Database(database) => ("database", &database.name),
            Object::Enum(found) => ("type", &found.name),
            Object::Domain(found) => ("type", &found.name),
            Object::Composite(found) => ("type", &found.name),
            Object::Routine(found) => (found.kind(), &found.name),
            Object::LargeObject(found) => ("large object", &found.name),
            Object::Virtual(table) => (table.kind(), table.name),
        }
    }

    /// Its owner.
    pub fn owner(&self) -> Id {
        match self {
            Object::Table(table) => table.owner,
            Object::View(view) => view.owner,
            Object::Sequence(sequence) => sequence.owner,
            Object::Schema(schema) => schema.owner,
            Object::Database(database) => database.owner,
            Object::Enum(found) => found.owner,
            Object::Domain(found) => found.owner,
            Object::Composite(found) => found.owner,
            Object::Routine(found) => found.owner,
            Object::LargeObject(found) => found.owner,
            Object::Virtual(_) => crate::ROOT,
        }
    }

    /// The database that it is in.
    pub fn database(&self) -> Option<Id> {
        match self {
            Object::Table(table) => Some(table.database),
            Object::View(view) => Some(view.database),
            Object::Sequence(sequence) => Some(sequence.database),
            Object::Schema(schema) => Some(schema.database),
            Object::Database(database) => Some(database.id),
            Object::Enum(found) => Some(found.database),
            Object::Domain(found) => Some(found.database),
            Object::Composite(found) => Some(found.database),
            Object::Routine(found) => Some(found.database),
            Object::LargeObject(_) | Object::Virtual(_) => None,
        }
    }

    /// Its grants.
    pub fn grants(&self) -> &'a [Grant] {
        match *self {
            Object::Table(table) => &table.grants,
            Object::View(view) => &view.grants,
            Object::Sequence(sequence) => &sequence.grants,
            Object::Schema(schema) => &schema.grants,
            Object::Database(database) => &database.grants,
            Object::Enum(found) => &found.grants,
            Object::Domain(found) => &found.grants,
            Object::Composite(found) => &found.grants,
            Object::Routine(found) => &found.grants,
            Object::LargeObject(found) => &found.grants,
            Object::Virtual(_) => &[],
        }
    }

    /// Every privilege that such an object can have.
    pub fn all_privileges(&self) -> &'static [&'static str] {
        match self {
            Object::Table(_) | Object::View(_) | Object::Virtual(_) => TABLE_PRIVILEGES,
            Object::Sequence(_) => &["SELECT", "UPDATE", "USAGE"],
            Object::Schema(_) => &["USAGE", "CREATE"],
            Object::Enum(_) | Object::Domain(_) | Object::Composite(_) => &["USAGE"],
            Object::Routine(_) => &["EXECUTE"],
            Object::LargeObject(_) => &["SELECT", "UPDATE"],
            Object::Database(_) => &["CREATE", "TEMPORARY", "CONNECT"],
        }
    }
}

/// Every privilege of a table or view, in PostgreSQL's order.
pub const TABLE_PRIVILEGES: &[&str] =
    &["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];

/// Who may do what with the objects of a catalog.
#[derive(Clone, Copy)]
pub struct Privileges<'c> {
    catalog: &'c Catalog,
}

impl Catalog {
    /// Who may do what.
    pub fn privileges(&self) -> Privileges<'_> {
        Privileges::new(self)
    }
}

impl<'c> Privileges<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> Self {
        Privileges { catalog }
    }

    /// The role and every role whose privileges it has: those that it is a member of, as far as
    /// members inherit.
    pub fn memberships(self, role: Id) -> BTreeSet<Id> {
        self.reached(role, |role| !role.no_inherit)
    }

    /// The role and every role that it is a member of and may become.
    fn reached(self, role: Id, passes_on: impl Fn(&Role) -> bool) -> BTreeSet<Id> {
        let mut found = BTreeSet::from([role]);
        let mut open = vec![role];
        while let Some(next) = open.pop() {
            let next = self.catalog.role(next).filter(|role| passes_on(role));
            for parent in next.map_or(&[][..], |role| &role.member_of) {
                if found.insert(*parent) {
                    open.push(*parent);
                }
            }
        }
        found
    }

    /// Whether a role is a superuser.
    pub fn is_superuser(self, role: Id) -> bool {
        self.catalog.role(role).is_some_and(|role| role.superuser)
    }

    /// Whether a role may become another: it is a superuser, that role, or a member of it.
    pub fn is_member(self, role: Id, other: Id) -> bool {
        role == other || self.is_superuser(role) || self.reached(role, |_| true).contains(&other)
    }

    /// Whether a role may change the members of another: it is a superuser, or it or a role that it
    /// may become has the admin option.
    pub fn is_admin(self, role: Id, of: Id) -> bool {
        let has_option = |role| self.catalog.role(role).is_some_and(|r| r.admin_of.contains(&of));
        self.is_superuser(role)
            || (role != of && self.reached(role, |_| true).into_iter().any(has_option))
    }

    /// Whether a role has the privileges of another: it is a superuser, that role, or a member of
    /// it that inherits.
    pub fn acts_as(self, role: Id, other: Id) -> bool {
        role == other || self.is_superuser(role) || self.memberships(role).contains(&other)
    }

    /// Whether a role has the privileges of another in a database. The owner of that database is
    /// the one member of `pg_database_owner` in it.
    pub(super) fn acts_in(self, role: Id, other: Id, database: Option<Id>) -> bool {
        let owns = |database| self.owns_database(role, database);
        other == PUBLIC
            || self.acts_as(role, other)
            || (other == DATABASE_OWNER && database.is_some_and(owns))
    }

    /// Whether a role may act as an object's owner.
    pub fn acts_as_owner(self, role: Id, object: Object<'_>) -> bool {
        self.acts_in(role, object.owner(), object.database())
    }

    /// Whether a role may grant a privilege on an object on to others.
    pub fn may_grant(self, role: Id, object: Object<'_>, privilege: &str) -> bool {
        let wanted = Rights::of([privilege]);
        Acl::of(object).options_of(self, role, wanted) == wanted
    }

    /// Whether a role may act as the owner of a database.
    pub fn owns_database(self, role: Id, database: Id) -> bool {
        self.catalog.database(database).is_some_and(|database| self.acts_as(role, database.owner))
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
        let owner_has_all = !acl::lists_owner(object.owner(), object.grants());
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
