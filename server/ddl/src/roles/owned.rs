//! DROP OWNED and REASSIGN OWNED: what roles own in the session's database, and the databases.

use std::collections::BTreeSet;

use braid_catalog::{
    Catalog, Database, Domain, Draft, Enum, Id, Object, Owned, ROOT, Relation, Rights, Routine,
    RowSecurity, Schema, Table,
};
use braid_exec::{all_large_objects, drop_large_object, put_large_object};
use braid_sql::ast::{DropBehavior, OwnedBy};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::owner::schema_content;
use crate::names::user_types::UserType;
use crate::roles::default_privileges::without_roles;
use crate::roles::grant::{Change, Subject, Target, change_acl, revoke_from};
use crate::roles::holdings::names_role;
use crate::statement::drop::relations::drop_relations;
use crate::statement::drop::schema::drop_schema;
use crate::statement::object::collation::refuse_used;
use crate::statement::object::statistics;
use crate::statement::policy::without_roles as policies_without_roles;
use crate::statement::types::drop_type::{drop_routine_of, drop_type};

/// The roles named. 42704 for one that does not exist, 42501 for one that is not the user's.
fn roles(cx: &DdlContext<'_>, statement: &OwnedBy, action: &str) -> Result<Vec<Id>> {
    let roles: Vec<Id> = statement.roles.iter().map(|role| cx.role(role)).collect::<Result<_>>()?;
    for role in &roles {
        check_member(cx, *role, action)?;
    }
    if roles.contains(&ROOT) {
        let what = match &statement.to {
            Some(_) => "reassign ownership of",
            None => "drop",
        };
        let name = cx.catalog().role_name(ROOT);
        let message = format!(
            "cannot {what} objects owned by role {name} because they are required by the \
             database system"
        );
        return Err(Error::new(SqlState::DependentObjectsStillExist, message));
    }
    Ok(roles)
}

fn check_member(cx: &DdlContext<'_>, role: Id, action: &str) -> Result<()> {
    if cx.catalog().privileges().acts_as(cx.user(), role) {
        return Ok(());
    }
    let message = format!("permission denied to {action} objects");
    Err(Error::new(SqlState::InsufficientPrivilege, message))
}

/// The tables, views, sequences and composite types of a database.
fn relations_of(catalog: &Catalog, database: Id) -> Vec<Relation> {
    let tables = catalog.tables().in_database(database).cloned().map(Relation::Table);
    let views = catalog.views().in_database(database).cloned().map(Relation::View);
    let sequences = catalog.sequences().iter().filter(|sequence| sequence.database == database);
    let sequences = sequences.cloned().map(Relation::Sequence);
    let composites = catalog.names().composites().in_database(database).cloned();
    tables.chain(views).chain(sequences).chain(composites.map(Relation::Composite)).collect()
}

/// REASSIGN OWNED.
pub(crate) async fn reassign(cx: &mut DdlContext<'_>, statement: &OwnedBy) -> Result<()> {
    let roles = roles(cx, statement, "reassign")?;
    let Some(to) = &statement.to else {
        return Err(Error::internal("REASSIGN OWNED without a new owner"));
    };
    let owner = cx.role(to)?;
    check_member(cx, owner, "reassign")?;
    let catalog = cx.catalog();
    let here = cx.path().database;
    let draft = cx.draft()?;
    for relation in relations_of(&catalog, here) {
        match relation {
            Relation::Table(table) if roles.contains(&table.owner) => {
                draft.put(given(&*table, owner));
            }
            Relation::View(view) if roles.contains(&view.owner) => {
                draft.put(given(&*view, owner));
            }
            Relation::Sequence(sequence) if roles.contains(&sequence.owner) => {
                draft.put(given(&*sequence, owner));
            }
            Relation::Composite(found) if roles.contains(&found.owner) => {
                draft.put(given(&*found, owner));
            }
            _ => {}
        }
    }
    for found in catalog.enums().in_database(here).filter(|found| roles.contains(&found.owner)) {
        draft.put(given::<Enum>(found, owner));
    }
    for found in catalog.domains().in_database(here).filter(|found| roles.contains(&found.owner)) {
        draft.put(given::<Domain>(found, owner));
    }
    for found in
        catalog.names().routines().in_database(here).filter(|found| roles.contains(&found.owner))
    {
        draft.put(given::<Routine>(found, owner));
    }
    reassign_schemas(draft, here, &roles, owner);
    for database in catalog.databases().iter().filter(|database| roles.contains(&database.owner)) {
        draft.put(given::<Database>(database, owner));
    }
    statistics::leave_owners(cx, here, &roles, Some(owner))?;
    for object in all_large_objects(cx.exec).await? {
        if roles.contains(&object.owner) {
            put_large_object(cx.exec, &given(&object, owner))?;
        }
    }
    Ok(())
}

/// An object with its new owner.
fn given<T: Owned + Clone>(object: &T, owner: Id) -> T {
    let mut object = object.clone();
    object.set_owner(owner);
    object
}

/// Gives schemas, and the collations in any schema, their new owner.
fn reassign_schemas(draft: &mut Draft, database: Id, roles: &[Id], owner: Id) {
    let catalog = draft.catalog().clone();
    for schema in catalog.schemas().in_database(database) {
        let owners = schema.collations.iter().map(|own| own.owner).chain([schema.owner]);
        if !owners.into_iter().any(|owner| roles.contains(&owner)) {
            continue;
        }
        let mut changed = Schema::clone(schema);
        for own in changed.collations.iter_mut().filter(|own| roles.contains(&own.owner)) {
            own.owner = owner;
        }
        if roles.contains(&changed.owner) {
            changed.set_owner(owner);
        }
        draft.put(changed);
    }
}

/// DROP OWNED: drops what the roles own in this database, and revokes what they were granted.
pub(crate) async fn drop(cx: &mut DdlContext<'_>, statement: &OwnedBy) -> Result<()> {
    let roles = roles(cx, statement, "drop")?;
    let here = cx.path().database;
    let catalog = cx.catalog();
    let is_doomed = |relation: &Relation| {
        let is_part = matches!(relation, Relation::Sequence(s) if s.owned_by.is_some());
        let is_type = matches!(relation, Relation::Composite(_));
        roles.contains(&Object::from(relation).owner()) && !is_part && !is_type
    };
    let doomed: BTreeSet<Id> =
        relations_of(&catalog, here).iter().filter(|r| is_doomed(r)).map(Relation::oid).collect();
    let enums = catalog.enums().in_database(here).map(|found| (found.id, found.owner));
    let domains = catalog.domains().in_database(here).map(|found| (found.id, found.owner));
    let composites =
        catalog.names().composites().in_database(here).map(|found| (found.id, found.owner));
    let types = enums.chain(domains).chain(composites).filter(|(_, owner)| roles.contains(owner));
    let types: Vec<Id> = types.map(|(id, _)| id).collect();
    drop_relations(cx, doomed, statement.behavior)?;
    for id in types {
        if let Some(found) = UserType::by_id(&cx.catalog(), id) {
            drop_type(cx, &found, statement.behavior).await?;
        }
    }
    let all = catalog.names().routines();
    let routines = || all.in_database(here).filter(|found| roles.contains(&found.owner));
    let going: BTreeSet<Id> = routines().map(|found| found.id).collect();
    for found in routines() {
        // It may have gone with one before it.
        if cx.catalog().names().routines().get(found.id).is_some() {
            drop_routine_of(cx, found, &going, statement.behavior).await?;
        }
    }
    let schemas: Vec<(Id, String)> = catalog
        .schemas()
        .in_database(here)
        .filter(|schema| roles.contains(&schema.owner))
        .map(|schema| (schema.id, schema.name.clone()))
        .collect();
    let now = cx.catalog();
    let going = schemas.iter().flat_map(|(schema, _)| schema_content(&now, *schema));
    let going: Vec<Id> = going.collect();
    drop_collations(cx, (here, &roles), &going)?;
    statistics::leave_owners(cx, here, &roles, None)?;
    for (schema, name) in schemas {
        let inside = schema_content(&cx.catalog(), schema);
        if !inside.is_empty() && statement.behavior == DropBehavior::Restrict {
            let message = format!("cannot drop schema {name} because other objects depend on it");
            return Err(Error::new(SqlState::DependentObjectsStillExist, message)
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        drop_schema(cx, schema, &inside, true).await?;
    }
    revoke_all(cx, here, &roles)?;
    drop_large_objects(cx, &roles).await
}

/// Drops the collations that the roles own. 2BP01 for one that something uses which stays.
fn drop_collations(
    cx: &mut DdlContext<'_>,
    (database, roles): (Id, &[Id]),
    going: &[Id],
) -> Result<()> {
    let catalog = cx.catalog();
    for schema in catalog.schemas().in_database(database) {
        let mut changed = Schema::clone(schema);
        changed.collations.retain(|collation| !roles.contains(&collation.owner));
        for collation in schema.collations.iter().filter(|own| roles.contains(&own.owner)) {
            refuse_used(cx, collation, ("desired object(s)", "them"), going)?;
        }
        if changed.collations.len() < schema.collations.len() {
            cx.draft()?.put(changed);
        }
    }
    Ok(())
}

/// Drops the large objects that the roles own, and revokes what they were granted on others.
async fn drop_large_objects(cx: &mut DdlContext<'_>, roles: &[Id]) -> Result<()> {
    for object in all_large_objects(cx.exec).await? {
        if roles.contains(&object.owner) {
            drop_large_object(cx.exec, object.id).await?;
            continue;
        }
        let mut object = object;
        for role in roles {
            if !names_role(&object.grants, *role) {
                continue;
            }
            let known = Object::LargeObject(&object);
            let all = Rights::of(known.all_privileges().iter().copied());
            let subject = Subject { object: known, column: None };
            let change = Change::revoke_all(vec![*role]);
            object.grants = change_acl(cx, subject, (all, true), &change)?;
            put_large_object(cx.exec, &object)?;
        }
    }
    Ok(())
}

/// Everything in a database that can have grants, and all databases.
fn targets(catalog: &Catalog, database: Id) -> Vec<Target> {
    let relations = relations_of(catalog, database).into_iter().map(Target::Relation);
    let enums = catalog.enums().in_database(database);
    let enums = enums.map(|found| Target::Enum(Enum::clone(found)));
    let domains = catalog.domains().in_database(database);
    let domains = domains.map(|found| Target::Domain(Domain::clone(found)));
    let routines = catalog.names().routines();
    let routines = routines.in_database(database);
    let routines = routines.map(|found| Target::Routine(Routine::clone(found)));
    let schemas = catalog.schemas().in_database(database);
    let schemas = schemas.map(|found| Target::Schema(Schema::clone(found)));
    let databases = catalog.databases().iter();
    let databases = databases.map(|found| Target::Database(Database::clone(found)));
    relations.chain(enums).chain(domains).chain(routines).chain(schemas).chain(databases).collect()
}

/// Revokes what the roles were granted, as far as the user may, and what they granted with it.
fn revoke_all(cx: &mut DdlContext<'_>, database: Id, roles: &[Id]) -> Result<()> {
    let catalog = cx.catalog();
    let draft = cx.draft()?;
    for table in catalog.tables().in_database(database) {
        if let Some(policies) = policies_without_roles(table, roles) {
            let security = RowSecurity { policies, ..table.security.clone() };
            draft.put(Table { security, ..Table::clone(table) });
        }
    }
    for role in roles {
        let change = Change::revoke_all(vec![*role]);
        for target in targets(&cx.catalog(), database) {
            let object = target.object();
            let is_named = object.all_grants().any(|grants| names_role(grants, *role));
            if is_named && object.owner() != *role {
                revoke_from(cx, &target, &change)?;
            }
        }
    }
    let here = cx.catalog().database(database).cloned();
    let Some(here) = here else { return Ok(()) };
    if let Some(default_privileges) = without_roles(cx, &here, roles)? {
        cx.draft()?.put(Database { default_privileges, ..Database::clone(&here) });
    }
    Ok(())
}
