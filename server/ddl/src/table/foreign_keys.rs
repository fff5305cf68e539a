//! Foreign keys of a table's descriptor.

use std::sync::Arc;

use braid_catalog::partitions::is_in_every_partition;
use braid_catalog::{
    Catalog, Column, ColumnId, ForeignKey, ForeignKeyAction, Id, Index, IndexNumber, Object, Table,
};
use braid_plan::stored_collation;
use braid_rows::may_refer;
use braid_sql::ast::{self, MatchKind, ReferenceAction};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{WrongKind, folded, is_system_column, parts};
use crate::names::temporary::check_same_lifetime;
use crate::table::constraint_names::{check_constraint_name, choose_constraint_name};
use crate::table::descriptor::{change_table, child_of};

fn action(written: ReferenceAction) -> ForeignKeyAction {
    match written {
        ReferenceAction::NoAction => ForeignKeyAction::NoAction,
        ReferenceAction::Restrict => ForeignKeyAction::Restrict,
        ReferenceAction::Cascade => ForeignKeyAction::Cascade,
        ReferenceAction::SetNull => ForeignKeyAction::SetNull,
        ReferenceAction::SetDefault => ForeignKeyAction::SetDefault,
    }
}

/// The columns of ON DELETE SET NULL or SET DEFAULT (…), which must be the foreign key's own.
fn delete_columns(table: &Table, own: &[ColumnId], names: &[String]) -> Result<Vec<ColumnId>> {
    let mut ids = referencing(table, names)?;
    for (id, name) in ids.iter().zip(names) {
        if !own.contains(id) {
            let message = format!(
                "column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"
            );
            return Err(Error::new(SqlState::InvalidColumnReference, message));
        }
    }
    let mut seen = Vec::with_capacity(ids.len());
    ids.retain(|id| {
        !seen.contains(id) && {
            seen.push(*id);
            true
        }
    });
    Ok(ids)
}

/// 42601 for an action that would set a generated column.
fn check_generated(table: &Table, ids: &[ColumnId], key: &ast::ForeignKey) -> Result<()> {
    let generated = |id: &ColumnId| table.column(*id).is_some_and(|c| c.generated.is_some());
    if !ids.iter().any(generated) {
        return Ok(());
    }
    let sets = |a| matches!(a, ReferenceAction::SetNull | ReferenceAction::SetDefault);
    let word = match (key.on_update, key.on_delete) {
        (action, _) if sets(action) || action == ReferenceAction::Cascade => "ON UPDATE",
        (_, action) if sets(action) => "ON DELETE",
        _ => return Ok(()),
    };
    let message =
        format!("invalid {word} action for foreign key constraint containing generated column");
    Err(Error::new(SqlState::SyntaxError, message))
}

fn referencing(table: &Table, names: &[String]) -> Result<Vec<ColumnId>> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let Some(column) = table.visible_columns().find(|column| column.name == *name) else {
            if is_system_column(name) {
                let message = "system columns cannot be used in foreign keys";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            let message =
                format!("column \"{name}\" referenced in foreign key constraint does not exist");
            return Err(Error::new(SqlState::UndefinedColumn, message));
        };
        ids.push(column.id);
    }
    Ok(ids)
}

/// The unique index of the parent over exactly these columns. It is a deferrable one if there is no
/// other.
fn matching_index<'t>(parent: &'t Table, columns: &[ColumnId]) -> Option<&'t Index> {
    let fits = |index: &&Index| {
        index.declares_unique()
            && index.predicate.is_none()
            && index.keys.len() == columns.len()
            && index.keys.iter().all(|key| columns.contains(&key.column))
    };
    parent.all_indexes().filter(fits).min_by_key(|index| index.deferrable)
}

/// 0A000 for a column whose texts may be equal without having the same bytes.
fn check_collations(cx: &DdlContext<'_>, pairs: &[(&Column, &Column)]) -> Result<()> {
    let catalog = cx.catalog();
    let mut columns = pairs.iter().flat_map(|(child, parent)| [child, parent]);
    let loose = columns.find(|column| {
        let stored = column.collation.as_deref();
        stored.is_some_and(|stored| stored_collation(&catalog, stored).is_nondeterministic())
    });
    match loose {
        Some(column) => Err(loose_key(&column.name)),
        None => Ok(()),
    }
}

/// 0A000: texts of a column of a foreign key may be equal without having the same bytes.
pub(crate) fn loose_key(column: &str) -> Error {
    Error::unsupported(format!(
        "a foreign key over column \"{column}\", which has a nondeterministic collation"
    ))
}

/// Whether a foreign key of a child names one of these columns of a table on either side.
pub(crate) fn names_columns(
    (child, key): (Id, &ForeignKey),
    table: Id,
    columns: &[ColumnId],
) -> bool {
    (child == table && key.columns.iter().any(|id| columns.contains(id)))
        || (key.parent == table && key.parent_columns.iter().any(|id| columns.contains(id)))
}

/// The foreign keys of a table, and those that refer to it, which name one of these columns of the
/// table. Each with the table that has it.
pub(crate) fn keys_naming(
    catalog: &Catalog,
    table: &Arc<Table>,
    columns: &[ColumnId],
) -> Result<Vec<(Arc<Table>, ForeignKey)>> {
    let mut children = vec![table.clone()];
    for id in table.referenced_by.iter().filter(|id| **id != table.id) {
        children.push(child_of(catalog, table, *id)?.clone());
    }
    let mut found = Vec::new();
    for child in children {
        let keys = child.foreign_keys.iter();
        let named = keys.filter(|key| names_columns((child.id, key), table.id, columns));
        found.extend(named.map(|key| (child.clone(), key.clone())));
    }
    Ok(found)
}

/// 42804 if columns that refer to each other cannot be compared.
pub(crate) fn check_types(name: &str, pairs: &[(&Column, &Column)]) -> Result<()> {
    for (child, parent) in pairs {
        if !may_refer(&child.ty, &parent.ty) {
            let message = format!("foreign key constraint \"{name}\" cannot be implemented");
            let detail = format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                child.name,
                parent.name,
                child.ty.plain_name(),
                parent.ty.plain_name()
            );
            return Err(Error::new(SqlState::DatatypeMismatch, message).detail(detail));
        }
    }
    Ok(())
}

fn foreign_key_parent(
    cx: &DdlContext<'_>,
    table: &Table,
    key: &ast::ForeignKey,
) -> Result<Arc<Table>> {
    let name = parts(&key.table);
    let schema = cx.catalog().schema_name(table.schema);
    let is_self = match name.as_slice() {
        [name] => *name == table.name,
        [.., in_schema, name] => *name == table.name && *in_schema == schema,
        [] => false,
    };
    if is_self {
        return Ok(Arc::new(table.clone()));
    }
    let parent = cx.table(&key.table).map_err(|error| match error.cause::<WrongKind>() {
        Some(_) => {
            let name = name.join(".");
            let message = format!("referenced relation \"{name}\" is not a table");
            Error::new(SqlState::WrongObjectType, message)
        }
        None => error,
    })?;
    let catalog = cx.catalog();
    if !catalog.privileges().has_on_some_column(cx.user(), Object::Table(&parent), "REFERENCES") {
        return Err(catalog.privileges().denied(Object::Table(&parent)));
    }
    check_same_lifetime(table, &parent)?;
    if parent.unlogged && !table.unlogged {
        let message = "constraints on permanent tables may reference only permanent tables";
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    Ok(parent)
}

/// 42501 unless the user may refer to these columns.
fn check_may_refer(cx: &DdlContext<'_>, parent: &Table, columns: &[ColumnId]) -> Result<()> {
    let (catalog, object) = (cx.catalog(), Object::Table(parent));
    let privileges = catalog.privileges();
    let may =
        |column: &ColumnId| privileges.has_on_column(cx.user(), object, *column, "REFERENCES");
    match columns.iter().all(may) {
        true => Ok(()),
        false => Err(privileges.denied(object)),
    }
}

fn foreign_key_columns(
    parent: &Table,
    key: &ast::ForeignKey,
) -> Result<(Vec<ColumnId>, IndexNumber)> {
    if key.ref_columns.is_empty() {
        let Some(index) = parent.primary_key() else {
            let message =
                format!("there is no primary key for referenced table \"{}\"", parent.name);
            return Err(Error::new(SqlState::UndefinedObject, message));
        };
        if index.deferrable {
            return Err(is_deferrable("primary key", parent));
        }
        return Ok((index.keys.iter().map(|key| key.column).collect(), index.number));
    }
    let columns = referencing(parent, &folded(&key.ref_columns))?;
    let mut rest = columns.iter();
    while let Some(id) = rest.next() {
        if rest.as_slice().contains(id) {
            let message = "foreign key referenced-columns list must not contain duplicates";
            return Err(Error::new(SqlState::InvalidForeignKey, message));
        }
    }
    let index = matching_index(parent, &columns).ok_or_else(|| {
        let name = &parent.name;
        let message = format!(
            "there is no unique constraint matching given keys for referenced table \"{name}\""
        );
        Error::new(SqlState::InvalidForeignKey, message)
    })?;
    if index.deferrable {
        return Err(is_deferrable("unique constraint", parent));
    }
    Ok((columns, index.number))
}

/// 55000: a foreign key cannot refer to a key that may be broken for a while.
fn is_deferrable(what: &str, parent: &Table) -> Error {
    let message =
        format!("cannot use a deferrable {what} for referenced table \"{}\"", parent.name);
    Error::new(SqlState::ObjectNotInPrerequisiteState, message)
}

/// Adds a foreign key to the descriptors of table and parent; rows are not checked.
pub(crate) fn define_foreign_key(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    name: Option<String>,
    key: &ast::ForeignKey,
    columns: Vec<String>,
) -> Result<()> {
    let ids = referencing(table, &columns)?;
    let delete_columns = delete_columns(table, &ids, &folded(&key.delete_columns))?;
    let parent = foreign_key_parent(cx, table, key)?;
    let (parent_columns, parent_index) = foreign_key_columns(&parent, key)?;
    check_may_refer(cx, &parent, &parent_columns)?;
    if ids.len() != parent_columns.len() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(Error::new(SqlState::InvalidForeignKey, message));
    }
    check_generated(table, &ids, key)?;
    let name = match name {
        Some(name) => {
            check_constraint_name(table, &name)?;
            name
        }
        None => choose_constraint_name(table, Some(&columns.join("_")), "fkey"),
    };
    let pairs: Vec<(&Column, &Column)> = ids
        .iter()
        .zip(&parent_columns)
        .map(|(id, parent_id)| {
            let (own, other) = (table.place_of(*id)?, parent.place_of(*parent_id)?);
            Ok((&table.columns[own], &parent.columns[other]))
        })
        .collect::<Result<_>>()?;
    check_types(&name, &pairs)?;
    check_collations(cx, &pairs)?;
    let id = cx.draft()?.allocate_id(table.id);
    let key = ForeignKey {
        id,
        name,
        columns: ids,
        parent: parent.id,
        parent_columns,
        parent_index,
        match_full: key.match_kind == MatchKind::Full,
        on_delete: action(key.on_delete),
        on_update: action(key.on_update),
        delete_columns,
        deferrable: key.deferrable,
        initially_deferred: key.initially_deferred,
        validated: true,
        unfinished: false,
        adder: None,
        comment: None,
    };
    check_partitions_have_key(cx, &parent, &key)?;
    table.foreign_keys.push(key);
    if parent.id == table.id {
        add_reference(table, parent.id);
    } else {
        let mut parent = Table::clone(&parent);
        add_reference(&mut parent, table.id);
        cx.draft()?.put(parent);
    }
    Ok(())
}

/// 42830 unless each partition of the table that is pointed at has a part of the unique index.
fn check_partitions_have_key(cx: &DdlContext<'_>, parent: &Table, key: &ForeignKey) -> Result<()> {
    let index = parent.index(key.parent_index);
    if index.is_some_and(|index| is_in_every_partition(&cx.catalog(), parent, index)) {
        return Ok(());
    }
    let name = &parent.name;
    let message = format!(
        "there is no unique constraint matching given keys for referenced table \"{name}\""
    );
    Err(Error::new(SqlState::InvalidForeignKey, message))
}

/// Gives a partition the foreign keys of its parent; one that is there already is taken for it.
pub(crate) fn copy_foreign_keys(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: &Table,
) -> Result<()> {
    let own = |table: &Table, ids: &[ColumnId]| {
        let name = |id: &ColumnId| Ok(parent.columns[parent.place_of(*id)?].name.clone());
        referencing(table, &ids.iter().map(name).collect::<Result<Vec<String>>>()?)
    };
    for key in &parent.foreign_keys {
        let columns = own(table, &key.columns)?;
        let is_same = |known: &&mut ForeignKey| {
            known.columns == columns
                && known.parent == key.parent
                && known.parent_columns == key.parent_columns
                && (known.on_delete, known.on_update) == (key.on_delete, key.on_update)
                && known.match_full == key.match_full
                && known.validated
        };
        if table.foreign_keys.iter_mut().find(is_same).is_some() {
            continue;
        }
        let id = cx.draft()?.allocate_id(table.id);
        let delete_columns = own(table, &key.delete_columns)?;
        let copy = ForeignKey { id, columns, delete_columns, comment: None, ..key.clone() };
        let used = table.foreign_keys.iter().any(|known| known.name == copy.name);
        let name = match used {
            true => choose_constraint_name(table, None, "fkey"),
            false => copy.name.clone(),
        };
        table.foreign_keys.push(ForeignKey { name, ..copy });
        change_table(cx, key.parent, |target| add_reference(target, table.id))?;
    }
    Ok(())
}

fn add_reference(parent: &mut Table, child: braid_catalog::Id) {
    if !parent.referenced_by.contains(&child) {
        parent.referenced_by.push(child);
    }
}
