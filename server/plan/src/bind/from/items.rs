//! FROM: tables, views, catalog views, functions, subqueries and joins, as written.

use std::sync::Arc;

use braid_catalog::{Object, Relation, Table, VirtualTable};
use braid_sql::ast::{
    Expr as Ast, Join as AstJoin, JoinConstraint, JoinOperator, ObjectName, TableAlias,
    TableFactor, TableWithJoins,
};
use braid_sql::{UsingColumn, is_only};
use braid_types::{Error, Result, SqlState};

use super::aliases::{kept_slots, rename_columns, rename_item_columns, shown_name};
use super::presence::mark_sides;
use super::privileges::{check_select, check_some_column, narrow};
use super::range_table::{enter_range, invalid_lateral, missing_relation};
use super::sample::bind_sample;
use super::security::{behind_barrier, secure_scan};
use super::stored_table::{plain_scan, table_row};
use super::system_columns::virtual_source;
use super::table_function::{
    bind_rows_from, bind_table_function, function_factor, spread_row, transition_scan,
};
use super::using::{bind_using, join_using};
use crate::bind::Binder;
use crate::bind::binder::Refresh;
use crate::bind::expr::arguments::{Arguments, arguments, listed};
use crate::bind::expr::function::{function_name, set_call};
use crate::bind::expr::scalar::bind_expr;
use crate::bind::partitions::scan::{append_scan, mark_scans};
use crate::bind::query::lock::{lock_of, push_locks, refuse_lock};
use crate::bind::query::ordered::{BoundQuery, bind_query, plain_column};
use crate::bind::query::with::cte_scan;
use crate::bind::scope::columns::{Scope, ScopeColumn, ScopeTable, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::names;
use crate::bind::scope::notes::NamedItem;
use crate::bind::scope::places::{bind_condition, first_part, start_of};
use crate::context::OutputColumn;
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{FunctionCall, Join, JoinKind, Node, VirtualScan};

/// All of FROM; without one it is a single row.
pub(crate) fn bind_from(
    binder: &mut Binder<'_>,
    from: &[TableWithJoins],
    parent: Option<&Scopes<'_>>,
) -> Result<(Node, Scope)> {
    names::check_length(from)?;
    let mut result: Option<(Node, Scope)> = None;
    for item in from {
        let left = result.as_ref().map(|(_, scope)| scope.clone()).unwrap_or_default();
        let (node, scope) = bind_table_with_joins(binder, item, &left, parent)?;
        result = Some(match result {
            None => (node, scope),
            Some((left_node, mut left_scope)) => {
                left_scope.merge(scope)?;
                (cross_join(left_node, node), left_scope)
            }
        });
    }
    Ok(result.unwrap_or_else(|| (Node::one_row(), Scope::default())))
}

/// A relation and its joins; `before` is what LATERAL can see of earlier items.
fn bind_table_with_joins(
    binder: &mut Binder<'_>,
    item: &TableWithJoins,
    before: &Scope,
    parent: Option<&Scopes<'_>>,
) -> Result<(Node, Scope)> {
    let (mut node, mut scope) = bind_factor(binder, &item.relation, before, parent)?;
    for join in &item.joins {
        (node, scope) = bind_join(binder, node, scope, join, before, parent)?;
    }
    Ok((node, scope))
}

fn bind_join(
    binder: &mut Binder<'_>,
    left: Node,
    left_scope: Scope,
    join: &AstJoin,
    before: &Scope,
    parent: Option<&Scopes<'_>>,
) -> Result<(Node, Scope)> {
    let (kind, constraint) = match &join.join_operator {
        JoinOperator::Join(c) | JoinOperator::Inner(c) => (JoinKind::Inner, c),
        JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (JoinKind::Left, c),
        JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (JoinKind::Right, c),
        JoinOperator::FullOuter(c) => (JoinKind::Full, c),
        JoinOperator::CrossJoin(c) => (JoinKind::Inner, c),
        other => return Err(Error::unsupported(format!("{other:?} join"))),
    };
    let mut visible = before.clone();
    visible.columns.extend(left_scope.columns.iter().cloned());
    visible.tables.extend(left_scope.tables.iter().cloned());
    let since = binder.places.columns_bound();
    let (mut right, right_scope) = bind_factor(binder, &join.relation, &visible, parent)?;
    if matches!(kind, JoinKind::Right | JoinKind::Full) && reads(&mut right, &left) {
        let read = left.slots().into_iter().find_map(|slot| {
            let place = binder.places.column_place(slot, since);
            (place > 0).then_some((slot, place))
        });
        return Err(invalid_lateral(&left_scope, read));
    }
    let (mut left, mut right) = ((left, left_scope), (right, right_scope));
    mark_sides(binder, kind, &mut left, &mut right);
    let ((left, left_scope), (right, right_scope)) = (left, right);
    if matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural) {
        let mut using = bind_using(binder, constraint, &left_scope, &right_scope)?;
        if kind == JoinKind::Full && binder.notes.is_some() {
            let label = binder.label();
            for (column, number) in using.iter_mut().zip(1..) {
                column.merged = (label, number);
            }
        }
        let noted = using.iter().map(|column| UsingColumn {
            merged: column.merged,
            left: column.left.item,
            right: column.right.item,
            name: column.name.clone(),
        });
        if binder.notes.is_some() {
            let noted = noted.collect();
            binder.note_join(join, noted);
        }
        let alias = match constraint {
            JoinConstraint::Using(names) if !binder.is_stored => braid_sql::split_using(names).1,
            _ => None,
        };
        let alias = alias.map(braid_sql::fold);
        let (left, right) = ((left, left_scope), (right, right_scope));
        return join_using(binder, left, right, kind, using, alias.as_deref());
    }
    let mut scope = left_scope;
    scope.merge(right_scope)?;
    let on = match constraint {
        JoinConstraint::On(ast) => {
            let scopes = Scopes { scope: &scope, parent };
            vec![bind_condition(binder, ast, &mut ExprCx::plain(scopes, "JOIN/ON"), "JOIN/ON")?]
        }
        _ => Vec::new(),
    };
    scope.join_sources();
    Ok((join_node(kind, left, right, on), scope))
}

fn bind_factor(
    binder: &mut Binder<'_>,
    factor: &TableFactor,
    before: &Scope,
    parent: Option<&Scopes<'_>>,
) -> Result<(Node, Scope)> {
    let (node, mut scope, relation) = bind_factor_form(binder, factor, before, parent)?;
    if !matches!(factor, TableFactor::NestedJoin { .. }) {
        binder.label_item(factor, &mut scope, relation);
    }
    enter_range(binder, &scope);
    Ok((node, scope))
}

fn bind_factor_form(
    binder: &mut Binder<'_>,
    factor: &TableFactor,
    before: &Scope,
    parent: Option<&Scopes<'_>>,
) -> Result<(Node, Scope, Option<NamedItem>)> {
    let around = Scopes { scope: before, parent };
    names::check_names(binder.cx.text, factor)?;
    if let Some((node, scope)) = bind_rows_from(binder, factor, around)? {
        return Ok((node, scope, None));
    }
    let (node, scope) = match factor {
        TableFactor::Table { name, alias, args: None, with_ordinality: false, sample, .. } => {
            let bound = bind_named_relation(binder, name, alias.as_ref())?;
            let Some(sample) = sample else { return Ok(bound) };
            let (node, scope, item) = bound;
            let sample = (sample, first_part(name));
            return Ok((bind_sample(binder, sample, (node, &scope), parent)?, scope, item));
        }
        TableFactor::Table { sample: Some(_), .. }
        | TableFactor::Derived { sample: Some(_), .. } => {
            return Err(Error::new(
                SqlState::SyntaxError,
                "syntax error at or near \"TABLESAMPLE\"",
            ));
        }
        TableFactor::Table { name, alias, args, with_ordinality, .. } => {
            let args = listed(args.as_ref().map_or(&[][..], |args| &args.args))?;
            function_or_view(binder, name, args, alias.as_ref(), *with_ordinality, around)?
        }
        TableFactor::Function { name, args, alias, with_ordinality, .. } => {
            let args = listed(args)?;
            let calls = vec![bind_table_function(binder, name, args, alias.as_ref(), around)?];
            function_factor(binder, calls, *with_ordinality, alias.as_ref(), Some(name), around)?
        }
        TableFactor::TableFunction { expr: Ast::Function(function), alias } => {
            let args = arguments(&function.args)?;
            let name = &function.name;
            let calls = vec![bind_table_function(binder, name, args, alias.as_ref(), around)?];
            function_factor(binder, calls, false, alias.as_ref(), Some(name), around)?
        }
        TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
            let calls = unnest_calls(binder, array_exprs, around)?;
            function_factor(binder, calls, *with_ordinality, alias.as_ref(), None, around)?
        }
        TableFactor::Derived { lateral, subquery, alias, .. } => {
            let scopes = if *lateral { Some(&around) } else { parent };
            let name = alias.as_ref().map(|alias| shown_name(binder, alias));
            push_locks(binder, name.as_deref().unwrap_or_default());
            let query = bind_query(binder, subquery, scopes)?;
            let mut scope = derived_scope(&query, name.as_deref());
            if let Some(alias) = alias {
                rename_item_columns(binder, &mut scope, alias)?;
            }
            (query.node, scope)
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            let (node, mut scope) =
                bind_table_with_joins(binder, table_with_joins, before, parent)?;
            if let Some(alias) = alias {
                refuse_lock(binder, &braid_sql::fold(&alias.name), "a join")?;
                name_join(&mut scope, alias)?;
            }
            (node, scope)
        }
        other => return Err(Error::unsupported(format!("{other} in FROM"))),
    };
    Ok((node, scope, None))
}

/// A function for each array of `unnest(a, b)`.
fn unnest_calls(
    binder: &mut Binder<'_>,
    arrays: &[Ast],
    around: Scopes<'_>,
) -> Result<Vec<(FunctionCall, Vec<String>)>> {
    let mut calls = Vec::with_capacity(arrays.len());
    for ast in arrays {
        let arg = bind_expr(binder, ast, &mut ExprCx::plain(around, "FROM"))?;
        let types = [arg.ty()];
        let resolved = braid_builtins::resolve_set_function("unnest", &types).map_err(|error| {
            error.position(braid_sql::last_token(binder.cx.text, start_of(ast), "unnest"))
        })?;
        let Some(resolved) = resolved else {
            return Err(Error::internal("unnest is missing"));
        };
        let named = |name: &str| if name.is_empty() { "unnest" } else { name }.to_owned();
        let names = resolved.columns.iter().map(|(name, _)| named(name)).collect();
        let call = set_call(binder, resolved, vec![arg])?;
        calls.push(spread_row(binder, call, names));
    }
    Ok(calls)
}

/// A table, view, WITH entry or catalog view by name.
fn bind_named_relation(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    alias: Option<&TableAlias>,
) -> Result<(Node, Scope, Option<NamedItem>)> {
    let parts = name_parts(name);
    let last = parts.last().cloned().unwrap_or_default();
    let shown = alias.map_or_else(|| last.clone(), |alias| shown_name(binder, alias));
    let mut item = None;
    let (node, mut scope) = if parts.len() == 1
        && let Some(found) = cte_scan(binder, (&last, first_part(name)), &shown)?
    {
        refuse_lock(binder, &shown, "a WITH query")?;
        found
    } else if parts.len() == 1
        && let Some(found) = transition_scan(binder, &last, &shown)?
    {
        found
    } else {
        let relation = find_relation(binder, name)?;
        item = Some(match &relation {
            Relation::Virtual(table) => NamedItem::Catalog(table.schema, table.name),
            relation => NamedItem::Stored(relation.oid()),
        });
        match relation {
            Relation::Table(table) if binder.refresh == Some(Refresh::Compute(table.id)) => {
                let view = table.as_view().ok_or_else(|| no_query(&table))?;
                expand_view(binder, &view, &shown)?
            }
            Relation::Table(table) if is_only(name) && table.partitioning.is_some() => {
                only_table(binder, &table, &shown, alias.is_some())?
            }
            Relation::Table(table) => named_table(binder, &table, &shown, alias.is_some())?,
            Relation::View(view) => {
                check_some_column(binder, Object::View(&view), "SELECT")?;
                if push_locks(binder, &shown).is_some() {
                    check_some_column(binder, Object::View(&view), "UPDATE")?;
                }
                let (node, scope) = expand_view(binder, &view, &shown)?;
                narrow(binder, Object::View(&view), view.id, &scope);
                let schema = binder.cx.catalog.schema_name(view.schema);
                (node, scope.of_relation(&schema, &view.name, alias.is_some()))
            }
            Relation::Virtual(table) => {
                // Catalog rows are never locked.
                lock_of(binder, &shown);
                let (node, scope) = virtual_scan(binder, table, &shown);
                (node, scope.of_relation(table.schema, table.name, alias.is_some()))
            }
            Relation::Sequence(sequence) if lock_of(binder, &shown).is_some() => {
                let message = format!("cannot lock rows in sequence \"{}\"", sequence.name);
                return Err(Error::new(SqlState::WrongObjectType, message));
            }
            Relation::Sequence(sequence) => {
                let (node, scope) = sequence_scan(binder, &sequence, &shown)?;
                let schema = binder.cx.catalog.schema_name(sequence.schema);
                (node, scope.of_relation(&schema, &sequence.name, alias.is_some()))
            }
            Relation::Composite(_) => return Err(is_composite(&last).position(first_part(name))),
            Relation::Index(..) => return Err(is_index(&last).position(first_part(name))),
        }
    };
    let is_catalog = matches!(item, Some(NamedItem::Catalog(..)));
    if let Some(alias) = alias.filter(|_| !(is_catalog && binder.is_stored)) {
        rename_item_columns(binder, &mut scope, alias)?;
    }
    Ok((node, scope, item))
}

/// A scan of a table in FROM, with the lock that the clauses of the select put on it.
fn named_table(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    shown: &str,
    has_alias: bool,
) -> Result<(Node, Scope)> {
    check_some_column(binder, Object::Table(table), "SELECT")?;
    let lock = lock_of(binder, shown);
    note_materialized(binder, table, lock.is_some())?;
    if lock.is_some() {
        check_some_column(binder, Object::Table(table), "UPDATE")?;
    }
    let (mut node, scope) = table_scan(binder, table, shown)?;
    narrow(binder, Object::Table(table), table.id, &scope);
    let schema = binder.cx.catalog.schema_name(table.schema);
    let scope = scope.of_relation(&schema, &table.name, has_alias);
    mark_scans(&mut node, lock, false);
    Ok((secure_scan(binder, table, node, lock.is_some())?, scope))
}

/// A partitioned table without its partitions: it has no rows.
fn only_table(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    shown: &str,
    has_alias: bool,
) -> Result<(Node, Scope)> {
    if binder.notes.is_some() {
        return Err(Error::unsupported("ONLY with a partitioned table in a stored query"));
    }
    check_select(binder, Object::Table(table), "SELECT")?;
    lock_of(binder, shown);
    let scan = plain_scan(binder, table, shown)?;
    let slots: Vec<_> = scan.columns.iter().map(|(slot, _)| *slot).collect();
    let scope = table_row(table, shown, &slots)?;
    let schema = binder.cx.catalog.schema_name(table.schema);
    Ok((Node::Scan(Box::new(scan)), scope.of_relation(&schema, &table.name, has_alias)))
}

/// Notes that a materialized view without rows is read; 42809 if its rows were to be locked.
fn note_materialized(binder: &mut Binder<'_>, table: &Table, is_locked: bool) -> Result<()> {
    let Some(materialized) = &table.materialized else { return Ok(()) };
    if is_locked {
        let message = format!("cannot lock rows in materialized view \"{}\"", table.name);
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    if !materialized.populated && binder.refresh.is_none() {
        binder.unpopulated.get_or_insert_with(|| table.name.clone());
    }
    Ok(())
}

/// XX000: a table is to be refreshed that is no materialized view.
fn no_query(table: &Table) -> Error {
    Error::broken(format!("table \"{}\" has no query", table.name))
}

/// A function in FROM, which may give the rows of a catalog view.
fn function_or_view(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    args: Arguments<'_>,
    alias: Option<&TableAlias>,
    with_ordinality: bool,
    around: Scopes<'_>,
) -> Result<(Node, Scope)> {
    // A function of another schema gives no view.
    let function = function_name(&binder.cx, name).unwrap_or_default();
    let view = braid_catalog::view_of_function(&function, args.list.len());
    let Some(view) = view.filter(|_| !with_ordinality) else {
        let calls = vec![bind_table_function(binder, name, args, alias, around)?];
        return function_factor(binder, calls, with_ordinality, alias, Some(name), around);
    };
    let shown = alias.map_or_else(|| function, |alias| shown_name(binder, alias));
    refuse_lock(binder, &shown, "a function")?;
    let (node, mut scope) = virtual_scan(binder, view, &shown);
    if let Some(alias) = alias {
        rename_item_columns(binder, &mut scope, alias)?;
    }
    Ok((node, scope))
}

/// The relation of that name; 42P01 if there is none.
pub(crate) fn find_relation(binder: &Binder<'_>, name: &ObjectName) -> Result<Relation> {
    let parts = name_parts(name);
    let found = match braid_sql::relation_id(name).filter(|_| binder.is_stored) {
        Some(id) => binder.cx.catalog.relation(id),
        None => {
            let found = binder.cx.catalog.names().resolve(binder.cx.path, &parts);
            found.map_err(|error| error.position(first_part(name)))?
        }
    };
    found.ok_or_else(|| missing_relation(binder, &parts).position(first_part(name)))
}

/// A scan of all of a table's columns by its primary key; of a partitioned table one of each
/// partition.
pub(crate) fn table_scan(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    alias: &str,
) -> Result<(Node, Scope)> {
    if table.partitioning.is_some() {
        return append_scan(binder, table, alias);
    }
    let scan = plain_scan(binder, table, alias)?;
    let slots: Vec<_> = scan.columns.iter().map(|(slot, _)| *slot).collect();
    let scope = table_row(table, alias, &slots)?;
    Ok((Node::Scan(Box::new(scan)), scope))
}

fn virtual_scan(
    binder: &mut Binder<'_>,
    table: &'static VirtualTable,
    alias: &str,
) -> (Node, Scope) {
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    let mut columns = Vec::with_capacity(table.columns.len());
    for (place, (name, ty)) in table.columns.iter().enumerate() {
        let slot = binder.slot();
        columns.push((slot, place));
        scope.columns.push(ScopeColumn {
            origin: (table.oid, place as u16 + 1),
            ..plain_column(alias, name, slot, ty.clone())
        });
    }
    scope.sources.extend(virtual_source(table, alias, &columns));
    (Node::Virtual(VirtualScan { table, columns, filter: Vec::new() }), scope)
}

/// A sequence read as a table has its state as one row.
fn sequence_scan(
    binder: &mut Binder<'_>,
    sequence: &braid_catalog::Sequence,
    alias: &str,
) -> Result<(Node, Scope)> {
    check_select(binder, Object::Sequence(sequence), "SELECT")?;
    let query = braid_sql::parse_query(&format!(
        "SELECT state[1] AS last_value, 0::int8 AS log_cnt, state[2] = 1 AS is_called \
         FROM pg_catalog.braid_sequence_state({}::oid::regclass) AS s (state)",
        sequence.id
    ))?;
    let notes = binder.notes.take();
    let is_stored = std::mem::replace(&mut binder.is_stored, false);
    let query = bind_query(binder, &query, None);
    binder.notes = notes;
    binder.is_stored = is_stored;
    let query = query?;
    let scope = derived_scope(&query, Some(alias));
    Ok((query.node, scope))
}

pub(crate) fn expand_view(
    binder: &mut Binder<'_>,
    view: &braid_catalog::View,
    alias: &str,
) -> Result<(Node, Scope)> {
    binder.tables.insert(view.id);
    if binder.views.contains(&view.id) {
        let name = &view.name;
        let message = format!("infinite recursion detected in rules for relation \"{name}\"");
        return Err(Error::new(SqlState::InvalidObjectDefinition, message));
    }
    // The view's query sees neither our WITH entries nor, if it has names, our search path.
    let path = view.path(binder.cx.path);
    let (query, mut inner) = match &view.stored {
        Some(stored) => {
            let cx = crate::PlanContext { text: "", variables: None, ..binder.cx };
            (braid_sql::parse_query(&stored.query)?, Binder::of_stored(&cx, None))
        }
        None => {
            let cx = crate::PlanContext { path: &path, text: "", variables: None, ..binder.cx };
            (braid_sql::parse_query(&view.query)?, Binder::new(&cx))
        }
    };
    inner.follow(binder);
    inner.view_owner = view.reader();
    inner.views.push(view.id);
    inner.pushed_locks = std::mem::take(&mut binder.pushed_locks);
    let bound = bind_query(&mut inner, &query, None)?;
    binder.lead_from(inner);
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    let slots = kept_slots(&bound.columns, bound.node.slots(), view);
    for (slot, (place, (name, ty))) in slots.into_iter().zip(view.columns.iter().enumerate()) {
        scope.columns.push(ScopeColumn {
            origin: (view.id, place as u16 + 1),
            ..plain_column(alias, name, slot, ty.clone())
        });
    }
    let node = match view.options.is_barrier() {
        true => behind_barrier(bound.node, Vec::new()),
        false => bound.node,
    };
    Ok((node, scope))
}

/// 42809 for an index in FROM.
fn is_index(index: &str) -> Error {
    Error::new(SqlState::WrongObjectType, format!("\"{index}\" is an index"))
}

/// 42809 for a composite type in FROM, or as the target of a change.
pub(crate) fn is_composite(name: &str) -> Error {
    Error::new(SqlState::WrongObjectType, format!("\"{name}\" is a composite type"))
}

/// A query in FROM as a scope under its alias.
fn derived_scope(query: &BoundQuery, name: Option<&str>) -> Scope {
    let table = name.unwrap_or("");
    let slots = query.node.slots();
    let columns = slots
        .iter()
        .zip(&query.columns)
        .map(|(slot, c): (_, &OutputColumn)| ScopeColumn {
            origin: (c.table_oid, c.column_number),
            domain: c.domain,
            ..plain_column(table, &c.name, *slot, c.ty.clone())
        })
        .collect();
    let tables = name.map(ScopeTable::plain).into_iter().collect();
    Scope { columns, tables, ..Scope::default() }
}

/// `(a JOIN b …) AS t`
fn name_join(scope: &mut Scope, alias: &TableAlias) -> Result<()> {
    let name = braid_sql::fold(&alias.name);
    scope.tables = vec![ScopeTable { is_join: true, ..ScopeTable::plain(&name) }];
    scope.sources.clear();
    scope.columns.retain(|column| !column.merged);
    for column in &mut scope.columns {
        column.table.clone_from(&name);
        column.schema = None;
        column.is_row = false;
    }
    rename_columns(scope, alias)
}

/// A name's parts, folded.
pub(crate) fn name_parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold).collect()
}

/// Whether a FROM item reads columns of the items before it.
fn reads(item: &mut Node, before: &Node) -> bool {
    let mut read = Vec::new();
    walk::slots_read(item, &mut read);
    let given = before.slots();
    read.iter().any(|slot| given.contains(slot))
}

pub(crate) fn join_node(kind: JoinKind, left: Node, mut right: Node, on: Vec<Expr>) -> Node {
    // What does not read the left row runs once, however it is written.
    let lateral = reads(&mut right, &left);
    Node::Join(Box::new(Join { lateral, ..Join::new(kind, (left, right), on) }))
}

/// Every pair of rows.
pub(crate) fn cross_join(left: Node, right: Node) -> Node {
    join_node(JoinKind::Inner, left, right, Vec::new())
}
