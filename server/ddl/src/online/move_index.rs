//! `ALTER INDEX … INTERLEAVE IN PARENT` and `… UNINTERLEAVE`: the index is built again in the other
//! place, as CREATE INDEX builds one beside writers, and then takes the old one's name and part.
//!
//! What is left of the old place goes in the background (`left_over`) or with one range
//! delete. A statement that fails, is cancelled or ends with the process leaves the old index.

use braid_catalog::{Index, IndexNumber, IndexState, Object, Relation, Table};
use braid_sql::ast::{AlterIndex, AlterIndexAction, Expr, Ident, Interleave};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{choose_relation_name, parts, wrong_kind};
use crate::online::index::build_index;
use crate::statement::table::storage_options::{self, Owner};
use crate::table::descriptor::{change_table, not_in_block};
use crate::table::interleave::interleave_in_parent;
use crate::table::moving::refuse_moving;

pub(crate) async fn run(cx: &mut DdlContext<'_>, alter: &AlterIndex) -> Result<()> {
    let clause = match &alter.action {
        AlterIndexAction::Interleave(clause) => Some(clause),
        AlterIndexAction::Options(..)
        | AlterIndexAction::Statistics(_)
        | AlterIndexAction::Uninterleave
        | AlterIndexAction::Attach(_) => None,
    };
    let prepare = |cx: &mut DdlContext<'_>| {
        let Some((table, number)) = find(cx, alter)? else { return Ok(None) };
        add_twin(cx, table, number, clause).map(Some)
    };
    build_index::run(cx, prepare).await
}

/// What changes nothing; 25001 for what works in several transactions of its own.
pub(crate) fn in_transaction(cx: &mut DdlContext<'_>, alter: &AlterIndex) -> Result<()> {
    match &alter.action {
        AlterIndexAction::Attach(_) => Ok(()),
        AlterIndexAction::Options(is_set, written) => match find(cx, alter)? {
            Some((table, index)) => set_options(cx, &table, index, (*is_set, written)),
            None => Ok(()),
        },
        AlterIndexAction::Statistics(number) => match find(cx, alter)? {
            Some((table, index)) => check_statistics(&table, index, *number),
            None => Ok(()),
        },
        AlterIndexAction::Interleave(_) => Err(not_in_block("ALTER INDEX ... INTERLEAVE")),
        AlterIndexAction::Uninterleave => Err(not_in_block("ALTER INDEX ... UNINTERLEAVE")),
    }
}

/// `SET (…)` and `RESET (…)`
fn set_options(
    cx: &mut DdlContext<'_>,
    table: &Table,
    number: IndexNumber,
    (is_set, written): (bool, &[(Ident, Option<Expr>)]),
) -> Result<()> {
    let Some(index) = table.index(number) else { return Ok(()) };
    storage_options::check(Owner::Index(index.method()), written, !is_set)?;
    let options = storage_options::changed(&index.options, written, !is_set);
    change_table(cx, table.id, |table| {
        let mut indexes = std::iter::once(&mut table.primary).chain(&mut table.indexes);
        if let Some(index) = indexes.find(|index| index.number == number) {
            index.options = options;
        }
    })
}

/// 42703 and 0A000 unless the part of an index with that number is an expression.
fn check_statistics(table: &Table, index: IndexNumber, number: i64) -> Result<()> {
    let place = match usize::try_from(number - 1) {
        Ok(place) if number <= i64::from(i16::MAX) => place,
        _ => {
            let message = "column number must be in range from 1 to 32767";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    };
    let Some(index) = table.index(index) else { return Ok(()) };
    let name = &index.name;
    let keys = &index.as_written().keys;
    let Some(key) = keys.get(place) else {
        let stored = index.storing.get(place.saturating_sub(keys.len()));
        let Some(column) = stored.and_then(|id| table.column(*id)) else {
            let message = format!("column number {number} of relation \"{name}\" does not exist");
            return Err(Error::new(SqlState::UndefinedColumn, message));
        };
        let column = &column.name;
        let message =
            format!("cannot alter statistics on included column \"{column}\" of index \"{name}\"");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    };
    match table.column(key.column).filter(|column| !column.is_key_expr) {
        None => Ok(()),
        Some(column) => {
            let column = &column.name;
            let message = format!(
                "cannot alter statistics on non-expression column \"{column}\" of index \"{name}\""
            );
            Err(Error::new(SqlState::FeatureNotSupported, message)
                .hint("Alter statistics on table column instead."))
        }
    }
}

fn find(cx: &mut DdlContext<'_>, alter: &AlterIndex) -> Result<Option<(Table, IndexNumber)>> {
    match cx.find(&alter.name)? {
        Some(Relation::Index(table, index)) => {
            cx.check_owner(Object::Table(&table))?;
            Ok(Some((Table::clone(&table), index.number)))
        }
        Some(other) => Err(wrong_kind(other.name(), "index")),
        None => {
            let message = format!("relation \"{}\" does not exist", parts(&alter.name).join("."));
            if !alter.if_exists {
                return Err(Error::new(SqlState::UndefinedTable, message));
            }
            cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
            Ok(None)
        }
    }
}

/// 0A000, 55000 or 55006 for an index that cannot be moved so.
fn check_movable(cx: &DdlContext<'_>, table: &Table, index: &Index, into: bool) -> Result<()> {
    let name = &index.name;
    if index.number == table.primary.number {
        let relation = &table.name;
        let message = format!("cannot move \"{name}\" because it is a primary key");
        let command = if into { "INTERLEAVE" } else { "UNINTERLEAVE" };
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .hint(format!("Use ALTER TABLE {relation} {command} instead.")));
    }
    if table.moving.is_some() {
        refuse_moving(&cx.catalog(), table)?;
    }
    if index.state == IndexState::Building {
        let message = format!("index \"{name}\" is being built");
        return Err(Error::new(SqlState::ObjectInUse, message));
    }
    let parent = index.parent().and_then(|parent| cx.catalog().table(parent).cloned());
    let (message, hint) = match (parent, into) {
        (Some(parent), true) => (
            format!("index \"{name}\" is already interleaved in table \"{}\"", parent.name),
            Some(format!("Use ALTER INDEX {name} UNINTERLEAVE first.")),
        ),
        (None, false) => (format!("index \"{name}\" is not interleaved"), None),
        _ => return Ok(()),
    };
    let error = Error::new(SqlState::ObjectNotInPrerequisiteState, message);
    Err(match hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// Adds the index a second time, under a name of its own, in the other place.
fn add_twin(
    cx: &mut DdlContext<'_>,
    mut table: Table,
    number: IndexNumber,
    clause: Option<&Interleave>,
) -> Result<(Table, IndexNumber)> {
    let Some(index) = table.index(number).cloned() else {
        return Err(Error::internal("an index has vanished"));
    };
    check_movable(cx, &table, &index, clause.is_some())?;
    let id = cx.draft()?.allocate_id(table.id);
    let name = choose_relation_name(&cx.catalog(), table.schema, &index.name, None, "moving", &[]);
    let new_number = table.next_index;
    table.next_index += 1;
    table.indexes.push(Index {
        id,
        number: new_number,
        name,
        replaces: Some(number),
        constraint: None,
        interleaving: None,
        comment: None,
        constraint_comment: None,
        ..index
    });
    if let Some(clause) = clause {
        interleave_in_parent(cx, &mut table, new_number, clause)?;
    }
    Ok((table, new_number))
}
