//! For whom the policies of a table hold.

use super::{Object, Privileges};
use crate::{Id, PUBLIC, Policy, PolicyCommand, Table};

impl Privileges<'_> {
    /// Whether the policies of no table hold for a role: it is a superuser or has BYPASSRLS.
    pub fn bypasses_policies(self, role: Id) -> bool {
        self.catalog.role(role).is_some_and(|role| role.superuser || role.bypass_policies)
    }

    /// Whether the policies of a table hold for a role. They hold for its owner if they are forced.
    pub fn are_policies_for(self, role: Id, table: &Table) -> bool {
        let security = &table.security;
        security.enabled
            && !self.bypasses_policies(role)
            && (security.forced || !self.acts_as_owner(role, Object::Table(table)))
    }

    /// The policies of a table for a role and one kind of statement, by name.
    pub fn policies_for(self, role: Id, table: &Table, command: PolicyCommand) -> Vec<&Policy> {
        let is_meant = |policy: &&Policy| {
            let is_for = policy.command == PolicyCommand::All || policy.command == command;
            let mut roles = policy.roles.iter();
            is_for && roles.any(|of| *of == PUBLIC || self.acts_as(role, *of))
        };
        table.security.policies.iter().filter(is_meant).collect()
    }
}
