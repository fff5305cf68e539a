//! Privileges on single columns.

use super::{Acl, Object, Privileges, Rights};
use crate::{ColumnId, DATABASE_OWNER, Grant, Id, PUBLIC};

impl<'a> Object<'a> {
    /// What is granted on one of its columns alone.
    pub fn column_grants(&self, column: ColumnId) -> &'a [Grant] {
        match *self {
            Object::Table(table) => table.column(column).map_or(&[], |column| &column.grants),
            Object::View(view) => {
                let found = view.column_grants.iter().find(|(known, _)| *known == column);
                found.map_or(&[], |(_, grants)| grants)
            }
            _ => &[],
        }
    }

    /// What is granted on it, and on each of its columns alone.
    pub fn all_grants(self) -> impl Iterator<Item = &'a [Grant]> {
        let columns = self.columns().into_iter().map(move |column| self.column_grants(column));
        std::iter::once(self.grants()).chain(columns)
    }

    /// The numbers of its columns.
    fn columns(&self) -> Vec<ColumnId> {
        match *self {
            Object::Table(table) => table.columns.iter().map(|column| column.id).collect(),
            Object::View(view) => view.column_grants.iter().map(|(column, _)| *column).collect(),
            _ => Vec::new(),
        }
    }
}

impl Privileges<'_> {
    /// Whether a role has a privilege on a column, or on all of its relation.
    pub fn has_on_column(
        self,
        role: Id,
        object: Object<'_>,
        column: ColumnId,
        privilege: &str,
    ) -> bool {
        self.has(role, object, privilege)
            || self.is_granted((role, object.database()), object.column_grants(column), privilege)
    }

    /// Whether a role has a privilege on some column of a relation.
    pub fn has_on_some_column(self, role: Id, object: Object<'_>, privilege: &str) -> bool {
        let mut columns = object.columns().into_iter();
        self.has(role, object, privilege)
            || columns.any(|column| {
                self.is_granted((role, object.database()), object.column_grants(column), privilege)
            })
    }

    /// Whether a role may grant a privilege on a column on to others, or on some column of all.
    pub fn may_grant_on_column(
        self,
        role: Id,
        (object, column): (Object<'_>, Option<ColumnId>),
        privilege: &str,
    ) -> bool {
        let wanted = Rights::of([privilege]);
        let may_grant =
            |column| Acl::of_column(object, column).options_of(self, role, wanted) == wanted;
        self.may_grant(role, object, privilege)
            || match column {
                Some(column) => may_grant(column),
                None => object.columns().into_iter().any(may_grant),
            }
    }

    /// Whether one of some grants gives a privilege in a database to a role.
    pub(super) fn is_granted(
        self,
        (role, database): (Id, Option<Id>),
        grants: &[Grant],
        privilege: &str,
    ) -> bool {
        if grants.is_empty() {
            return false;
        }
        let roles = self.memberships(role);
        let is_for = |role: Id, of: Id| {
            of == PUBLIC
                || roles.contains(&of)
                || (of == DATABASE_OWNER && self.acts_in(role, of, database))
        };
        grants.iter().any(|grant| {
            grant.privileges.iter().any(|granted| granted == privilege) && is_for(role, grant.role)
        })
    }

    /// The ACL of a column; `None` while nothing was granted on it.
    pub fn column_acl(self, object: Object<'_>, column: ColumnId) -> Option<Vec<String>> {
        let is_granted = !object.column_grants(column).is_empty();
        is_granted.then(|| Acl::of_column(object, column).texts(self))
    }
}
