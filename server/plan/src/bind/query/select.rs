//! SELECT: from FROM to DISTINCT and ORDER BY, in the order in which SQL evaluates them.
//!
//! ```text
//! FROM ─ WHERE ─ GROUP BY/aggregates ─ HAVING ─ windows ─ sets ─ select list ─ DISTINCT ─ ORDER BY
//! ```

use std::borrow::Cow;

use braid_catalog::{Id, Relation};
use braid_sql::ast::{
    Distinct as DistinctClause, Expr as Ast, ObjectName, OrderByExpr, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned,
};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::group::{GroupedCalls, Grouping, aggregate_node, bind_group_by};
use super::lock::lock_rows;
use super::ordered::{BoundQuery, ordinal, sorted};
use super::output::{
    Item, Output, OutputPlaces, finish_select, set_nodes, sets_below_windows, window_nodes,
};
use crate::bind::Binder;
use crate::bind::expr::data_type::{domain_of, interval_modifier, time_modifier_of};
use crate::bind::expr::function::sort_key;
use crate::bind::expr::operators::{check_order, coerce};
use crate::bind::expr::scalar::bind_expr;
use crate::bind::expr::window;
use crate::bind::from::items::bind_from;
use crate::bind::from::privileges::check_guarded;
use crate::bind::from::range_table::{
    column_row, fields_of, in_range, named_columns, variable_row,
};
use crate::bind::scope::columns::{Scope, ScopeColumn, Scopes};
use crate::bind::scope::context::{Collector, ExprCx};
use crate::bind::scope::lock_clause::{LockClause, SelectLocks};
use crate::bind::scope::names::{alias_name, item_name};
use crate::bind::scope::notes::StarColumn;
use crate::bind::scope::places::{bind_condition, start_of};
use crate::context::OutputColumn;
use crate::tree::expr::Expr;
use crate::tree::node::{Filter, Node, SortKey};

pub(crate) fn bind_select(
    binder: &mut Binder<'_>,
    select: &Select,
    order: &[&OrderByExpr],
    locks: SelectLocks,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    if select.into.is_some() {
        let message = "SELECT ... INTO is not allowed here";
        let place = select.into.as_ref().and_then(|into| into.targets.first()).map_or(0, start_of);
        return Err(Error::new(SqlState::SyntaxError, message).position(place));
    }
    if select.qualify.is_some() || select.top.is_some() || !select.lateral_views.is_empty() {
        return Err(Error::unsupported("this SELECT clause"));
    }
    in_range(binder, |this| bind_select_body(this, select, order, locks, parent))
}

fn bind_select_body(
    binder: &mut Binder<'_>,
    select: &Select,
    order: &[&OrderByExpr],
    locks: SelectLocks,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    if select.distinct.is_some() && select.projection.is_empty() {
        let at = if select.from.is_empty() { "end of input" } else { "or near \"from\"" };
        return Err(Error::new(SqlState::SyntaxError, format!("syntax error at {at}")));
    }
    let untyped = std::mem::take(&mut binder.untyped);
    for clause in &locks.clauses {
        clause.check_select(select)?;
    }
    let outer_locks = std::mem::replace(&mut binder.from_locks, locks.clauses.clone());
    let from = bind_from(binder, &select.from, parent);
    let clauses = std::mem::replace(&mut binder.from_locks, outer_locks);
    let (mut node, scope) = from?;
    clauses.iter().try_for_each(LockClause::check_found)?;
    let scopes = Scopes { scope: &scope, parent };
    if let Some(selection) = &select.selection {
        let e = bind_condition(binder, selection, &mut ExprCx::plain(scopes, "WHERE"), "WHERE")?;
        node = Node::Filter(Filter::of(node, vec![e]));
    }
    let windows = window::named_windows(&select.named_window, binder.cx.text)?;
    for definition in &select.named_window {
        if let Some(window) = windows.get(&braid_sql::fold(&definition.0)) {
            binder.note_window(definition, window);
        }
    }
    let outer_windows = std::mem::replace(&mut binder.windows, windows);
    binder.untyped = untyped;
    let outer_subqueries = std::mem::take(&mut binder.shared_subqueries);
    let result = bind_select_list(binder, select, order, node, scopes, &locks);
    binder.shared_subqueries = outer_subqueries;
    binder.windows = outer_windows;
    result
}

fn bind_select_list(
    binder: &mut Binder<'_>,
    select: &Select,
    order: &[&OrderByExpr],
    node: Node,
    scopes: Scopes<'_>,
    locks: &SelectLocks,
) -> Result<BoundQuery> {
    let scope = scopes.scope;
    let untyped = std::mem::take(&mut binder.untyped);
    let mut collector =
        Collector { allow_aggregates: true, allow_windows: true, ..Collector::default() };
    let since = binder.places.columns_bound();
    let at = ExprCx { scopes, clause: "SELECT", collector: Some(&mut collector) };
    let mut items = bind_items(binder, &select.projection, at)?;
    let having = match &select.having {
        Some(having) => {
            collector.allow_windows = false;
            let mut cx = ExprCx { scopes, clause: "HAVING", collector: Some(&mut collector) };
            let e = bind_condition(binder, having, &mut cx, "HAVING")?;
            collector.allow_windows = true;
            Some(e)
        }
        None => None,
    };
    window::check_windows(binder, &select.named_window, scopes)?;
    let mut group = bind_group_by(binder, &select.group_by, &items, scopes, &mut collector)?;
    group.since = since;
    let keys = order_keys(binder, order, &items, scopes, &mut collector)?;
    let on = distinct_on(binder, select, &items, scopes, &mut collector)?;
    group.check(&collector, &items)?;
    if let (Some(clause), Some(what)) = (locks.clauses.first(), collector.summarizes()) {
        return Err(clause.refuse(what));
    }
    let is_distinct = matches!(select.distinct, Some(DistinctClause::Distinct));
    let places = OutputPlaces::of(order, select.distinct.as_ref());
    let steady = |item: &Item| !item.expr.is_volatile() && !item.expr.waits();
    let leaves_it = locks.hoist && items.iter().all(steady);
    if !locks.clauses.is_empty() && !leaves_it {
        // The select list is computed from the rows as they are under the lock.
        let mut keys = keys;
        for key in &mut keys {
            if let Some(item) = items.iter().find(|item| item.reference().same(&key.expr)) {
                key.expr = item.expr.clone();
            }
            check_order(&key.expr.ty())?;
        }
        let node = lock_rows(sorted(node, keys))?;
        let (keys, sets) = (Vec::new(), Vec::new());
        let output = Output { items, keys, is_distinct, on: None, sets, untyped, places };
        return finish_select(binder, node, output);
    }
    group.replace_items(&mut items);
    let sets = Vec::new();
    let mut output = Output { items, keys, is_distinct, on, sets, untyped, places };
    let node = summarized(binder, node, (group, having), collector, &mut output, scope)?;
    finish_select(binder, node, output)
}

/// The aggregation, HAVING and the window functions over FROM and WHERE.
fn summarized(
    binder: &mut Binder<'_>,
    mut node: Node,
    (group, mut having): (Grouping, Option<Expr>),
    mut collector: Collector,
    output: &mut Output,
    scope: &Scope,
) -> Result<Node> {
    let grouped = group.explicit
        || !collector.aggregates.is_empty()
        || !collector.groupings.is_empty()
        || having.is_some();
    if grouped {
        node = set_nodes(node, group.take_sets(&mut collector.sets));
        let items = output.items.iter_mut().map(|item| &mut item.expr);
        let mut exprs: Vec<&mut Expr> = items.chain(having.as_mut()).collect();
        exprs.extend(output.keys.iter_mut().map(|key| &mut key.expr));
        exprs.extend(output.on.iter_mut().flatten());
        for window in &mut collector.windows {
            exprs.extend(window.partition.iter_mut());
            exprs.extend(window.order.iter_mut().map(|key| &mut key.expr));
            exprs.extend(window.call.args.iter_mut());
            exprs.extend(window.call.filter.as_mut());
        }
        for set in &mut collector.sets {
            exprs.extend(set.args.iter_mut());
        }
        let (aggregates, groupings) = (collector.aggregates, collector.groupings);
        let calls = GroupedCalls { aggregates, groupings, direct_args: collector.direct_args };
        node = aggregate_node(binder, node, group, calls, exprs, scope)?;
    }
    if let Some(having) = having {
        node = Node::Filter(Filter::of(node, vec![having]));
    }
    let (below, above) = sets_below_windows(collector.sets, &collector.windows)?;
    output.sets = above;
    Ok(window_nodes(set_nodes(node, below), collector.windows))
}

/// The select list with `*` written out.
fn bind_items(
    binder: &mut Binder<'_>,
    projection: &[SelectItem],
    at: ExprCx<'_, '_>,
) -> Result<Vec<Item>> {
    let ExprCx { scopes, clause, mut collector } = at;
    let scope = scopes.scope;
    let mut items = Vec::with_capacity(projection.len());
    for item in projection {
        let mut cx = ExprCx { scopes, clause, collector: collector.as_deref_mut() };
        let begin = items.len();
        match item {
            SelectItem::UnnamedExpr(ast) if let Some(row) = braid_sql::row_expansion(ast) => {
                // About a copy of the syntax nothing can be noted.
                let is_copy = matches!(row, Cow::Owned(_));
                let notes = if is_copy { binder.notes.take() } else { None };
                let fields = expanded_fields(binder, &row, &mut cx);
                if is_copy {
                    binder.notes = notes;
                }
                for (name, expr) in fields? {
                    items.push(bind_item(binder, name, expr, scope));
                }
            }
            SelectItem::UnnamedExpr(ast) | SelectItem::ExprWithAlias { expr: ast, .. } => {
                let expr = bind_expr(binder, ast, &mut cx)?;
                let name = match item {
                    SelectItem::ExprWithAlias { alias, .. } => alias_name(alias)?,
                    _ => item_name(ast, &binder.star_names),
                };
                items.push(bind_written_item(binder, name, ast, expr, scope)?);
            }
            SelectItem::Wildcard(options) => {
                if scope.tables.is_empty() && scope.columns.is_empty() {
                    let message = "SELECT * with no tables specified is not valid";
                    let place = braid_sql::offset_of(options.wildcard_token.0.span);
                    return Err(Error::new(SqlState::SyntaxError, message).position(place));
                }
                let visible = || scope.columns.iter().filter(|c| !c.hidden && !c.merged);
                binder.note_star(item, visible().map(StarColumn::of_column));
                for column in visible() {
                    check_guarded(binder, column.slot)?;
                    items.push(bind_star_item(binder, column));
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                if let Some(record) = named_row(binder, (item, name), &mut cx)? {
                    let fields = fields_of(&record)?.into_iter();
                    items.extend(fields.map(|(name, e)| bind_item(binder, name, e, scope)));
                } else {
                    let columns = named_columns(binder, name, &scopes)?;
                    binder.note_star(item, columns.iter().copied().map(StarColumn::of_column));
                    items.extend(columns.into_iter().map(|column| bind_star_item(binder, column)));
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(ast), _) => {
                for (name, expr) in expanded_fields(binder, ast, &mut cx)? {
                    items.push(bind_item(binder, name, expr, scope));
                }
            }
            other => return Err(Error::unsupported(format!("the select item {other}"))),
        }
        note_places(binder, item, &mut items[begin..]);
    }
    Ok(items)
}

/// Notes where items of the select list stand, and where the columns that `*` stands for do.
fn note_places(binder: &mut Binder<'_>, written: &SelectItem, items: &mut [Item]) {
    let span = written.span();
    let is_star = matches!(written, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    for item in items {
        item.place = braid_sql::offset_of(span);
        if let (true, Expr::Column(slot, _)) = (is_star, &item.expr) {
            binder.places.note_column(*slot, span);
        }
    }
}

/// The row of `name.*` that is a variable or a column; `None` for an item of FROM.
fn named_row(
    binder: &mut Binder<'_>,
    (item, name): (&SelectItem, &ObjectName),
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    if let Some(record) = variable_row(binder, name, &cx.scopes)? {
        return Ok(Some(record));
    }
    let record = column_row(binder, name, cx);
    if let Some(Expr::Column(slot, _)) = &record
        && let Some(column) = cx.scopes.scope.columns.iter().find(|column| column.slot == *slot)
    {
        let fields = StarColumn::of_row(column);
        if !fields.is_empty() {
            binder.note_star(item, fields.into_iter());
        }
    }
    Ok(record)
}

/// The fields of a row, each as an expression of its own.
fn expanded_fields(
    binder: &mut Binder<'_>,
    row: &Ast,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<(String, Expr)>> {
    let record = bind_expr(binder, row, cx)?;
    let SqlType::Record(fields) = record.ty() else {
        let message = format!("type {} is not composite", record.ty().bare().display_name());
        return Err(Error::new(SqlState::WrongObjectType, message));
    };
    if fields.is_empty() {
        let message = "record type has not been registered";
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    let field = |(place, (name, ty)): (usize, (String, SqlType))| {
        (name, Expr::Field(Box::new(record.clone()), place, ty))
    };
    Ok(fields.into_iter().enumerate().map(field).collect())
}

fn bind_star_item(binder: &mut Binder<'_>, column: &ScopeColumn) -> Item {
    let (modifier, domain) = declared_type(binder, column.origin);
    Item {
        column: OutputColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            table_oid: column.origin.0,
            column_number: column.origin.1,
            modifier,
            domain: column.domain.or(domain),
            collation: None,
            is_undecided: false,
        },
        expr: Expr::Column(column.slot, column.ty.clone()),
        slot: binder.slot(),
        place: 0,
    }
}

fn bind_item(binder: &mut Binder<'_>, name: String, expr: Expr, scope: &Scope) -> Item {
    let column = match &expr {
        Expr::Column(slot, _) => scope.columns.iter().find(|c| c.slot == *slot),
        _ => None,
    };
    let origin = column.map_or((0, 0), |column| column.origin);
    let (modifier, domain) = declared_type(binder, origin);
    let domain = column.and_then(|column| column.domain).or(domain);
    let column = OutputColumn {
        name,
        ty: expr.ty(),
        table_oid: origin.0,
        column_number: origin.1,
        modifier,
        domain,
        collation: None,
        is_undecided: false,
    };
    Item { column, expr, slot: binder.slot(), place: 0 }
}

/// An item as it is written: a whole row has the oid of its table, a cast its modifier.
fn bind_written_item(
    binder: &mut Binder<'_>,
    name: String,
    ast: &Ast,
    expr: Expr,
    scope: &Scope,
) -> Result<Item> {
    let row_of = row_source(ast, &expr, scope);
    let mut item = bind_item(binder, name, expr, scope);
    item.column.table_oid = row_of.unwrap_or(item.column.table_oid);
    let (modifier, domain) = cast_type(binder, ast)?;
    item.column.modifier = modifier.or(item.column.modifier);
    item.column.domain = domain.or(item.column.domain);
    Ok(item)
}

/// What a type is besides what [`SqlType`] says: its modifier of times, and its domain.
type Declared = (Option<i32>, Option<Id>);

/// The same of a column of a table or a view.
fn declared_type(binder: &Binder<'_>, (table, number): (Id, u16)) -> Declared {
    match binder.cx.catalog.relation(table).filter(|_| number != 0) {
        Some(Relation::Table(table)) => {
            table.column(number).map_or((None, None), |column| (column.modifier, column.domain))
        }
        Some(Relation::View(view)) => (None, view.column_domain(number)),
        _ => (None, None),
    }
}

/// The same of the type that an expression is cast to.
fn cast_type(binder: &Binder<'_>, ast: &Ast) -> Result<Declared> {
    match ast {
        Ast::Cast { data_type, .. } => Ok(match domain_of(data_type, binder.cx.types())? {
            Some(domain) => (domain.modifier, Some(domain.id)),
            None => (time_modifier_of(data_type), None),
        }),
        Ast::Interval(interval) => Ok((interval_modifier(interval)?, None)),
        Ast::Nested(inner) => cast_type(binder, inner),
        _ => Ok((None, None)),
    }
}

/// RETURNING items: a select list without aggregates or sets.
pub(crate) fn returning_items(
    binder: &mut Binder<'_>,
    projection: &[SelectItem],
    scope: &Scope,
) -> Result<Vec<(OutputColumn, Expr)>> {
    let scopes = Scopes { scope, parent: None };
    let mut collector = Collector::default();
    let at = ExprCx { scopes, clause: "RETURNING", collector: Some(&mut collector) };
    let items = bind_items(binder, projection, at)?;
    let mut result = Vec::with_capacity(items.len());
    for item in items {
        let expr = match item.expr.ty() {
            SqlType::Unknown => coerce(binder, item.expr, &SqlType::Text, CastContext::Implicit)?,
            _ => item.expr,
        };
        result.push((OutputColumn { ty: expr.ty(), ..item.column }, expr));
    }
    Ok(result)
}

/// ORDER BY: an output name, an ordinal, or an expression over the input.
fn order_keys(
    binder: &mut Binder<'_>,
    order: &[&OrderByExpr],
    items: &[Item],
    scopes: Scopes<'_>,
    collector: &mut Collector,
) -> Result<Vec<SortKey>> {
    let mut keys = Vec::with_capacity(order.len());
    for key in order {
        let expr = match output_reference(binder, &key.expr, items, "ORDER BY")? {
            Some(place) => items[place].reference(),
            None => {
                let mut cx =
                    ExprCx { scopes, clause: "ORDER BY", collector: Some(&mut *collector) };
                bind_expr(binder, &key.expr, &mut cx)?
            }
        };
        check_order(&expr.ty()).map_err(|error| error.position(start_of(&key.expr)))?;
        keys.push(sort_key(expr, key)?);
    }
    Ok(keys)
}

/// The item of the select list that a number or a name stands for.
pub(crate) fn output_reference(
    binder: &mut Binder<'_>,
    ast: &Ast,
    items: &[Item],
    clause: &str,
) -> Result<Option<usize>> {
    if let Some(place) = ordinal(ast, items.len(), clause)? {
        binder.note_place(ast, place);
        return Ok(Some(place));
    }
    let Ast::Identifier(ident) = ast else { return Ok(None) };
    let name = braid_sql::fold(ident);
    let Some(place) = items.iter().position(|item| item.column.name == name) else {
        return Ok(None);
    };
    let mut others = items[place + 1..].iter().filter(|item| item.column.name == name);
    if others.any(|other| !other.expr.alike(&items[place].expr)) {
        return Err(Error::new(
            SqlState::AmbiguousColumn,
            format!("{clause} \"{name}\" is ambiguous"),
        )
        .position(start_of(ast)));
    }
    binder.note_place(ast, place);
    Ok(Some(place))
}

fn distinct_on(
    binder: &mut Binder<'_>,
    select: &Select,
    items: &[Item],
    scopes: Scopes<'_>,
    collector: &mut Collector,
) -> Result<Option<Vec<Expr>>> {
    let Some(DistinctClause::On(list)) = &select.distinct else { return Ok(None) };
    let mut on = Vec::with_capacity(list.len());
    for ast in list {
        on.push(match output_reference(binder, ast, items, "DISTINCT ON")? {
            Some(place) => items[place].reference(),
            None => {
                let mut cx =
                    ExprCx { scopes, clause: "DISTINCT ON", collector: Some(&mut *collector) };
                bind_expr(binder, ast, &mut cx)?
            }
        });
    }
    Ok(Some(on))
}

/// The relation whose whole row an item of a select list is, as in `SELECT t FROM t`.
fn row_source(ast: &Ast, expr: &Expr, scope: &Scope) -> Option<Id> {
    let (Ast::Identifier(ident), Expr::Row(..) | Expr::Case(_)) = (ast, expr) else { return None };
    let name = braid_sql::fold(ident);
    scope.tables.iter().find(|table| table.name == name)?.relation.as_ref()?;
    let column = scope.columns.iter().find(|column| column.table == name)?;
    Some(column.origin.0)
}
