//! What keeps a role from being dropped: what it owns, and what it was granted.

use std::collections::BTreeMap;

use braid_catalog::{Catalog, Collations, Database, Grant, Id, Object, StatisticsObjects};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::statement::policy::describe_policy;

/// Whether a role is the grantee or the grantor of some grants.
pub(super) fn names_role(grants: &[Grant], role: Id) -> bool {
    grants.iter().any(|grant| grant.role == role || grant.grantor == Some(role))
}

/// What a role has, found by looking at one object after the other.
struct Found {
    role: Id,
    /// The session's database.
    here: Id,
    /// The objects here and those of no database, with their ids.
    lines: Vec<(Id, String)>,
    /// How many objects there are in other databases.
    elsewhere: BTreeMap<Id, usize>,
}

impl Found {
    /// Notes an object of a database, or of none, if it is the role's or has grants for it.
    fn look(
        &mut self,
        id: Id,
        database: Option<Id>,
        (owner, grants): (Id, &[Grant]),
        text: impl FnOnce() -> String,
    ) {
        let has = match owner == self.role {
            true => "owner of",
            false if names_role(grants, self.role) => "privileges for",
            false => return,
        };
        match database.filter(|database| *database != self.here) {
            Some(other) => *self.elsewhere.entry(other).or_default() += 1,
            None => self.lines.push((id, format!("{has} {}", text()))),
        }
    }

    fn look_at(&mut self, id: Id, object: Object<'_>, text: impl FnOnce() -> String) {
        self.look(id, object.database(), (object.owner(), object.grants()), text);
    }
}

/// What a role owns or was granted, as lines of a detail. As in PostgreSQL, the oldest come first,
/// and objects of other databases are only counted.
pub(super) fn holdings(cx: &DdlContext<'_>, role: Id) -> Vec<String> {
    let catalog = cx.catalog();
    let here = cx.path().database;
    let mut found = Found { role, here, lines: Vec::new(), elsewhere: BTreeMap::new() };
    let name = |id: Id| describe(cx, &catalog, id);
    catalog.tables().iter().for_each(|t| found.look_at(t.id, Object::Table(t), || name(t.id)));
    look_at_policies(cx, &catalog, &mut found);
    look_at_columns(cx, &catalog, &mut found);
    catalog.views().iter().for_each(|v| found.look_at(v.id, Object::View(v), || name(v.id)));
    for (schema, own) in Collations::of(&catalog).iter() {
        let owned = (own.owner, &[][..]);
        found.look(own.id, Some(schema.database), owned, || format!("collation {}", own.name));
    }
    for (table, own) in StatisticsObjects::of(&catalog).iter() {
        let owned = (own.owner, &[][..]);
        found.look(own.id, Some(table.database), owned, || {
            format!("statistics object {}", own.name)
        });
    }
    catalog.sequences().iter().for_each(|s| {
        found.look_at(s.id, Object::Sequence(s), || name(s.id));
    });
    catalog.enums().iter().for_each(|e| found.look_at(e.id, Object::Enum(e), || name(e.id)));
    catalog.domains().iter().for_each(|d| found.look_at(d.id, Object::Domain(d), || name(d.id)));
    catalog.names().composites().iter().for_each(|c| {
        found.look_at(c.id, Object::Composite(c), || name(c.id));
    });
    for routine in catalog.names().routines().iter() {
        let signature = || catalog.names().routines().signature(None, routine, ",");
        found.look_at(routine.id, Object::Routine(routine), || {
            format!("{} {}", routine.kind(), signature())
        });
    }
    catalog.schemas().iter().for_each(|s| {
        found.look_at(s.id, Object::Schema(s), || format!("schema {}", s.name));
    });
    for database in catalog.databases().iter() {
        let held = (database.owner, &*database.grants);
        found.look(database.id, None, held, || format!("database {}", database.name));
        look_at_defaults(&catalog, database, &mut found);
    }
    found.lines.sort_by_key(|(id, _)| *id);
    let mut lines: Vec<String> = found.lines.into_iter().map(|(_, line)| line).collect();
    for (database, count) in found.elsewhere {
        let name = catalog.database(database).map_or("", |database| &database.name);
        let objects = if count == 1 { "object" } else { "objects" };
        lines.push(format!("{count} {objects} in database {name}"));
    }
    lines
}

fn look_at_defaults(catalog: &Catalog, database: &Database, found: &mut Found) {
    for entry in &database.default_privileges {
        found.look(entry.id, Some(database.id), (entry.role, &entry.grants), || {
            let schema = entry.schema.map(|schema| catalog.schema_name(schema));
            entry.describe(&catalog.role_name(entry.role), schema.as_deref())
        });
    }
}

/// Policies that are for the role.
fn look_at_policies(cx: &DdlContext<'_>, catalog: &Catalog, found: &mut Found) {
    for table in catalog.tables().iter() {
        let policies = table.security.policies.iter();
        for policy in policies.filter(|policy| policy.roles.contains(&found.role)) {
            match table.database == found.here {
                true => {
                    let line = format!("target of {}", describe_policy(cx, table, policy));
                    found.lines.push((policy.id, line));
                }
                false => *found.elsewhere.entry(table.database).or_default() += 1,
            }
        }
    }
}

/// Privileges on single columns.
fn look_at_columns(cx: &DdlContext<'_>, catalog: &Catalog, found: &mut Found) {
    // The owner of the relation is listed with that.
    let role = found.role;
    let mut add = |id: Id, database: Id, grants: &[Grant], column: &str| {
        found.look(id, Some(database), (0, grants), || {
            format!("column {column} of {}", describe(cx, catalog, id))
        });
    };
    for table in catalog.tables().iter().filter(|table| table.owner != role) {
        for column in &table.columns {
            add(table.id, table.database, &column.grants, &column.name);
        }
    }
    for view in catalog.views().iter().filter(|view| view.owner != role) {
        for ((name, _), number) in view.columns.iter().zip(1..) {
            let grants = Object::View(view).column_grants(number);
            add(view.id, view.database, grants, name);
        }
    }
}
