//! The system columns `tableoid`, `ctid`, `xmin` and `xmax`.
//!
//! Here: which tables have them, and the expressions that they stand for. Not here: the names that
//! no column of a user may have (`exec`'s DDL refuses them).
//!
//! All are computed from the row. Each row has a primary key: a row that an outer join made up has
//! NULLs there, and so in its system columns.
//!
//! ```text
//!   t.tableoid    braid_tableoid(16384, t.id)
//!   t.ctid        braid_ctid(16384, t.id)         the place of the row: its primary key as a tid
//!   t.xmin        braid_xmin(t.id, t.id, t.a, …)  a hash of the row's columns: it shows changes
//!   ctid = $1     braid_ctid(16384, t.id) = $1 AND t.id = braid_ctid_key($1, 1, NULL::int4, …)
//! ```
//!
//! The second condition of the last line lets the planner look the row up by its key.
//! `ctid = ANY (array)` becomes a condition on the key alone, by `braid_ctid_keys`.
//!
//! `RETURNING xmax = 0` is how programs tell rows that ON CONFLICT DO UPDATE inserted from those
//! that it updated, so an INSERT knows it. Elsewhere `xmax` is 0: no row that is seen is deleted.

use braid_catalog::{Table, VirtualTable};
use braid_sql::ItemColumn;
use braid_sql::ast::Expr as Ast;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::bind::Binder;
use crate::bind::expr::operators::compare_exprs;
use crate::bind::expr::scalar::call_function;
use crate::bind::from::privileges::check_guarded;
use crate::bind::scope::columns::{RowSource, Scope};
use crate::bind::scope::notes::Reference;
use crate::tree::expr::{CallExpr, CompareOp, Expr, QuantifiedExpr, Slot, conjunction};

const TABLE_OID: &str = "tableoid";
const PLACE: &str = "ctid";
const VERSION: &str = "xmin";
const DELETED_BY: &str = "xmax";
/// PostgreSQL's numbers of commands in a transaction.
const COMMANDS: [&str; 2] = ["cmin", "cmax"];

/// Whether this is the name of a system column.
pub(crate) fn is_system_column(name: &str) -> bool {
    [TABLE_OID, PLACE, VERSION, DELETED_BY].contains(&name) || COMMANDS.contains(&name)
}

/// 42P10 for a system column where a row has none yet; `tableoid` is known there.
fn refuse_system_column(name: &str, clause: &str) -> Result<()> {
    let message = match clause {
        "check constraints" => {
            format!("system column \"{name}\" reference in check constraint is invalid")
        }
        "column generation expressions" => {
            format!("cannot use system column \"{name}\" in column generation expression")
        }
        "MERGE WHEN AND" => {
            format!("cannot use system column \"{name}\" in MERGE WHEN condition")
        }
        "statistics expressions" => return Err(no_statistics()),
        _ => return Ok(()),
    };
    if name == TABLE_OID {
        return Ok(());
    }
    Err(Error::new(SqlState::InvalidColumnReference, message))
}

/// 0A000: CREATE STATISTICS takes neither system columns nor whole rows, and calls both the same.
fn no_statistics() -> Error {
    let message = "statistics creation on system columns is not supported";
    Error::new(SqlState::FeatureNotSupported, message)
}

/// 42P17 for the whole row in the expression of one of its columns, 0A000 in that of statistics.
pub(crate) fn refuse_own_row(clause: &str) -> Result<()> {
    match clause {
        "column generation expressions" => {}
        "statistics expressions" => return Err(no_statistics()),
        _ => return Ok(()),
    }
    let message = "cannot use whole-row variable in column generation expression";
    Err(Error::new(SqlState::InvalidObjectDefinition, message)
        .detail("This would cause the generated column to depend on its own value."))
}

/// The system columns of a table whose columns have these slots.
pub(crate) fn table_source(table: &Table, alias: &str, slots: &[Slot]) -> Result<RowSource> {
    debug_assert_eq!(slots.len(), table.columns.len(), "each column has a slot");
    let mut key = Vec::with_capacity(table.primary.keys.len());
    for part in &table.primary.keys {
        let place = table.place_of(part.column)?;
        key.push((slots[place], table.columns[place].ty.clone()));
    }
    let columns = table.columns.iter().zip(slots).filter(|(column, _)| !column.hidden);
    Ok(RowSource {
        columns: columns.map(|(column, slot)| (*slot, column.ty.clone())).collect(),
        table: alias.to_owned(),
        schema: None,
        relation: table.id,
        item: 0,
        oid: None,
        key,
        has_place: true,
        replaced: None,
        joined: false,
    })
}

/// The system columns of a catalog table; views have none.
pub(crate) fn virtual_source(
    table: &VirtualTable,
    alias: &str,
    columns: &[(Slot, usize)],
) -> Option<RowSource> {
    let (slot, place) = columns.first().filter(|_| table.relkind != 'v')?;
    let typed = |(slot, place): &(Slot, usize)| Some((*slot, table.columns.get(*place)?.1.clone()));
    Some(RowSource {
        columns: columns.iter().filter_map(typed).collect(),
        table: alias.to_owned(),
        schema: None,
        relation: table.oid,
        item: 0,
        oid: None,
        // The first column of a catalog table is never NULL.
        key: vec![(*slot, table.columns.get(*place)?.1.clone())],
        has_place: false,
        replaced: None,
        joined: false,
    })
}

/// A system column without a table's name before it; `None` if no table of this level has it.
/// 42702 if several have.
pub(crate) fn system_column(
    binder: &mut Binder<'_>,
    ast: &Ast,
    name: &str,
    (scope, clause): (&Scope, &str),
) -> Result<Option<Expr>> {
    if !is_system_column(name) {
        return Ok(None);
    }
    let mut sources = scope.sources.iter().filter(|source| !source.joined);
    match (sources.next(), sources.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => {
            refuse_system_column(name, clause)?;
            note_system_column(binder, ast, name, only);
            column_of_source(binder, name, only).map(Some)
        }
        _ => Err(Error::new(
            SqlState::AmbiguousColumn,
            format!("column reference \"{name}\" is ambiguous"),
        )),
    }
}

/// Notes which system column a name means: stored queries have a number for it.
pub(crate) fn note_system_column(
    binder: &mut Binder<'_>,
    ast: &Ast,
    name: &str,
    source: &RowSource,
) {
    let number = match name {
        TABLE_OID => braid_sql::TABLE_OID_COLUMN,
        PLACE => braid_sql::PLACE_COLUMN,
        VERSION => braid_sql::VERSION_COLUMN,
        DELETED_BY => braid_sql::DELETED_BY_COLUMN,
        _ => return,
    };
    binder.note_name(ast, Reference::Column((source.item, number)));
}

/// The system column that has this number in a stored query.
pub(crate) fn stored_system_column(
    binder: &mut Binder<'_>,
    (item, number): ItemColumn,
    scope: &Scope,
) -> Result<Option<Expr>> {
    let name = match number {
        braid_sql::TABLE_OID_COLUMN => TABLE_OID,
        braid_sql::PLACE_COLUMN => PLACE,
        braid_sql::VERSION_COLUMN => VERSION,
        braid_sql::DELETED_BY_COLUMN => DELETED_BY,
        _ => return Ok(None),
    };
    let source = scope.sources.iter().find(|source| source.item == item);
    source.map(|source| column_of_source(binder, name, source)).transpose()
}

/// The table that a name before a system column means.
pub(crate) fn source_named<'s>(
    schema: Option<&str>,
    table: &str,
    scope: &'s Scope,
) -> Option<&'s RowSource> {
    let named = |source: &&RowSource| {
        source.table == table && (schema.is_none() || source.schema.as_deref() == schema)
    };
    scope.sources.iter().find(named)
}

/// A system column with a table's name before it.
pub(crate) fn system_column_of(
    binder: &mut Binder<'_>,
    schema: Option<&str>,
    table: &str,
    name: &str,
    (scope, clause): (&Scope, &str),
) -> Result<Option<Expr>> {
    if !is_system_column(name) {
        return Ok(None);
    }
    refuse_system_column(name, clause)?;
    let found = source_named(schema, table, scope);
    found.map(|found| column_of_source(binder, name, found)).transpose()
}

fn column_of_source(binder: &mut Binder<'_>, name: &str, source: &RowSource) -> Result<Expr> {
    if let Some(slot) = source.replaced.filter(|_| name == DELETED_BY) {
        return Ok(Expr::Column(slot, SqlType::Xid));
    }
    if COMMANDS.contains(&name) {
        return Err(Error::unsupported(format!("the system column {name}"))
            .hint("The store keeps no numbers of commands beside rows."));
    }
    if name == PLACE && !source.has_place {
        let what = match source.oid {
            Some(_) => "the system column ctid of a partitioned table",
            None => "the system column ctid of a catalog",
        };
        return Err(Error::unsupported(what));
    }
    for (slot, _) in &source.key {
        check_guarded(binder, *slot)?;
    }
    if let Some(slot) = source.oid.filter(|_| name == TABLE_OID) {
        return Ok(Expr::Column(slot, SqlType::Oid));
    }
    let relation = Expr::Const(Datum::Int(i64::from(source.relation)), SqlType::Oid);
    let mut args = vec![relation];
    let key = source.key.iter().map(|(slot, ty)| Expr::Column(*slot, ty.clone()));
    if name == TABLE_OID {
        args.extend(key.take(1));
        return call_function(binder, "braid_tableoid", args);
    }
    if name == VERSION || name == DELETED_BY {
        let read = if name == VERSION { source.columns.as_slice() } else { &[] };
        return version(binder, key.take(1).collect(), read);
    }
    args.extend(key);
    call_function(binder, "braid_ctid", args)
}

/// The token of a row's version, over a column that is not NULL and the columns that count; 0
/// without any.
fn version(
    binder: &mut Binder<'_>,
    mut args: Vec<Expr>,
    columns: &[(Slot, SqlType)],
) -> Result<Expr> {
    for (slot, ty) in columns {
        check_guarded(binder, *slot)?;
        args.push(Expr::Column(*slot, ty.clone()));
    }
    call_function(binder, "braid_xmin", args)
}

/// `ctid = ANY (array)` as the same condition on a primary key of one column, so that the rows
/// are looked up by their keys. Any other quantified comparison stays as it is.
pub(crate) fn with_keys(binder: &mut Binder<'_>, quantified: QuantifiedExpr) -> Result<Expr> {
    let plain = |quantified| Ok(Expr::Quantified(Box::new(quantified)));
    // There are no arrays of arrays.
    let fits =
        |key: &Expr| !quantified.all && is_equality(&quantified.compare) && !key.ty().is_array();
    let key = match place_key(&quantified.left) {
        Some((_, [only])) if fits(only) => only.clone(),
        _ => return plain(quantified),
    };
    let ty = key.ty().bare();
    let array = call_function(binder, "braid_ctid_keys", vec![quantified.array, Expr::null(ty)])?;
    let Some(element) = array.ty().element().cloned() else {
        return Err(Error::broken("the keys of places are not an array"));
    };
    let compare =
        compare_exprs(binder, CompareOp::Eq, Expr::Input(0, key.ty()), Expr::Input(1, element))?;
    plain(QuantifiedExpr { all: false, left: key, array, compare })
}

/// What equality of a `ctid` with a value says of the primary key; `None` if neither side is
/// one, or both are of different tables.
pub(crate) fn keys_of_places(
    binder: &mut Binder<'_>,
    left: &Expr,
    right: &Expr,
) -> Result<Option<Expr>> {
    let (key, other) = match (place_key(left), place_key(right)) {
        (Some((a, left)), Some((b, right))) if a.same(b) && left.len() == right.len() => {
            let mut equal = Vec::with_capacity(left.len());
            for (left, right) in left.iter().zip(right) {
                equal.push(compare_exprs(binder, CompareOp::Eq, left.clone(), right.clone())?);
            }
            return Ok(Some(conjunction(equal)));
        }
        (Some((_, key)), None) => (key, right),
        (None, Some((_, key))) => (key, left),
        _ => return Ok(None),
    };
    if !matches!(other, Expr::Const(..) | Expr::Param(..)) {
        return Ok(None);
    }
    let types: Vec<Expr> = key.iter().map(|part| Expr::null(part.ty().bare())).collect();
    let mut equal = Vec::with_capacity(key.len());
    for (place, part) in key.iter().enumerate() {
        let number = Expr::Const(Datum::Int(place as i64), SqlType::Int4);
        let mut args = vec![other.clone(), number, Expr::null(part.ty().bare())];
        args.extend(types.iter().cloned());
        let value = call_function(binder, "braid_ctid_key", args)?;
        equal.push(compare_exprs(binder, CompareOp::Eq, part.clone(), value)?);
    }
    Ok(Some(conjunction(equal)))
}

/// Whether a quantified comparison is `=` of both sides as they are.
fn is_equality(compare: &Expr) -> bool {
    matches!(compare, Expr::Compare(CompareOp::Eq, a, b)
        if matches!((&**a, &**b), (Expr::Input(0, _), Expr::Input(1, _))))
}

/// The table and the key columns of a `ctid`.
fn place_key(e: &Expr) -> Option<(&Expr, &[Expr])> {
    let Expr::Call(call) = e else { return None };
    let CallExpr { function, args, .. } = &**call;
    let (table, key) = args.split_first()?;
    (function.name == "braid_ctid" && !key.is_empty()).then_some((table, key))
}
