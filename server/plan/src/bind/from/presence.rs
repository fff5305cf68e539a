//! Whether a row of the optional side of an outer join is there.
//!
//! A whole row (`SELECT u FROM t LEFT JOIN u …`) is NULL where the join found none, while a row of
//! NULLs is a record. So each table of the optional side gets a column that is never NULL in its
//! rows: a key column, or a constant that a projection adds. If nobody reads the constant, the
//! optimizer drops the projection.

use std::collections::HashSet;

use braid_types::SqlType;

use crate::bind::Binder;
use crate::bind::scope::columns::Scope;
use crate::tree::expr::{CaseExpr, Expr, Slot};
use crate::tree::node::{JoinKind, Node, Project};

/// Marks the sides of a join that may be missing.
pub(crate) fn mark_sides(
    binder: &mut Binder<'_>,
    kind: JoinKind,
    left: &mut (Node, Scope),
    right: &mut (Node, Scope),
) {
    if matches!(kind, JoinKind::Left | JoinKind::Full) {
        mark(binder, right);
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        mark(binder, left);
    }
}

fn mark(binder: &mut Binder<'_>, (node, scope): &mut (Node, Scope)) {
    let mut constant = None;
    for table in scope.tables.iter_mut().filter(|table| table.presence.is_none()) {
        if table.is_join {
            continue;
        }
        let of_table = scope.sources.iter().find(|source| {
            source.table == table.name && source.schema.as_deref() == table.schema()
        });
        let key = of_table.and_then(|source| source.key.first().cloned());
        let mut slot = || *constant.get_or_insert_with(|| binder.slot());
        table.presence = Some(key.unwrap_or_else(|| (slot(), SqlType::Bool)));
    }
    if let Some(slot) = constant {
        let mut exprs = passed_columns(scope);
        exprs.retain(|(known, _)| *known != slot);
        exprs.push((slot, Expr::bool(true)));
        let input = std::mem::replace(node, Node::one_row());
        *node = Node::Project(Box::new(Project { input, exprs }));
    }
}

/// All columns of a scope as a projection passes them on.
pub(crate) fn passed_columns(scope: &Scope) -> Vec<(Slot, Expr)> {
    let columns = scope.columns.iter().map(|column| (column.slot, column.ty.clone()));
    let present = scope.tables.iter().filter_map(|table| table.presence.clone());
    // The oids of partitions are no columns.
    let oids = scope.sources.iter().filter_map(|source| Some((source.oid?, SqlType::Oid)));
    let mut known = HashSet::new();
    columns
        .chain(present)
        .chain(oids)
        .filter(|(slot, _)| known.insert(*slot))
        .map(|(slot, ty)| (slot, Expr::Column(slot, ty)))
        .collect()
}

/// A whole row, which is NULL where its table has none. It is a value, and no list of columns as
/// `ROW (…)` is: two of them are equal where both have a NULL.
pub(crate) fn row_if_present(row: Expr, presence: Option<(Slot, SqlType)>) -> Expr {
    let ty = row.ty();
    let missing = presence.map(|(slot, ty)| Expr::IsNull(Box::new(Expr::Column(slot, ty))));
    let whens = missing.map(|missing| (missing, Expr::null(ty.clone()))).into_iter().collect();
    Expr::Case(Box::new(CaseExpr { whens, otherwise: row, ty }))
}
