//! The unique indexes that ON CONFLICT means.
//!
//! A partial index counts if the clause's condition implies its predicate.

use std::sync::Arc;

use braid_catalog::{Column, ColumnId, Index, IndexNumber, Table};
use braid_sql::ast::{ConflictAction, ConflictTarget, Expr as Ast, IndexKey, OnConflict};
use braid_sql::{find_token, next_token, offset_of};
use braid_types::{Error, Result, SqlState};

use crate::bind::Binder;
use crate::bind::expr::operators::coerce_bool;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::from::privileges::{check_guarded, guarding};
use crate::bind::scope::columns::Scopes;
use crate::bind::scope::context::ExprCx;
use crate::bind::stored::{index_exprs, target_row};
use crate::collation_named;
use crate::implies::implies;
use crate::tree::expr::{Expr, Slot, conjuncts};
use crate::tree::row_change::IndexPart;

/// The indexes of constraints that a clause means; empty: all. `slots` are the row's columns.
pub(crate) fn bind_arbiters(
    binder: &mut Binder<'_>,
    clause: &OnConflict,
    table: &Arc<Table>,
    alias: Option<&str>,
    slots: &[Slot],
) -> Result<Vec<IndexNumber>> {
    let (keys, predicate) = match &clause.target {
        ConflictTarget::Any => {
            refuse_deferrable(&table.indexes)?;
            return Ok(Vec::new());
        }
        ConflictTarget::Constraint(ident) => {
            let name = braid_sql::fold(ident);
            let mut indexes = table.all_indexes();
            let index = indexes.find(|index| index.constraint.is_some() && index.name == name);
            let index = index.ok_or_else(|| no_arbiter(table, &name))?;
            refuse_deferrable([index])?;
            if index.exclusion.is_some() && matches!(clause.action, ConflictAction::Update { .. }) {
                let message = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
                return Err(Error::new(SqlState::WrongObjectType, message));
            }
            let keys =
                index.keys.iter().filter_map(|key| table.position_of(shown(table, key.column)));
            guarding(binder, table, slots, |this| check_read(this, slots, keys))?;
            return Ok(vec![index.number]);
        }
        ConflictTarget::Columns { keys, predicate } => (keys, predicate),
    };
    let word = find_token(binder.cx.text, offset_of(clause.span), u32::MAX, &["conflict"]);
    let place = if word == 0 { 0 } else { next_token(binder.cx.text, word + 8) };
    for key in keys {
        check_key(binder, key).map_err(|error| error.position(place))?;
    }
    let wanted = guarding(binder, table, slots, |this| {
        wanted_arbiters(this, (keys, place), predicate.as_ref(), table, alias, slots)
    })?;
    let exprs = match wanted.given.is_some() || !wanted.computed.is_empty() {
        true => index_exprs(binder, table, slots)?,
        false => Vec::new(),
    };
    let fits = |index: &&Index| index.declares_unique() && wanted.is(table, index, &exprs);
    let found: Vec<&Index> = table.all_indexes().filter(fits).collect();
    refuse_deferrable(found.iter().copied())?;
    if found.is_empty() {
        return Err(Error::new(
            SqlState::InvalidColumnReference,
            "there is no unique or exclusion constraint matching the ON CONFLICT \
             specification",
        ));
    }
    Ok(found.iter().map(|index| index.number).collect())
}

/// 42809 for a constraint without an index, 42704 if there is no constraint of that name.
fn no_arbiter(table: &Table, name: &str) -> Error {
    let is_check = table.checks.iter().any(|check| check.name == name);
    if is_check || table.foreign_keys.iter().any(|key| key.name == name) {
        let message = "constraint in ON CONFLICT clause has no associated index";
        return Error::new(SqlState::WrongObjectType, message);
    }
    let message = format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
    Error::new(SqlState::UndefinedObject, message)
}

/// 55000 if one of these indexes is a deferrable constraint: rows with equal keys may be there.
fn refuse_deferrable<'t>(indexes: impl IntoIterator<Item = &'t Index>) -> Result<()> {
    if !indexes.into_iter().any(|index| index.deferrable) {
        return Ok(());
    }
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion \
                   constraints as arbiters";
    Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message))
}

/// 42P10 for an order, 42704 for a collation that does not exist.
fn check_key(binder: &Binder<'_>, key: &IndexKey) -> Result<()> {
    let refused = if key.descending.is_some() {
        "ASC/DESC is not allowed in ON CONFLICT clause"
    } else if key.nulls_first.is_some() {
        "NULLS FIRST/LAST is not allowed in ON CONFLICT clause"
    } else {
        let (catalog, path) = (binder.cx.catalog, binder.cx.path);
        let collation = key.collation.as_ref();
        return collation.map_or(Ok(()), |name| collation_named(catalog, path, name).map(drop));
    };
    Err(Error::new(SqlState::InvalidColumnReference, refused))
}

/// What the columns, expressions and condition of a clause mean.
fn wanted_arbiters(
    binder: &mut Binder<'_>,
    (keys, place): (&[IndexKey], u32),
    predicate: Option<&Ast>,
    table: &Table,
    alias: Option<&str>,
    slots: &[Slot],
) -> Result<Wanted> {
    let mut columns = Vec::with_capacity(keys.len());
    let mut places = Vec::with_capacity(keys.len());
    let mut computed: Vec<Expr> = Vec::new();
    for key in keys {
        let Some(ident) = key.column() else {
            computed.push(conflict_key(binder, &key.expr, table, alias, slots)?);
            continue;
        };
        let name = braid_sql::fold(ident);
        let column = table.column_by_name(&name).ok_or_else(|| {
            Error::new(SqlState::UndefinedColumn, format!("column \"{name}\" does not exist"))
                .position(place)
        })?;
        columns.push(table.columns[column].id);
        places.push(column);
    }
    columns.sort_unstable();
    columns.dedup();
    check_read(binder, slots, places.into_iter())?;
    let given = match predicate {
        Some(ast) => Some(conflict_condition(binder, ast, table, alias, slots)?),
        None => None,
    };
    Ok(Wanted { columns, computed, given })
}

/// 42501 unless the user may read these columns of the guarded row: the answer reveals which keys
/// exist.
fn check_read(
    binder: &Binder<'_>,
    slots: &[Slot],
    mut places: impl Iterator<Item = usize>,
) -> Result<()> {
    places
        .try_for_each(|place| slots.get(place).map_or(Ok(()), |slot| check_guarded(binder, *slot)))
}

/// The column that an index key shows: of the hidden one with sort keys, the text.
fn shown(table: &Table, key: ColumnId) -> ColumnId {
    let sorted = table.column(key).and_then(Column::sorted_text);
    sorted.and_then(|sorted| sorted.column_of(table)).unwrap_or(key)
}

/// An expression among the keys of ON CONFLICT.
fn conflict_key(
    binder: &mut Binder<'_>,
    ast: &Ast,
    table: &Table,
    alias: Option<&str>,
    slots: &[Slot],
) -> Result<Expr> {
    let scope = target_row(binder, table, alias, slots)?;
    let scopes = Scopes { scope: &scope, parent: None };
    bind_expr(binder, ast, &mut ExprCx::plain(scopes, "index expressions"))
}

/// The parts of the condition behind ON CONFLICT's columns.
fn conflict_condition(
    binder: &mut Binder<'_>,
    ast: &Ast,
    table: &Table,
    alias: Option<&str>,
    slots: &[Slot],
) -> Result<Vec<Expr>> {
    let scope = target_row(binder, table, alias, slots)?;
    let scopes = Scopes { scope: &scope, parent: None };
    let e = bind_expr(binder, ast, &mut ExprCx::plain(scopes, "index predicates"))?;
    let mut given = Vec::new();
    conjuncts(coerce_bool(binder, e, "WHERE")?, &mut given);
    Ok(given)
}

/// The index that ON CONFLICT describes.
struct Wanted {
    /// The columns among its keys, sorted.
    columns: Vec<ColumnId>,
    /// The expressions among its keys.
    computed: Vec<Expr>,
    /// The parts of the condition.
    given: Option<Vec<Expr>>,
}

impl Wanted {
    /// Whether an index is meant. `exprs` are those of all indexes of the table, if they matter.
    fn is(&self, table: &Table, index: &Index, exprs: &[(IndexPart, Expr)]) -> bool {
        let part = |wanted| exprs.iter().find(|(part, _)| *part == wanted).map(|(_, e)| e);
        let (mut own, mut columns) = (Vec::new(), Vec::new());
        for id in index.keys.iter().map(|key| key.column) {
            match shown(table, id) {
                text if text != id => columns.push(text),
                _ if table.is_key_expr(id) => own.push(id),
                _ => columns.push(id),
            }
        }
        columns.sort_unstable();
        let place = |id: &ColumnId| table.position_of(*id);
        let own: Option<Vec<&Expr>> =
            own.iter().map(|id| part(IndexPart::Key(place(id)?))).collect();
        // Expressions of the index that nobody has bound are not among those that are wanted.
        let Some(own) = own else { return false };
        let named = self.computed.iter().all(|e| own.iter().any(|key| key.same_value(e)))
            && own.iter().all(|key| self.computed.iter().any(|e| key.same_value(e)));
        let predicate = part(IndexPart::Predicate(index.number));
        let covered = match (&index.predicate, &self.given, predicate) {
            (None, ..) => true,
            (Some(_), Some(given), Some(predicate)) => implies(given, predicate),
            _ => false,
        };
        named && columns == self.columns && covered
    }
}
