//! Privileges on single columns.

use super::{Object, PUBLIC, Privileges};
use crate::{ColumnId, Grant, Id};

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
            || self.is_granted(role, object.column_grants(column), privilege)
    }

    /// Whether a role has a privilege on some column of a relation.
    pub fn has_on_some_column(self, role: Id, object: Object<'_>, privilege: &str) -> bool {
        let mut columns = object.columns().into_iter();
        self.has(role, object, privilege)
            || columns.any(|column| self.is_granted(role, object.column_grants(column), privilege))
    }

    /// Whether one of some grants gives a privilege to a role.
    pub(super) fn is_granted(self, role: Id, grants: &[Grant], privilege: &str) -> bool {
        if grants.is_empty() {
            return false;
        }
        let roles = self.memberships(role);
        grants.iter().any(|grant| {
            (grant.role == PUBLIC || roles.contains(&grant.role))
                && grant.privileges.iter().any(|granted| granted == privilege)
        })
    }

    /// The ACL of a column; `None` while nothing was granted on it.
    pub fn column_acl(self, object: Object<'_>, column: ColumnId) -> Option<Vec<String>> {
        let grants = object.column_grants(column);
        (!grants.is_empty()).then(|| self.acl_of_grants(object.owner(), grants))
    }
}
