//! Default privileges: the grants with which new objects begin.
//!
//! Rules, PostgreSQL's: those of a role for all schemas stand in place of the built-in ones; those
//! for one schema are added. The owner of the new object decides whose default privileges count.

use crate::{Database, DefaultKind, DefaultPrivileges, Grant, Id, PUBLIC};

impl DefaultKind {
    /// The letter of the kind in `pg_default_acl`.
    pub fn letter(self) -> &'static str {
        match self {
            DefaultKind::Tables => "r",
            DefaultKind::Sequences => "S",
            DefaultKind::Functions => "f",
            DefaultKind::Types => "T",
            DefaultKind::Schemas => "n",
        }
    }

    /// Every privilege on such an object, in upper case.
    pub fn all_privileges(self) -> &'static [&'static str] {
        match self {
            DefaultKind::Tables => crate::TABLE_PRIVILEGES,
            DefaultKind::Sequences => &["SELECT", "UPDATE", "USAGE"],
            DefaultKind::Functions => &["EXECUTE"],
            DefaultKind::Types => &["USAGE"],
            DefaultKind::Schemas => &["USAGE", "CREATE"],
        }
    }

    /// The built-in grants of a new object: everybody may use types and call functions.
    pub fn built_in_grants(self) -> Vec<Grant> {
        let privilege = match self {
            DefaultKind::Types => "USAGE",
            DefaultKind::Functions => "EXECUTE",
            DefaultKind::Tables | DefaultKind::Sequences | DefaultKind::Schemas => {
                return Vec::new();
            }
        };
        let privileges = vec![privilege.to_owned()];
        vec![Grant { role: PUBLIC, privileges, grant_option: false }]
    }
}

impl DefaultPrivileges {
    /// The grants without which the entry says nothing.
    pub fn neutral_grants(&self) -> Vec<Grant> {
        if self.schema.is_some() { Vec::new() } else { self.kind.built_in_grants() }
    }

    /// The entry as messages describe it, of objects whose role and schema have these names.
    pub fn describe(&self, role: &str, schema: Option<&str>) -> String {
        let kind = match self.kind {
            DefaultKind::Tables => "relations",
            DefaultKind::Sequences => "sequences",
            DefaultKind::Functions => "functions",
            DefaultKind::Types => "types",
            DefaultKind::Schemas => "schemas",
        };
        let text = format!("default privileges on new {kind} belonging to role {role}");
        schema.map_or_else(|| text.clone(), |schema| format!("{text} in schema {schema}"))
    }
}

impl Database {
    /// The place of the default privileges of a role for a kind, in one schema or in all.
    pub fn place_of_default(
        &self,
        role: Id,
        schema: Option<Id>,
        kind: DefaultKind,
    ) -> Option<usize> {
        let entries = &mut self.default_privileges.iter();
        entries.position(|entry| (entry.role, entry.schema, entry.kind) == (role, schema, kind))
    }

    /// The grants with which a new object of that owner begins.
    pub fn new_grants(&self, owner: Id, schema: Option<Id>, kind: DefaultKind) -> Vec<Grant> {
        let grants_of = |schema| {
            let place = self.place_of_default(owner, schema, kind)?;
            Some(self.default_privileges.get(place)?.grants.clone())
        };
        let mut grants = grants_of(None).unwrap_or_else(|| kind.built_in_grants());
        for more in schema.and_then(|schema| grants_of(Some(schema))).unwrap_or_default() {
            if more.role != owner {
                Grant::add(&mut grants, more.role, &more.privileges, more.grant_option);
            }
        }
        grants.sort_by_key(|grant| grant.role);
        grants
    }
}

impl Grant {
    /// Adds privileges of a role to grants.
    pub fn add(grants: &mut Vec<Grant>, role: Id, names: &[String], grant_option: bool) {
        let same = |grant: &&mut Grant| grant.role == role && grant.grant_option == grant_option;
        let Some(grant) = grants.iter_mut().find(same) else {
            grants.push(Grant { role, privileges: names.to_vec(), grant_option });
            return;
        };
        for name in names {
            if !grant.privileges.contains(name) {
                grant.privileges.push(name.clone());
            }
        }
    }

    /// Takes privileges of a role from grants, or only the right to grant them on.
    pub fn take(grants: &mut Vec<Grant>, role: Id, names: &[String], only_option: bool) {
        let mut kept = Vec::new();
        for grant in grants.iter_mut().filter(|grant| grant.role == role) {
            if only_option && grant.grant_option {
                kept.extend(grant.privileges.iter().filter(|name| names.contains(name)).cloned());
            }
            if !only_option || grant.grant_option {
                grant.privileges.retain(|name| !names.contains(name));
            }
        }
        grants.retain(|grant| !grant.privileges.is_empty());
        if !kept.is_empty() {
            grants.push(Grant { role, privileges: kept, grant_option: false });
        }
    }
}
