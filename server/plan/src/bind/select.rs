//! SELECT: from FROM to DISTINCT and ORDER BY, in the order in which SQL evaluates them.
//!
//! ```text
//! FROM ─ WHERE ─ GROUP BY/aggregates ─ HAVING ─ windows ─ sets ─ select list ─ DISTINCT ─ ORDER BY
//! ```

use braid_sql::ast::{
    Distinct as DistinctClause, Expr as Ast, OrderByExpr, Select, SelectItem,
    SelectItemQualifiedWildcardKind,
};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::context::{Collector, ExprCx};
use super::function::sort_key;
use super::group::Grouping;
use super::lock::{LockClause, SelectLocks, lock_rows};
use super::names::{alias_name, column_name};
use super::operators::check_order;
use super::output::{Item, Output, set_nodes, sets_below_windows, window_nodes};
use super::query::{BoundQuery, ordinal, sorted};
use super::scope::{Scope, ScopeColumn, Scopes};
use super::{Binder, window};
use crate::expr::Expr;
use crate::node::{Filter, Node, SortKey};
use crate::planned::OutputColumn;

impl Binder<'_> {
    pub(super) fn bind_select(
        &mut self,
        select: &Select,
        order: &[&OrderByExpr],
        locks: SelectLocks,
        parent: Option<&Scopes<'_>>,
    ) -> Result<BoundQuery> {
        if select.into.is_some() {
            return Err(Error::unsupported("SELECT INTO").hint("Use CREATE TABLE … AS."));
        }
        if select.qualify.is_some() || select.top.is_some() || !select.lateral_views.is_empty() {
            return Err(Error::unsupported("this SELECT clause"));
        }
        self.in_range(|this| this.select_body(select, order, locks, parent))
    }

    fn select_body(
        &mut self,
        select: &Select,
        order: &[&OrderByExpr],
        locks: SelectLocks,
        parent: Option<&Scopes<'_>>,
    ) -> Result<BoundQuery> {
        let keep_unknown = std::mem::take(&mut self.keep_unknown);
        for clause in &locks.clauses {
            clause.check_select(select)?;
        }
        let outer_locks = std::mem::replace(&mut self.from_locks, locks.clauses.clone());
        let from = self.bind_from(&select.from, parent);
        let clauses = std::mem::replace(&mut self.from_locks, outer_locks);
        let (mut node, scope) = from?;
        clauses.iter().try_for_each(LockClause::check_found)?;
        let scopes = Scopes { scope: &scope, parent };
        if let Some(selection) = &select.selection {
            let e = self.condition(selection, &mut ExprCx::plain(scopes, "WHERE"), "WHERE")?;
            node = Node::Filter(Box::new(Filter { input: node, predicates: vec![e] }));
        }
        let windows = window::named_windows(&select.named_window)?;
        for definition in &select.named_window {
            if let Some(window) = windows.get(&braid_sql::fold(&definition.0)) {
                self.note_window(definition, window);
            }
        }
        let outer_windows = std::mem::replace(&mut self.windows, windows);
        self.keep_unknown = keep_unknown;
        let outer_subqueries = std::mem::take(&mut self.shared_subqueries);
        let result = self.select_list(select, order, node, scopes, &locks);
        self.shared_subqueries = outer_subqueries;
        self.windows = outer_windows;
        result
    }

    fn select_list(
        &mut self,
        select: &Select,
        order: &[&OrderByExpr],
        node: Node,
        scopes: Scopes<'_>,
        locks: &SelectLocks,
    ) -> Result<BoundQuery> {
        let scope = scopes.scope;
        let keep_unknown = std::mem::take(&mut self.keep_unknown);
        let mut collector =
            Collector { allow_aggregates: true, allow_windows: true, ..Collector::default() };
        let since = self.columns_bound();
        let mut items = self.items(&select.projection, scope, scopes, &mut collector)?;
        let having = match &select.having {
            Some(having) => {
                collector.allow_windows = false;
                let mut cx = ExprCx { scopes, clause: "HAVING", collector: Some(&mut collector) };
                let e = self.condition(having, &mut cx, "HAVING")?;
                collector.allow_windows = true;
                Some(e)
            }
            None => None,
        };
        let mut group = self.group_by(&select.group_by, &items, scopes)?;
        group.since = since;
        let keys = self.order_keys(order, &items, scopes, &mut collector)?;
        let on = self.distinct_on(select, &items, scopes, &mut collector)?;
        group.check(&collector)?;
        if let (Some(clause), Some(what)) = (locks.clauses.first(), collector.summarizes()) {
            return Err(clause.refuse(what));
        }
        let is_distinct = matches!(select.distinct, Some(DistinctClause::Distinct));
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
            let output = Output { items, keys, is_distinct, on: None, sets, keep_unknown };
            return self.finish_select(node, output);
        }
        group.replace_items(&mut items);
        let mut output = Output { items, keys, is_distinct, on, sets: Vec::new(), keep_unknown };
        let node = self.summarized(node, group, having, collector, &mut output, scope)?;
        self.finish_select(node, output)
    }

    /// The aggregation, HAVING and the window functions over FROM and WHERE.
    fn summarized(
        &mut self,
        mut node: Node,
        group: Grouping,
        mut having: Option<Expr>,
        mut collector: Collector,
        output: &mut Output,
        scope: &Scope,
    ) -> Result<Node> {
        let grouped = group.explicit
            || !collector.aggregates.is_empty()
            || !collector.groupings.is_empty()
            || having.is_some();
        if grouped {
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
            node = self.aggregate_node(node, group, aggregates, groupings, exprs, scope)?;
        }
        if let Some(having) = having {
            node = Node::Filter(Box::new(Filter { input: node, predicates: vec![having] }));
        }
        let (below, above) = sets_below_windows(collector.sets, &collector.windows)?;
        output.sets = above;
        Ok(window_nodes(set_nodes(node, below), collector.windows))
    }

    /// The select list with `*` written out.
    fn items(
        &mut self,
        projection: &[SelectItem],
        scope: &Scope,
        scopes: Scopes<'_>,
        collector: &mut Collector,
    ) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(projection.len());
        for item in projection {
            match item {
                SelectItem::UnnamedExpr(ast) => {
                    let mut cx =
                        ExprCx { scopes, clause: "SELECT", collector: Some(&mut *collector) };
                    let expr = self.expr(ast, &mut cx)?;
                    let name = column_name(ast);
                    items.push(self.item(name, expr, scope));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let mut cx =
                        ExprCx { scopes, clause: "SELECT", collector: Some(&mut *collector) };
                    let expr = self.expr(expr, &mut cx)?;
                    items.push(self.item(alias_name(alias)?, expr, scope));
                }
                SelectItem::Wildcard(options) => {
                    if scope.tables.is_empty() && scope.columns.is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        let place = braid_sql::offset_of(options.wildcard_token.0.span);
                        return Err(Error::new(SqlState::SyntaxError, message).position(place));
                    }
                    let visible = || scope.columns.iter().filter(|c| !c.hidden && !c.merged);
                    self.note_star(item, visible());
                    for column in visible() {
                        self.check_guarded(column.slot)?;
                        items.push(self.star_item(column));
                    }
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let columns = self.named_columns(name, &scopes)?;
                    self.note_star(item, columns.iter().copied());
                    items.extend(columns.into_iter().map(|column| self.star_item(column)));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(ast), _) => {
                    let mut cx =
                        ExprCx { scopes, clause: "SELECT", collector: Some(&mut *collector) };
                    let record = self.expr(ast, &mut cx)?;
                    let SqlType::Record(fields) = record.ty() else {
                        let message = "row expansion via \"*\" is not supported here";
                        return Err(Error::new(SqlState::WrongObjectType, message));
                    };
                    for (i, (name, ty)) in fields.into_iter().enumerate() {
                        let expr = Expr::Field(Box::new(record.clone()), i, ty);
                        items.push(self.item(name, expr, scope));
                    }
                }
                other => return Err(Error::unsupported(format!("the select item {other}"))),
            }
        }
        Ok(items)
    }

    fn star_item(&mut self, column: &ScopeColumn) -> Item {
        Item {
            column: OutputColumn {
                name: column.name.clone(),
                ty: column.ty.clone(),
                table_oid: column.origin.0,
                column_number: column.origin.1,
            },
            expr: Expr::Column(column.slot, column.ty.clone()),
            slot: self.slot(),
        }
    }

    fn item(&mut self, name: String, expr: Expr, scope: &Scope) -> Item {
        let origin = match &expr {
            Expr::Column(slot, _) => {
                scope.columns.iter().find(|c| c.slot == *slot).map_or((0, 0), |c| c.origin)
            }
            _ => (0, 0),
        };
        let column =
            OutputColumn { name, ty: expr.ty(), table_oid: origin.0, column_number: origin.1 };
        Item { column, expr, slot: self.slot() }
    }

    /// RETURNING items: a select list without aggregates or sets.
    pub(super) fn returning_items(
        &mut self,
        projection: &[SelectItem],
        scope: &Scope,
    ) -> Result<Vec<(OutputColumn, Expr)>> {
        let scopes = Scopes { scope, parent: None };
        let mut collector = Collector::default();
        let items = self.items(projection, scope, scopes, &mut collector)?;
        let mut result = Vec::with_capacity(items.len());
        for item in items {
            let expr = match item.expr.ty() {
                SqlType::Unknown => {
                    self.coerce(item.expr, &SqlType::Text, CastContext::Implicit)?
                }
                _ => item.expr,
            };
            result.push((OutputColumn { ty: expr.ty(), ..item.column }, expr));
        }
        Ok(result)
    }

    /// ORDER BY: an output name, an ordinal, or an expression over the input.
    fn order_keys(
        &mut self,
        order: &[&OrderByExpr],
        items: &[Item],
        scopes: Scopes<'_>,
        collector: &mut Collector,
    ) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let expr = match self.output_reference(&key.expr, items, "ORDER BY")? {
                Some(place) => items[place].reference(),
                None => {
                    let mut cx =
                        ExprCx { scopes, clause: "ORDER BY", collector: Some(&mut *collector) };
                    self.expr(&key.expr, &mut cx)?
                }
            };
            keys.push(sort_key(expr, key));
        }
        Ok(keys)
    }

    /// The item of the select list that a number or a name stands for.
    pub(super) fn output_reference(
        &mut self,
        ast: &Ast,
        items: &[Item],
        clause: &str,
    ) -> Result<Option<usize>> {
        if let Some(place) = ordinal(ast, items.len(), clause)? {
            self.note_place(ast, place);
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
            ));
        }
        self.note_place(ast, place);
        Ok(Some(place))
    }

    fn distinct_on(
        &mut self,
        select: &Select,
        items: &[Item],
        scopes: Scopes<'_>,
        collector: &mut Collector,
    ) -> Result<Option<Vec<Expr>>> {
        let Some(DistinctClause::On(list)) = &select.distinct else { return Ok(None) };
        let mut on = Vec::with_capacity(list.len());
        for ast in list {
            on.push(match self.output_reference(ast, items, "DISTINCT ON")? {
                Some(place) => items[place].reference(),
                None => {
                    let mut cx =
                        ExprCx { scopes, clause: "DISTINCT ON", collector: Some(&mut *collector) };
                    self.expr(ast, &mut cx)?
                }
            });
        }
        Ok(Some(on))
    }
}
