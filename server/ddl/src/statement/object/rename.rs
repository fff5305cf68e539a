//! ALTER … RENAME, SET SCHEMA, OWNER TO.

use braid_catalog::{
    Id, Index, Object, Owned, Relation, Schema, Sequence, StoredExpr, Table, View, is_temporary,
};
use braid_sql::ast::{AlterTarget, Ident, ObjectName, Rename, RenameKind};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{
    is_system_column, last, parts, unchangeable_column, undefined, undefined_column, wrong_kind,
};
use crate::names::owner::{check_new_owner, check_schema_name, schema_content};
use crate::names::types::check_free_type;
use crate::names::user_types::named_domain;
use crate::statement::object::sequence::owned_sequences;
use crate::statement::object::view::store_views;
use crate::statement::object::{collation, database, statistics};
use crate::statement::policy;
use crate::statement::routine;
use crate::statement::trigger;
use crate::statement::types::composites::{self, named_composite, refuse_composite};
use crate::statement::types::{domains, enums};
use crate::table::columns::check_column_name;
use crate::table::constraint_names::check_constraint_name;
use crate::table::descriptor::undefined_constraint;
use crate::table::expr_text::{rename_column, rename_table};

pub(crate) fn run(cx: &mut DdlContext<'_>, statement: &Rename) -> Result<String> {
    let (kind, name) = match &statement.target {
        AlterTarget::Table(name) => ("table", name),
        AlterTarget::Index(name) => ("index", name),
        AlterTarget::View(name) => ("view", name),
        AlterTarget::MaterializedView(name) => ("materialized view", name),
        AlterTarget::Sequence(name) => ("sequence", name),
        AlterTarget::Schema(name) => {
            schema(cx, name, &statement.kind)?;
            return Ok("ALTER SCHEMA".to_owned());
        }
        AlterTarget::Type(name) => {
            match named_domain(cx, name)? {
                Some(_) => domains::rename(cx, name, &statement.kind)?,
                None => match named_composite(cx, name)? {
                    Some(found) => composites::rename(cx, &found, &statement.kind)?,
                    None => enums::rename(cx, name, &statement.kind)?,
                },
            }
            return Ok("ALTER TYPE".to_owned());
        }
        AlterTarget::Collation(_) | AlterTarget::Statistics(_) | AlterTarget::Domain(_) => {
            return of_one_schema(cx, statement);
        }
        AlterTarget::Trigger { name, table } => {
            trigger::rename(cx, &fold(name), table, &statement.kind)?;
            return Ok("ALTER TRIGGER".to_owned());
        }
        AlterTarget::Policy { name, table } => {
            policy::rename(cx, &fold(name), table, (&statement.kind, statement.if_exists))?;
            return Ok("ALTER POLICY".to_owned());
        }
        AlterTarget::Routine(name) => return routine::rename(cx, name, &statement.kind),
        AlterTarget::Database(name) => {
            database::rename(cx, name, &statement.kind)?;
            return Ok("ALTER DATABASE".to_owned());
        }
    };
    let tag = format!("ALTER {}", kind.to_uppercase());
    refuse_composite(cx, name)?;
    let Some(found) = cx.find(name)? else {
        let written = parts(name);
        let message = format!("relation \"{}\" does not exist", written.join("."));
        if !statement.if_exists {
            return Err(undefined("relation", &written));
        }
        cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
        return Ok(tag);
    };
    cx.check_owner(Object::from(&found))?;
    if let RenameKind::To(_) | RenameKind::SetSchema(_) | RenameKind::Column { .. } =
        &statement.kind
    {
        store_views(cx, |view| view.depends_on.contains(&found.oid()), false)?;
    }
    check_kind(&found, kind, &statement.kind)?;
    match &statement.kind {
        RenameKind::To(new) => to(cx, &found, &fold(new))?,
        RenameKind::Column { from, to } => column(cx, &found, &fold(from), &fold(to))?,
        RenameKind::Constraint { from, to } => constraint(cx, &found, &fold(from), &fold(to))?,
        RenameKind::SetSchema(schema) => set_schema(cx, &found, &fold(schema))?,
        RenameKind::OwnerTo(role) => change_owner(cx, &found, role)?,
    }
    Ok(tag)
}

/// Collations, statistics objects and domains.
fn of_one_schema(cx: &mut DdlContext<'_>, statement: &Rename) -> Result<String> {
    let tag = match &statement.target {
        AlterTarget::Collation(name) => {
            collation::rename(cx, name, &statement.kind)?;
            "ALTER COLLATION"
        }
        AlterTarget::Statistics(name) => {
            statistics::rename(cx, name, &statement.kind)?;
            "ALTER STATISTICS"
        }
        other => {
            domains::rename(cx, other.name(), &statement.kind)?;
            "ALTER DOMAIN"
        }
    };
    Ok(tag.to_owned())
}

/// 42809 for a relation of another kind. ALTER TABLE takes every kind, as in PostgreSQL, and ALTER
/// INDEX renames tables.
fn check_kind(found: &Relation, kind: &str, change: &RenameKind) -> Result<()> {
    let renames_table =
        kind == "index" && matches!((change, found), (RenameKind::To(_), Relation::Table(_)));
    match kind == "table" || found.kind() == kind || renames_table {
        true => Ok(()),
        false => Err(wrong_kind(found.name(), kind)),
    }
}

/// `OWNER TO` of any relation. A sequence that belongs to a column goes with its table only.
pub(crate) fn change_owner(cx: &mut DdlContext<'_>, found: &Relation, role: &Ident) -> Result<()> {
    cx.check_owner(Object::from(found))?;
    let owner = cx.role(role)?;
    let catalog = cx.catalog();
    if let Relation::Sequence(sequence) = found
        && sequence.owner != owner
        && let Some(table) = sequence.owned_by.and_then(|(table, _)| catalog.table(table))
    {
        let (name, table) = (&sequence.name, &table.name);
        let message = format!("cannot change owner of sequence \"{name}\"");
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .detail(format!("Sequence \"{name}\" is linked to table \"{table}\".")));
    }
    set_owner(cx, found, owner)
}

fn to(cx: &mut DdlContext<'_>, found: &Relation, new: &str) -> Result<()> {
    let (schema, _) = cx.catalog().names().schema_of(found);
    cx.check_free(schema, new)?;
    if let Relation::Table(_) | Relation::View(_) = found {
        check_free_type(cx, schema, new)
            .map_err(|error| Error::new(error.state(), error.message()))?;
    }
    match found {
        Relation::Table(table) => {
            let mut table = Table::clone(table);
            let old = std::mem::replace(&mut table.name, new.to_owned());
            change_expressions(&mut table, |text| rename_table(text, &old, new));
            cx.draft()?.put(table);
        }
        Relation::View(view) => {
            let mut view = View::clone(view);
            view.name = new.to_owned();
            cx.draft()?.put(view);
        }
        Relation::Sequence(sequence) => {
            let mut sequence = Sequence::clone(sequence);
            sequence.name = new.to_owned();
            cx.draft()?.put(sequence);
        }
        Relation::Index(table, index) => {
            let mut table = Table::clone(table);
            rename_index(&mut table, index.number, new);
            cx.draft()?.put(table);
        }
        Relation::Virtual(_) | Relation::Composite(_) => {}
    }
    Ok(())
}

fn rename_index(table: &mut Table, number: braid_catalog::IndexNumber, new: &str) {
    if table.primary.number == number {
        table.primary.name = new.to_owned();
    }
    for index in table.indexes.iter_mut().filter(|index| index.number == number) {
        index.name = new.to_owned();
    }
}

/// Changes every expression over a table's columns that is kept as it was written.
fn change_expressions(table: &mut Table, change: impl Fn(&str) -> String) {
    let checks = table.checks.iter_mut().map(|check| &mut check.expr);
    let generated = table.columns.iter_mut().filter_map(|column| column.generated.as_mut());
    let predicates = table.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
    for expr in checks.chain(generated).chain(predicates) {
        if let StoredExpr::Written(text) = expr {
            *text = change(text);
        }
    }
}

fn column(cx: &mut DdlContext<'_>, found: &Relation, from: &str, to: &str) -> Result<()> {
    match found {
        Relation::Table(table) => {
            let mut changed = Table::clone(table);
            let Some(place) = table.columns.iter().position(|c| c.name == from && !c.hidden) else {
                return Err(unchangeable_column(&table.name, from, "rename"));
            };
            if let Err(error) = check_column_name(table, to) {
                if is_system_column(to) {
                    return Err(error);
                }
                let relation = &table.name;
                let message = format!("column \"{to}\" of relation \"{relation}\" already exists");
                return Err(Error::new(SqlState::DuplicateColumn, message));
            }
            check_not_inherited(cx, table, from, "column")?;
            changed.columns[place].name = to.to_owned();
            change_expressions(&mut changed, |text| rename_column(text, from, to));
            cx.draft()?.put(changed);
            for id in partitions_of(table) {
                let Some(heir) = cx.catalog().table(id).cloned() else { continue };
                rename_in(cx, &heir, from, to)?;
            }
        }
        Relation::View(view) => {
            let mut changed = View::clone(view);
            let Some(column) = changed.columns.iter_mut().find(|(name, _)| name == from) else {
                return Err(undefined_column(&view.name, from));
            };
            column.0 = to.to_owned();
            cx.draft()?.put(changed);
        }
        other => return Err(wrong_kind(other.name(), "table")),
    }
    Ok(())
}

fn partitions_of(table: &Table) -> Vec<Id> {
    table.partitioning.iter().flat_map(|keys| keys.partitions.clone()).collect()
}

/// Renames a column of a partition, and of those below it.
fn rename_in(cx: &mut DdlContext<'_>, table: &Table, from: &str, to: &str) -> Result<()> {
    store_views(cx, |view| view.depends_on.contains(&table.id), false)?;
    let mut changed = table.clone();
    if let Some(column) = changed.columns.iter_mut().find(|c| c.name == from && !c.hidden) {
        column.name = to.to_owned();
    }
    change_expressions(&mut changed, |text| rename_column(text, from, to));
    cx.draft()?.put(changed);
    for id in partitions_of(table) {
        let Some(heir) = cx.catalog().table(id).cloned() else { continue };
        rename_in(cx, &heir, from, to)?;
    }
    Ok(())
}

/// 42P16 for a column or constraint that a partition has from its parent.
fn check_not_inherited(cx: &DdlContext<'_>, table: &Table, name: &str, what: &str) -> Result<()> {
    let Some(part) = &table.partition_of else { return Ok(()) };
    let catalog = cx.catalog();
    let Some(parent) = catalog.table(part.parent) else { return Ok(()) };
    let inherited = match what {
        "column" => parent.visible_columns().any(|column| column.name == name),
        _ => {
            parent.checks.iter().any(|check| check.name == name)
                || parent.foreign_keys.iter().any(|key| key.name == name)
        }
    };
    if !inherited {
        return Ok(());
    }
    let message = format!("cannot rename inherited {what} \"{name}\"");
    Err(Error::new(SqlState::InvalidTableDefinition, message))
}

fn constraint(cx: &mut DdlContext<'_>, found: &Relation, from: &str, to: &str) -> Result<()> {
    let Relation::Table(table) = found else { return Err(wrong_kind(found.name(), "table")) };
    check_not_inherited(cx, table, from, "constraint")?;
    rename_constraint(cx, table, from, to)?;
    rename_inherited(cx, table, from, to)
}

/// Renames a constraint of the partitions of a table.
fn rename_inherited(cx: &mut DdlContext<'_>, table: &Table, from: &str, to: &str) -> Result<()> {
    for id in partitions_of(table) {
        let Some(heir) = cx.catalog().table(id).cloned() else { continue };
        let has = heir.checks.iter().any(|check| check.name == from)
            || heir.foreign_keys.iter().any(|key| key.name == from);
        if has {
            rename_constraint(cx, &heir, from, to)?;
        }
        rename_inherited(cx, &heir, from, to)?;
    }
    Ok(())
}

fn rename_constraint(cx: &mut DdlContext<'_>, table: &Table, from: &str, to: &str) -> Result<()> {
    let is_key = |index: &&Index| index.name == from && index.constraint.is_some();
    let is_known = table.checks.iter().any(|check| check.name == from)
        || table.foreign_keys.iter().any(|key| key.name == from)
        || table.all_indexes().any(|index| is_key(&index));
    if !is_known {
        let message = format!("constraint \"{from}\" for table \"{}\" does not exist", table.name);
        return Err(Error::new(SqlState::UndefinedObject, message));
    }
    check_constraint_name(table, to)?;
    let mut changed = Table::clone(table);
    let check = changed.checks.iter_mut().find(|check| check.name == from);
    let key = changed.foreign_keys.iter_mut().find(|key| key.name == from);
    if let Some(check) = check {
        check.name = to.to_owned();
    } else if let Some(key) = key {
        key.name = to.to_owned();
    } else {
        let index = table.all_indexes().find(is_key);
        let Some(index) = index else { return Err(undefined_constraint(table, from)) };
        cx.check_free(table.schema, to)?;
        rename_index(&mut changed, index.number, to);
    }
    cx.draft()?.put(changed);
    Ok(())
}

fn set_schema(cx: &mut DdlContext<'_>, found: &Relation, schema: &str) -> Result<()> {
    let schema = cx.schema(schema)?;
    if is_temporary(schema.id) != is_temporary(found.oid()) {
        let message = "cannot move objects into or out of temporary schemas";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    cx.catalog().privileges().check(cx.user(), Object::Schema(&schema), "CREATE")?;
    let (old, _) = cx.catalog().names().schema_of(found);
    if old == schema.id {
        return Ok(());
    }
    cx.check_free(schema.id, found.name()).map_err(|_| {
        let message =
            format!("relation \"{}\" already exists in schema \"{}\"", found.name(), schema.name);
        Error::new(SqlState::DuplicateTable, message)
    })?;
    match found {
        Relation::Table(table) => {
            let mut changed = Table::clone(table);
            changed.schema = schema.id;
            let sequences: Vec<Id> = owned_sequences(&cx.catalog(), table.id, None).collect();
            cx.draft()?.put(changed);
            for id in sequences {
                if let Some(sequence) = cx.catalog().sequences().get(id) {
                    let mut sequence = Sequence::clone(sequence);
                    sequence.schema = schema.id;
                    cx.draft()?.put(sequence);
                }
            }
        }
        Relation::View(view) => {
            let mut view = View::clone(view);
            view.schema = schema.id;
            cx.draft()?.put(view);
        }
        Relation::Sequence(sequence) => {
            if sequence.owned_by.is_some() {
                let message = "cannot move an owned sequence into another schema";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            let mut sequence = Sequence::clone(sequence);
            sequence.schema = schema.id;
            cx.draft()?.put(sequence);
        }
        other => return Err(wrong_kind(other.name(), "table")),
    }
    Ok(())
}

fn set_owner(cx: &mut DdlContext<'_>, found: &Relation, owner: Id) -> Result<()> {
    check_new_owner(cx, owner)?;
    match found {
        Relation::Table(table) => set_table_owner(cx, table, owner)?,
        Relation::View(view) => {
            let mut view = View::clone(view);
            view.set_owner(owner);
            cx.draft()?.put(view);
        }
        Relation::Sequence(sequence) => {
            let mut sequence = Sequence::clone(sequence);
            sequence.set_owner(owner);
            cx.draft()?.put(sequence);
        }
        other => return Err(wrong_kind(other.name(), "table")),
    }
    Ok(())
}

/// Gives a table and its sequences to another role.
pub(crate) fn set_table_owner(cx: &mut DdlContext<'_>, table: &Table, owner: Id) -> Result<()> {
    check_new_owner(cx, owner)?;
    let mut changed = Table::clone(table);
    changed.set_owner(owner);
    cx.draft()?.put(changed);
    let sequences: Vec<Id> = owned_sequences(&cx.catalog(), table.id, None).collect();
    for id in sequences {
        if let Some(sequence) = cx.catalog().sequences().get(id) {
            let mut sequence = Sequence::clone(sequence);
            sequence.set_owner(owner);
            cx.draft()?.put(sequence);
        }
    }
    Ok(())
}

fn schema(cx: &mut DdlContext<'_>, name: &ObjectName, kind: &RenameKind) -> Result<()> {
    let schema = cx.schema(&last(name))?;
    cx.check_owner(Object::Schema(&schema))?;
    if let RenameKind::To(_) = kind {
        let catalog = cx.catalog();
        let inside = schema_content(&catalog, schema.id);
        store_views(cx, |view| view.depends_on.iter().any(|id| inside.contains(id)), false)?;
    }
    let mut changed = Schema::clone(&schema);
    match kind {
        RenameKind::To(new) => {
            let new = fold(new);
            check_schema_name(cx, &new)?;
            changed.name = new;
        }
        RenameKind::OwnerTo(role) => {
            changed.set_owner(owner(cx, role)?);
        }
        _ => return Err(Error::unsupported("this form of ALTER SCHEMA")),
    }
    cx.draft()?.put(changed);
    Ok(())
}

fn owner(cx: &DdlContext<'_>, role: &Ident) -> Result<Id> {
    let owner = cx.role(role)?;
    check_new_owner(cx, owner)?;
    Ok(owner)
}
