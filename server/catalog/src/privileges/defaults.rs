//! Default privileges: the grants with which new objects begin.
//!
//! Rules, PostgreSQL's: those of a role for all schemas stand in place of the built-in ones; those
//! for one schema are added. The owner of the new object decides whose default privileges count.

use super::acl::Acl;
use super::rights::Rights;
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
        vec![Grant::of_owner(PUBLIC, &[privilege])]
    }
}

impl DefaultPrivileges {
    /// The grants without which the entry says nothing.
    pub fn neutral_grants(&self) -> Vec<Grant> {
        if self.schema.is_some() { Vec::new() } else { self.kind.built_in_grants() }
    }

    /// The entry with an ACL. `None` if new objects begin with that anyway.
    #[must_use]
    pub fn with_acl(mut self, mut acl: Acl) -> Option<Self> {
        self.grants = self.neutral_grants();
        let mut neutral = Acl::of_default(&self);
        neutral.sort();
        acl.sort();
        self.grants = acl.stored();
        (acl != neutral).then_some(self)
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
        let entry_of = |schema| {
            let place = self.place_of_default(owner, schema, kind)?;
            self.default_privileges.get(place)
        };
        let (everywhere, here) = (entry_of(None), schema.and_then(|id| entry_of(Some(id))));
        if everywhere.is_none() && here.is_none() {
            return kind.built_in_grants();
        }
        let all = Rights::of(kind.all_privileges().iter().copied());
        let mut built_in = Acl::whole((owner, None), &kind.built_in_grants(), all);
        let mut acl = everywhere.map_or_else(|| built_in.clone(), Acl::of_default);
        if let Some(here) = here {
            acl.absorb(&Acl::of_default(here));
        }
        built_in.sort();
        acl.sort();
        if acl == built_in { kind.built_in_grants() } else { acl.stored() }
    }
}
