//! `INTERLEAVE IN PARENT`: where a table's rows or an index's entries lie.
//!
//! Without ON DELETE interleaving is placement alone. With it the descriptor gets a foreign key on
//! the interleaved columns, so that one mechanism enforces it, and SHOW CREATE TABLE prints the
//! clause in its place.
//!
//! Rules that must always hold:
//! - a descriptor's way down (`above`) and the lists of tables below agree in both directions;
//! - the keys of a table with something below it keep their form: what would change them is
//!   refused;
//! - keys that are left below others' rows (an interleaved table or index has no range of its own)
//!   are noted with the parent and removed in the background (`left_over`), and their place
//!   is not used again before.

use std::sync::Arc;

use braid_catalog::{
    Ancestor, ForeignKeyAction, Id, Index, IndexNumber, Interleaving, Object, Table, is_temporary,
};
use braid_sql::ast::{self, Interleave, InterleaveKind, MatchKind, ReferenceAction};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{folded, parts};
use crate::table::descriptor::change_table;
use crate::table::foreign_keys::define_foreign_key;
use crate::table::moving::refuse_moving;

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidSchemaDefinition, message)
}

fn names(table: &Table, index: &Index) -> String {
    let name = |part: &braid_catalog::IndexKey| table.column(part.column).map(|c| c.name.clone());
    index.keys.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

/// 42P15 unless the declared columns are the parent's primary key and begin the index's key.
fn check_columns(table: &Table, index: &Index, parent: &Table, declared: &[String]) -> Result<()> {
    let what = if index.number == table.primary.number { "primary key" } else { "index" };
    let (shown, own) = (declared.join(", "), names(table, index));
    let above = names(parent, &parent.primary);
    if declared.len() != parent.primary.keys.len() {
        return Err(invalid(format!(
            "declared interleaved columns ({shown}) must match the parent's primary index ({above})"
        )));
    }
    if declared.len() > index.keys.len() {
        return Err(invalid(format!(
            "declared interleaved columns ({shown}) must be a prefix of the {what} columns being \
             interleaved ({own})"
        )));
    }
    for ((name, part), parent_part) in declared.iter().zip(&index.keys).zip(&parent.primary.keys) {
        let columns = (table.column(part.column), parent.column(parent_part.column));
        let (Some(column), Some(parent_column)) = columns else {
            return Err(Error::internal("a key without its column"));
        };
        if column.name != *name {
            return Err(invalid(format!(
                "declared interleaved columns ({shown}) must refer to a prefix of the {what} \
                 column names being interleaved ({own})"
            )));
        }
        if column.ty != parent_column.ty || part.descending != parent_part.descending {
            return Err(invalid(format!(
                "declared interleaved columns ({shown}) must match type and sort direction of the \
                 parent's primary index ({above})"
            )));
        }
    }
    Ok(())
}

/// The way down to what is interleaved in `parent`.
pub(crate) fn way_down(parent: &Table) -> Vec<Ancestor> {
    let interleaving = parent.primary.interleaving.as_ref();
    let mut above = interleaving.map(|found| found.above.clone()).unwrap_or_default();
    let columns = parent.primary.keys.len() - parent.primary.columns_above();
    above.push(Ancestor { table: parent.id, data_id: parent.data_id, columns });
    above
}

/// Whether a foreign key is on the columns that a table is interleaved by, and to that parent.
pub(crate) fn is_on_interleaved_columns(table: &Table, key: &braid_catalog::ForeignKey) -> bool {
    let columns = &table.primary.keys[..table.primary.columns_above()];
    table.primary.parent() == Some(key.parent)
        && key.parent_index == 1
        && key.columns.len() == columns.len()
        && columns.iter().all(|part| key.columns.contains(&part.column))
}

/// 42P16 if a foreign key on the interleaved columns says otherwise than ON DELETE of INTERLEAVE.
pub(crate) fn check_agreement(table: &Table) -> Result<()> {
    let made = table.primary.interleaving.as_ref().and_then(|found| found.foreign_key);
    let Some(made) = table.foreign_keys.iter().find(|key| Some(key.id) == made) else {
        return Ok(());
    };
    let same = table.foreign_keys.iter().filter(|key| is_on_interleaved_columns(table, key));
    for key in same {
        let refuses =
            |action| matches!(action, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict);
        let agrees =
            key.on_delete == made.on_delete || (refuses(key.on_delete) && refuses(made.on_delete));
        if !agrees {
            let (name, relation) = (&key.name, &table.name);
            let message = format!(
                "foreign key constraint \"{name}\" and the interleaving of table \"{relation}\" \
                 disagree on ON DELETE"
            );
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
    }
    Ok(())
}

/// 2BP01 for the foreign key that ON DELETE of INTERLEAVE has made.
pub(crate) fn refuse_enforcing(table: &Table, key: &braid_catalog::ForeignKey) -> Result<()> {
    let made = table.primary.interleaving.as_ref().and_then(|found| found.foreign_key);
    if made != Some(key.id) {
        return Ok(());
    }
    let (name, relation) = (&key.name, &table.name);
    let message = format!(
        "cannot drop constraint {name} on table {relation} because its interleaving requires it"
    );
    Err(Error::new(SqlState::DependentObjectsStillExist, message))
}

/// 0A000 for a change of a primary key that interleaving depends on.
pub(crate) fn refuse_new_key(table: &Table) -> Result<()> {
    if table.primary.interleaving.is_none() && table.primary.below.is_empty() {
        return Ok(());
    }
    let message = format!("cannot change the primary key of interleaved table \"{}\"", table.name);
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// 0A000 for a change of a key column that interleaving depends on.
pub(crate) fn refuse_new_type(table: &Table, place: usize) -> Result<()> {
    let column = &table.columns[place];
    let all = table.primary.keys.len();
    let bound = table.all_indexes().any(|index| {
        let count = if index.below.is_empty() { index.columns_above() } else { all };
        index.keys.iter().take(count).any(|part| part.column == column.id)
    });
    if !bound {
        return Ok(());
    }
    let (name, relation) = (&column.name, &table.name);
    let message =
        format!("cannot alter type of column \"{name}\" of interleaved table \"{relation}\"");
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// Puts a table's primary key, or an index of it, below the rows of a parent. There are no
/// rows or entries yet.
pub(crate) fn interleave_in_parent(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    number: IndexNumber,
    clause: &Interleave,
) -> Result<()> {
    let parent = interleave_parent(cx, table, clause)?;
    if is_temporary(table.id) || is_temporary(parent.id) {
        return Err(Error::unsupported("INTERLEAVE of temporary tables"));
    }
    let foreign_key = check_interleave_clause(cx, table, number, clause, &parent)?;
    let interleaving = Interleaving { above: way_down(&parent), foreign_key };
    let owned = std::iter::once(&mut table.primary).chain(&mut table.indexes);
    for index in owned.filter(|index| index.number == number) {
        index.interleaving = Some(interleaving.clone());
    }
    let id = table.id;
    change_table(cx, parent.id, |parent| parent.primary.below.push((id, number)))?;
    check_agreement(table)
}

/// Checks a clause, and adds the foreign key that its ON DELETE makes; the key's id.
pub(crate) fn check_interleave_clause(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    number: IndexNumber,
    clause: &Interleave,
    parent: &Table,
) -> Result<Option<Id>> {
    let divided = |table: &Table| table.partitioning.is_some() || table.partition_of.is_some();
    if divided(table) || divided(parent) {
        return Err(Error::unsupported("INTERLEAVE of partitioned tables and of partitions"));
    }
    let is_table = number == table.primary.number;
    let declared = folded(&clause.columns);
    let Some(index) = table.index(number) else {
        return Err(Error::internal("an index has vanished"));
    };
    if index.is_inverted() {
        return Err(Error::unsupported("an interleaved index of access method gin"));
    }
    check_columns(table, index, parent, &declared)?;
    let mut foreign_key = None;
    if let Some(action) = clause.on_delete {
        if !is_table {
            return Err(Error::unsupported("ON DELETE of an interleaved index"));
        }
        if clause.kind == InterleaveKind::In {
            let message = "ON DELETE needs INTERLEAVE IN PARENT";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        define_foreign_key(cx, table, None, &enforced(clause, action), declared)?;
        foreign_key = table.foreign_keys.last().map(|key| key.id);
    }
    Ok(foreign_key)
}

/// The parent that a clause names.
pub(crate) fn interleave_parent(
    cx: &DdlContext<'_>,
    table: &Table,
    clause: &Interleave,
) -> Result<Arc<Table>> {
    let schema = cx.catalog().schema_name(table.schema);
    let is_self = match parts(&clause.parent).as_slice() {
        [name] => *name == table.name,
        [.., in_schema, name] => *name == table.name && *in_schema == schema,
        [] => false,
    };
    if is_self {
        let message = format!("cannot interleave table \"{}\" in itself", table.name);
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    let parent = cx.table(&clause.parent)?;
    cx.check_owner(Object::Table(&parent))?;
    if parent.moving.is_some() {
        refuse_moving(&cx.catalog(), &parent)?;
    }
    Ok(parent)
}

/// The foreign key that ON DELETE stands for.
fn enforced(clause: &Interleave, action: ReferenceAction) -> ast::ForeignKey {
    ast::ForeignKey {
        columns: clause.columns.clone(),
        table: clause.parent.clone(),
        ref_columns: Vec::new(),
        match_kind: MatchKind::Simple,
        on_delete: action,
        delete_columns: Vec::new(),
        on_update: ReferenceAction::NoAction,
        deferrable: false,
        initially_deferred: false,
    }
}
