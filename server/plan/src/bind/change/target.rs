//! The table that a statement changes: its descriptor, the scan of its rows, and RETURNING.

use std::sync::Arc;

use braid_catalog::{Relation, Table};
use braid_sql::ast::{Expr as Ast, Ident, LockStrength, Returning};
use braid_types::{Error, Result, SqlState};

use crate::bind::Binder;
use crate::bind::binder::Refresh;
use crate::bind::from::items::{bind_from, cross_join, find_relation, is_composite, table_scan};
use crate::bind::from::presence::passed_columns;
use crate::bind::from::range_table::enter_range;
use crate::bind::partitions::scan::mark_scans;
use crate::bind::query::select::returning_items;
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::bind_condition;
use crate::context::OutputColumn;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Filter, LockWait, Node, Project, RowLock};

/// The table of a DML statement.
pub(crate) fn target_table(
    binder: &mut Binder<'_>,
    name: &braid_sql::ast::ObjectName,
    action: &str,
) -> Result<Arc<Table>> {
    match find_relation(binder, name)? {
        Relation::Table(table)
            if table.materialized.is_some()
                && binder.refresh.map(Refresh::view) != Some(table.id) =>
        {
            let message = format!("cannot change materialized view \"{}\"", table.name);
            Err(Error::new(SqlState::WrongObjectType, message))
        }
        Relation::Table(table) => Ok(table),
        Relation::Virtual(table) => Err(Error::new(
            SqlState::InsufficientPrivilege,
            format!("permission denied: \"{}\" is a system catalog", table.name),
        )),
        Relation::Composite(found) => Err(is_composite(&found.name)),
        other => Err(Error::new(
            SqlState::WrongObjectType,
            match other {
                Relation::Sequence(sequence) => {
                    format!("cannot change sequence \"{}\"", sequence.name)
                }
                other => format!("cannot {action} {} \"{}\"", other.kind(), other.name()),
            },
        )),
    }
}

/// 0A000 for WHERE CURRENT OF. The session puts a condition in its place where it can.
pub(crate) fn refuse_current_of(cursor: Option<&Ident>) -> Result<()> {
    match cursor {
        Some(_) => Err(Error::unsupported("WHERE CURRENT OF in WITH, EXPLAIN and COPY")),
        None => Ok(()),
    }
}

/// A scan of the table to be changed, whose rows are locked while they are read.
pub(crate) fn target_scan(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    alias: Option<&str>,
) -> Result<(Node, Scope)> {
    let (node, scope) = table_scan(binder, table, alias.unwrap_or(&table.name))?;
    let schema = binder.context().catalog.schema_name(table.schema);
    let scope = scope.of_relation(&schema, &table.name, alias.is_some());
    enter_range(binder, &scope);
    Ok((locked(node), scope))
}

/// The scan, whose rows are locked while they are read.
pub(super) fn locked(mut node: Node) -> Node {
    let lock = RowLock { strength: LockStrength::Update, wait: LockWait::Block };
    mark_scans(&mut node, Some(lock), true);
    node
}

/// The target's scan joined with FROM or USING.
pub(crate) fn target_input(
    binder: &mut Binder<'_>,
    node: Node,
    from: &[braid_sql::ast::TableWithJoins],
) -> Result<(Node, Scope)> {
    if from.is_empty() {
        return Ok((node, Scope::default()));
    }
    // Items of FROM cannot see the target, not even LATERAL ones.
    let (right, right_scope) = bind_from(binder, from, None)?;
    Ok((cross_join(node, right), right_scope))
}

pub(crate) fn filtered(
    binder: &mut Binder<'_>,
    input: Node,
    selection: Option<&Ast>,
    scope: &Scope,
) -> Result<Node> {
    let Some(ast) = selection else { return Ok(input) };
    let scopes = Scopes { scope, parent: None };
    let e = bind_condition(binder, ast, &mut ExprCx::plain(scopes, "WHERE"), "WHERE")?;
    let mut filtered = Node::Filter(Filter::of(input, vec![e]));
    settle_input(binder, &mut filtered);
    Ok(filtered)
}

/// Writes out the computed columns of the view that a statement changes.
pub(crate) fn settle(binder: &Binder<'_>, e: &mut Expr) {
    replace_columns(e, &binder.computed);
}

/// Puts expressions in the place of columns, in subqueries, too.
pub(super) fn replace_columns(e: &mut Expr, exprs: &[(Slot, Expr)]) {
    if exprs.is_empty() {
        return;
    }
    walk::columns_mut(e, &mut |column| {
        let Expr::Column(slot, _) = column else { return };
        if let Some((_, known)) = exprs.iter().find(|(known, _)| known == slot) {
            *column = known.clone();
        }
    });
}

/// The same in the conditions above the scan of the view.
fn settle_input(binder: &Binder<'_>, node: &mut Node) {
    if binder.computed.is_empty() {
        return;
    }
    walk::exprs_mut(node, &mut |e| settle(binder, e));
    walk::children_mut(node, &mut |child| settle_input(binder, child));
}

/// The target's columns first, in their order, whatever order the joins are carried out in: the
/// operator that changes rows takes them by place.
pub(crate) fn target_first(
    input: Node,
    from: &[braid_sql::ast::TableWithJoins],
    scope: &Scope,
) -> Node {
    if from.is_empty() {
        return input;
    }
    // Computed columns of a view have been written out.
    let given = input.slots();
    let exprs = passed_columns(scope).into_iter().filter(|(slot, _)| given.contains(slot));
    let exprs = exprs.collect();
    Node::Project(Box::new(Project { input, exprs }))
}

/// RETURNING's columns, and its expressions with their slots.
pub(crate) type BoundReturning = (Vec<OutputColumn>, Vec<(Slot, Expr)>);

/// RETURNING over a scope: its columns and expressions.
pub(crate) fn bind_returning(
    binder: &mut Binder<'_>,
    returning: &Returning,
    scope: &Scope,
) -> Result<BoundReturning> {
    let Returning::Items(items) = returning else { return Ok((Vec::new(), Vec::new())) };
    let mut items = returning_items(binder, items, scope)?;
    items.iter_mut().for_each(|(_, e)| settle(binder, e));
    Ok(items.into_iter().map(|(column, e)| (column, (binder.slot(), e))).unzip())
}
