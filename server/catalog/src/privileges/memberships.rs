//! Which roles have the privileges of which others.

use std::collections::BTreeSet;

use crate::{Catalog, DATABASE_OWNER, Id, PUBLIC, Role};

/// Who may do what with the objects of a catalog.
#[derive(Clone, Copy)]
pub struct Privileges<'c> {
    pub(super) catalog: &'c Catalog,
}

impl Catalog {
    /// Who may do what.
    pub fn privileges(&self) -> Privileges<'_> {
        Privileges { catalog: self }
    }
}

impl Privileges<'_> {
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

    /// Whether a role may act as the owner of a database.
    pub fn owns_database(self, role: Id, database: Id) -> bool {
        self.catalog.database(database).is_some_and(|database| self.acts_as(role, database.owner))
    }
}
