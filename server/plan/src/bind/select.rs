//! SELECT: from FROM to DISTINCT and ORDER BY, in the order in which SQL evaluates them.
//!
//! ```text
//! FROM ─ WHERE ─ GROUP BY/aggregates ─ HAVING ─ windows ─ sets ─ select list ─ DISTINCT ─ ORDER BY
//! ```

use braid_sql::ast::{
    BinaryOperator, Distinct as DistinctClause, Expr as Ast, GroupByExpr, GroupByWithModifier,
    Ident, OrderByExpr, Select, SelectItem, SelectItemQualifiedWildcardKind,
};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::expr::{Collector, ExprCx, GroupingCall};
use super::function::sort_key;
use super::lock::{LockClause, SelectLocks, lock_rows};
use super::query::{BoundQuery, distinct, ordinal, sorted};
use super::scope::{Scope, Scopes};
use super::{Binder, window};
use crate::expr::{Expr, Slot};
use crate::node::{AggregateNode, Filter, Node, Project, ProjectSet, SortKey, Window};
use crate::planned::OutputColumn;

/// An item of the select list.
struct Item {
    column: OutputColumn,
    expr: Expr,
}

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
            let e = self.expr(selection, &mut ExprCx::plain(scopes, "WHERE"))?;
            let e = self.coerce_bool(e, "WHERE")?;
            node = Node::Filter(Box::new(Filter { input: node, predicates: vec![e] }));
        }
        let windows = window::named_windows(&select.named_window)?;
        let outer_windows = std::mem::replace(&mut self.windows, windows);
        self.keep_unknown = keep_unknown;
        let result = self.select_list(select, order, node, scopes, &locks);
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
        let mut items = self.items(&select.projection, scope, scopes, &mut collector)?;
        let having = match &select.having {
            Some(having) => {
                collector.allow_windows = false;
                let mut cx = ExprCx { scopes, clause: "HAVING", collector: Some(&mut collector) };
                let e = self.expr(having, &mut cx)?;
                collector.allow_windows = true;
                Some(self.coerce_bool(e, "HAVING")?)
            }
            None => None,
        };
        let mut keys = self.order_keys(order, &items, scopes, &mut collector)?;
        let mut on = self.distinct_on(select, &items, scopes, &mut collector)?;
        let group = self.group_by(&select.group_by, &items, scopes)?;
        super::group_items::check(&group.exprs, &collector)?;
        if let (Some(clause), Some(what)) = (locks.clauses.first(), collector.summarizes()) {
            return Err(clause.refuse(what));
        }
        let steady = |item: &Item| !item.expr.is_volatile() && !item.expr.waits();
        let leaves_it = locks.hoist && items.iter().all(steady);
        if !locks.clauses.is_empty() && !leaves_it {
            // The select list is computed from the rows as they are under the lock.
            let node = lock_rows(sorted(node, keys))?;
            return self.finish_select(node, items, Vec::new(), None, select, keep_unknown);
        }
        let grouped = !group.exprs.is_empty()
            || group.explicit
            || !collector.aggregates.is_empty()
            || having.is_some();
        let mut having = having;
        let mut node = node;
        if grouped {
            let mut exprs: Vec<&mut Expr> = items.iter_mut().map(|item| &mut item.expr).collect();
            exprs.extend(having.as_mut());
            exprs.extend(keys.iter_mut().map(|key| &mut key.expr));
            exprs.extend(on.iter_mut().flatten());
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
        node = window_nodes(node, collector.windows);
        if !collector.sets.is_empty() {
            let set = ProjectSet { input: node, functions: collector.sets };
            node = Node::ProjectSet(Box::new(set));
        }
        self.finish_select(node, items, keys, on, select, keep_unknown)
    }

    /// Select list, DISTINCT, ORDER BY, and away with the columns only they needed.
    fn finish_select(
        &mut self,
        node: Node,
        items: Vec<Item>,
        mut keys: Vec<SortKey>,
        on: Option<Vec<Expr>>,
        select: &Select,
        keep_unknown: bool,
    ) -> Result<BoundQuery> {
        let mut exprs: Vec<(Slot, Expr)> = Vec::with_capacity(items.len());
        let mut columns = Vec::with_capacity(items.len());
        for item in items {
            let slot = self.slot();
            let expr = match item.expr.ty() {
                SqlType::Unknown if !keep_unknown => {
                    self.coerce(item.expr, &SqlType::Text, CastContext::Implicit)?
                }
                _ => item.expr,
            };
            columns.push(OutputColumn { ty: expr.ty(), ..item.column });
            exprs.push((slot, expr));
        }
        let width = exprs.len();
        let is_distinct = matches!(select.distinct, Some(DistinctClause::Distinct));
        // Sort keys and DISTINCT ON refer to the projection; what it lacks is added to it.
        let place = |this: &mut Self, e: &mut Expr, exprs: &mut Vec<(Slot, Expr)>| {
            if let Some((slot, known)) = exprs.iter().find(|(_, known)| known.same(e)) {
                *e = Expr::Column(*slot, known.ty());
                return Ok(());
            }
            if is_distinct {
                return Err(Error::new(
                    SqlState::InvalidColumnReference,
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                ));
            }
            let slot = this.slot();
            let ty = e.ty();
            exprs.push((slot, std::mem::replace(e, Expr::Column(slot, ty))));
            Ok(())
        };
        for key in &mut keys {
            place(self, &mut key.expr, &mut exprs)?;
        }
        let mut on = on;
        for e in on.iter_mut().flatten() {
            place(self, e, &mut exprs)?;
        }
        let all_slots: Vec<(Slot, SqlType)> =
            exprs.iter().map(|(slot, e)| (*slot, e.ty())).collect();
        let mut node = Node::Project(Box::new(Project { input: node, exprs }));
        if is_distinct {
            node = distinct(node, Vec::new());
        }
        if let Some(on) = on {
            let on_keys = distinct_on_order(&on, &keys)?;
            node = distinct(sorted(node, on_keys), on);
        } else {
            node = sorted(node, keys);
        }
        if all_slots.len() > width {
            let exprs = all_slots
                .into_iter()
                .take(width)
                .map(|(slot, ty)| (self.slot(), Expr::Column(slot, ty)))
                .collect();
            node = Node::Project(Box::new(Project { input: node, exprs }));
        }
        Ok(BoundQuery { node, columns })
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
                    items.push(self.item(braid_sql::fold(alias), expr, scope));
                }
                SelectItem::Wildcard(_) => {
                    if scope.tables.is_empty() && scope.columns.is_empty() {
                        return Err(Error::new(
                            SqlState::SyntaxError,
                            "SELECT * with no tables specified is not valid",
                        ));
                    }
                    let visible = scope.columns.iter().filter(|c| !c.hidden && !c.merged);
                    items.extend(visible.map(star_item));
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let table = name.0.last().and_then(|part| part.as_ident());
                    let table = table.map(braid_sql::fold).unwrap_or_default();
                    let mut level = Some(&scopes);
                    let found = loop {
                        match level {
                            Some(s) if s.scope.tables.contains(&table) => break s.scope,
                            Some(s) => level = s.parent,
                            None => {
                                return Err(Error::new(
                                    SqlState::UndefinedTable,
                                    format!("missing FROM-clause entry for table \"{table}\""),
                                ));
                            }
                        }
                    };
                    items.extend(found.columns_of(&table).map(star_item));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(ast), _) => {
                    let mut cx =
                        ExprCx { scopes, clause: "SELECT", collector: Some(&mut *collector) };
                    let record = self.expr(ast, &mut cx)?;
                    let SqlType::Record(fields) = record.ty() else {
                        return Err(Error::new(
                            SqlState::WrongObjectType,
                            "row expansion via \"*\" is not supported here",
                        ));
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

    fn item(&self, name: String, expr: Expr, scope: &Scope) -> Item {
        let origin = match &expr {
            Expr::Column(slot, _) => {
                scope.columns.iter().find(|c| c.slot == *slot).map_or((0, 0), |c| c.origin)
            }
            _ => (0, 0),
        };
        let column =
            OutputColumn { name, ty: expr.ty(), table_oid: origin.0, column_number: origin.1 };
        Item { column, expr }
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
                Some(expr) => expr,
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

    fn output_reference(
        &mut self,
        ast: &Ast,
        items: &[Item],
        clause: &str,
    ) -> Result<Option<Expr>> {
        if let Some(place) = ordinal(ast, items.len())? {
            return Ok(Some(items[place].expr.clone()));
        }
        let Ast::Identifier(ident) = ast else { return Ok(None) };
        let name = braid_sql::fold(ident);
        let mut matches = items.iter().filter(|item| item.column.name == name);
        let Some(first) = matches.next() else { return Ok(None) };
        if matches.any(|other| !other.expr.same(&first.expr)) {
            return Err(Error::new(
                SqlState::AmbiguousColumn,
                format!("{clause} \"{name}\" is ambiguous"),
            ));
        }
        Ok(Some(first.expr.clone()))
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
                Some(expr) => expr,
                None => {
                    let mut cx =
                        ExprCx { scopes, clause: "DISTINCT ON", collector: Some(&mut *collector) };
                    self.expr(ast, &mut cx)?
                }
            });
        }
        Ok(Some(on))
    }

    /// GROUP BY: an input column first, then an output name or an ordinal.
    fn group_by(
        &mut self,
        group_by: &GroupByExpr,
        items: &[Item],
        scopes: Scopes<'_>,
    ) -> Result<Grouping> {
        let mut grouping = Grouping::default();
        let GroupByExpr::Expressions(list, modifiers) = group_by else {
            return Err(Error::unsupported("GROUP BY ALL"));
        };
        grouping.explicit = !list.is_empty();
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for ast in list {
            let alternatives: Vec<Vec<Ast>> = match ast {
                Ast::Rollup(parts) => {
                    (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
                }
                Ast::Cube(parts) => (0..1usize << parts.len())
                    .rev()
                    .map(|mask| {
                        let on = |i: &usize| mask >> (parts.len() - 1 - i) & 1 == 1;
                        (0..parts.len()).filter(on).flat_map(|i| parts[i].clone()).collect()
                    })
                    .collect(),
                Ast::GroupingSets(sets) => sets.clone(),
                Ast::Tuple(list) if list.is_empty() => vec![Vec::new()],
                Ast::Tuple(list) => vec![list.clone()],
                other => vec![vec![other.clone()]],
            };
            let mut places = Vec::with_capacity(alternatives.len());
            for alternative in &alternatives {
                let mut set = Vec::new();
                for ast in alternative {
                    let e = self.group_item(ast, items, scopes)?;
                    set.push(grouping.place(e));
                }
                places.push(set);
            }
            sets = sets
                .iter()
                .flat_map(|set| places.iter().map(|more| [&set[..], &more[..]].concat()))
                .collect();
        }
        if !modifiers.is_empty() {
            if let Some(GroupByWithModifier::GroupingSets(other)) = modifiers.first() {
                return Err(Error::unsupported(format!("GROUP BY … {other}")));
            }
            return Err(Error::unsupported("GROUP BY … WITH"));
        }
        if sets.len() > 1 || sets[0].len() < grouping.exprs.len() {
            grouping.sets = sets;
        }
        Ok(grouping)
    }

    fn group_item(&mut self, ast: &Ast, items: &[Item], scopes: Scopes<'_>) -> Result<Expr> {
        if let Ast::Identifier(ident) = ast
            && scopes.scope.find(&braid_sql::fold(ident))?.is_none()
            && let Some(e) = self.output_reference(ast, items, "GROUP BY")?
        {
            return Ok(e);
        }
        if let Some(place) = ordinal(ast, items.len())? {
            return Ok(items[place].expr.clone());
        }
        self.expr(ast, &mut ExprCx::plain(scopes, "GROUP BY"))
    }

    /// The aggregation, and every later expression rewritten to read its output.
    fn aggregate_node(
        &mut self,
        input: Node,
        grouping: Grouping,
        aggregates: Vec<(Slot, crate::node::AggregateCall)>,
        groupings: Vec<GroupingCall>,
        exprs: Vec<&mut Expr>,
        scope: &Scope,
    ) -> Result<Node> {
        let mut group: Vec<(Slot, Expr)> = Vec::with_capacity(grouping.exprs.len());
        for e in grouping.exprs {
            // A plain column keeps its slot, so that subqueries still find it.
            let slot = match &e {
                Expr::Column(slot, _) if grouping.sets.is_empty() => *slot,
                _ => self.slot(),
            };
            group.push((slot, e));
        }
        if grouping.sets.is_empty() {
            self.add_dependent_columns(&mut group, &exprs, scope);
        }
        let known: Vec<Slot> = group.iter().map(|(slot, _)| *slot).collect();
        let mut computed: Vec<Slot> = aggregates.iter().map(|(slot, _)| *slot).collect();
        computed.extend(groupings.iter().map(|call| call.slot));
        let mask = (!groupings.is_empty()).then(|| self.slot());
        let mut calls = Vec::with_capacity(groupings.len());
        for call in groupings {
            calls.push((call.slot, self.grouping_bits(mask.unwrap_or_default(), &call, &group)?));
        }
        for e in exprs {
            replace_computed(e, &calls);
            replace_grouped(e, &group);
            check_grouped(e, &known, &computed, scope)?;
        }
        Ok(Node::Aggregate(Box::new(AggregateNode {
            input,
            group,
            sets: grouping.sets,
            grouping: mask,
            aggregates,
        })))
    }

    /// Bits of the mask over all grouping expressions, in the order of `GROUPING`'s arguments.
    fn grouping_bits(
        &mut self,
        mask: Slot,
        call: &GroupingCall,
        group: &[(Slot, Expr)],
    ) -> Result<Expr> {
        let int8 = |value: i64| Expr::Const(Datum::Int(value), SqlType::Int8);
        let mut result = int8(0);
        for arg in &call.args {
            let place = group.iter().position(|(_, known)| known.same(arg)).ok_or_else(|| {
                Error::new(
                    SqlState::GroupingError,
                    "arguments to GROUPING must be grouping expressions of the associated query \
                     level",
                )
            })?;
            let shift = Expr::Const(Datum::Int((group.len() - 1 - place) as i64), SqlType::Int4);
            let bit = self.binary(">>", Expr::Column(mask, SqlType::Int8), shift)?;
            let bit = self.binary("&", bit, int8(1))?;
            result = self.binary("*", result, int8(2))?;
            result = self.binary("+", result, bit)?;
        }
        self.coerce(result, &SqlType::Int4, CastContext::Explicit)
    }

    /// Columns that depend on a grouped primary key are grouped too.
    fn add_dependent_columns(
        &mut self,
        group: &mut Vec<(Slot, Expr)>,
        exprs: &[&mut Expr],
        scope: &Scope,
    ) {
        let grouped = |slot: Slot, group: &[(Slot, Expr)]| {
            group.iter().any(|(_, e)| matches!(e, Expr::Column(s, _) if *s == slot))
        };
        let mut wanted = Vec::new();
        for e in exprs {
            e.slots(&mut wanted);
        }
        for slot in wanted {
            if grouped(slot, group) {
                continue;
            }
            let Some(column) = scope.columns.iter().find(|c| c.slot == slot) else { continue };
            let Some(table) = self.cx.catalog.table(column.origin.0) else { continue };
            let has_key = table.primary.keys.iter().all(|key| {
                scope.columns.iter().any(|c| {
                    c.table == column.table
                        && c.origin == (table.id, key.column)
                        && grouped(c.slot, group)
                })
            });
            if has_key {
                group.push((slot, Expr::Column(slot, column.ty.clone())));
            }
        }
    }
}

/// GROUP BY, bound.
#[derive(Default)]
struct Grouping {
    exprs: Vec<Expr>,
    sets: Vec<Vec<usize>>,
    explicit: bool,
}

impl Grouping {
    fn place(&mut self, e: Expr) -> usize {
        if let Some(place) = self.exprs.iter().position(|known| known.same(&e)) {
            return place;
        }
        self.exprs.push(e);
        self.exprs.len() - 1
    }
}

/// Puts grouping expressions' slots in their places.
fn replace_grouped(e: &mut Expr, group: &[(Slot, Expr)]) {
    if let Some((slot, known)) = group.iter().find(|(_, known)| known.same(e)) {
        *e = Expr::Column(*slot, known.ty());
        return;
    }
    e.for_each_child_mut(&mut |child| replace_grouped(child, group));
}

/// Puts what is computed from the aggregation's output in its place.
fn replace_computed(e: &mut Expr, calls: &[(Slot, Expr)]) {
    if let Expr::Column(slot, _) = e
        && let Some((_, call)) = calls.iter().find(|(known, _)| known == slot)
    {
        *e = call.clone();
        return;
    }
    e.for_each_child_mut(&mut |child| replace_computed(child, calls));
}

/// 42803 for an input column that is neither grouped nor inside an aggregate.
fn check_grouped(e: &Expr, group: &[Slot], aggregates: &[Slot], scope: &Scope) -> Result<()> {
    if let Expr::Column(slot, _) = e
        && !group.contains(slot)
        && !aggregates.contains(slot)
        && let Some(column) = scope.columns.iter().find(|c| c.slot == *slot)
    {
        return Err(Error::new(
            SqlState::GroupingError,
            format!(
                "column \"{}.{}\" must appear in the GROUP BY clause or be used in an aggregate \
                 function",
                column.table, column.name
            ),
        ));
    }
    let mut result = Ok(());
    e.for_each_child(&mut |child| {
        if result.is_ok() {
            result = check_grouped(child, group, aggregates, scope);
        }
    });
    result
}

/// One operator for each window that several functions share.
fn window_nodes(mut node: Node, windows: Vec<window::BoundWindow>) -> Node {
    let mut operators: Vec<Window> = Vec::new();
    for bound in windows {
        let same = operators.iter_mut().find(|window| {
            let keys = |a: &SortKey, b: &SortKey| {
                a.expr.same(&b.expr)
                    && a.descending == b.descending
                    && a.nulls_first == b.nulls_first
            };
            window.partition.len() == bound.partition.len()
                && window.order.len() == bound.order.len()
                && window.partition.iter().zip(&bound.partition).all(|(a, b)| a.same(b))
                && window.order.iter().zip(&bound.order).all(|(a, b)| keys(a, b))
        });
        match same {
            Some(window) => window.calls.push((bound.slot, bound.call)),
            None => operators.push(Window {
                input: Node::one_row(),
                partition: bound.partition,
                order: bound.order,
                calls: vec![(bound.slot, bound.call)],
            }),
        }
    }
    for mut window in operators {
        window.input = node;
        node = Node::Window(Box::new(window));
    }
    node
}

/// DISTINCT ON sorts by its expressions first; ORDER BY must start with them.
fn distinct_on_order(on: &[Expr], keys: &[SortKey]) -> Result<Vec<SortKey>> {
    let matching = keys.iter().take_while(|key| on.iter().any(|e| e.same(&key.expr))).count();
    if matching < keys.len() && matching < on.len() {
        return Err(Error::new(
            SqlState::InvalidColumnReference,
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
        ));
    }
    let mut result: Vec<SortKey> = keys[..matching].to_vec();
    for e in on {
        if !result.iter().any(|key| key.expr.same(e)) {
            result.push(SortKey { expr: e.clone(), descending: false, nulls_first: false });
        }
    }
    result.extend_from_slice(&keys[matching..]);
    Ok(result)
}

fn star_item(column: &super::scope::ScopeColumn) -> Item {
    Item {
        column: OutputColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            table_oid: column.origin.0,
            column_number: column.origin.1,
        },
        expr: Expr::Column(column.slot, column.ty.clone()),
    }
}

/// The name that an expression without an alias gets.
pub(super) fn column_name(ast: &Ast) -> String {
    let last = |parts: &[Ident]| parts.last().map(braid_sql::fold).unwrap_or_default();
    match ast {
        Ast::Identifier(ident) => braid_sql::fold(ident),
        Ast::CompoundIdentifier(parts) => last(parts),
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => column_name(inner),
        Ast::Cast { expr, data_type, .. } => match column_name(expr) {
            name if is_weak_name(expr) => match super::sql_type_of(data_type) {
                Ok(ty) => ty.short_name().trim_start_matches('_').to_owned(),
                Err(_) => name,
            },
            name => name,
        },
        Ast::TypedString(typed) => match super::sql_type_of(&typed.data_type) {
            Ok(ty) => ty.short_name().to_owned(),
            Err(_) => "?column?".to_owned(),
        },
        Ast::Function(function) => function
            .name
            .0
            .last()
            .and_then(|p| p.as_ident())
            .map(braid_sql::fold)
            .unwrap_or_default(),
        Ast::Case { else_result, .. } => match else_result.as_deref() {
            Some(e) if is_weak_name(e) => "case".to_owned(),
            Some(e) => column_name(e),
            None => "case".to_owned(),
        },
        Ast::Array(_) => "array".to_owned(),
        Ast::Exists { .. } => "exists".to_owned(),
        Ast::BinaryOp { op: BinaryOperator::Overlaps, .. } => "overlaps".to_owned(),
        Ast::Tuple(_) => "row".to_owned(),
        Ast::Interval(_) => "interval".to_owned(),
        Ast::Extract { .. } => "extract".to_owned(),
        Ast::AtTimeZone { .. } => "timezone".to_owned(),
        Ast::Ceil { .. } => "ceil".to_owned(),
        Ast::Floor { .. } => "floor".to_owned(),
        Ast::Position { .. } => "position".to_owned(),
        Ast::Substring { .. } => "substring".to_owned(),
        Ast::Trim { trim_where, .. } => match trim_where {
            Some(braid_sql::ast::TrimWhereField::Leading) => "ltrim".to_owned(),
            Some(braid_sql::ast::TrimWhereField::Trailing) => "rtrim".to_owned(),
            _ => "btrim".to_owned(),
        },
        Ast::Overlay { .. } => "overlay".to_owned(),
        Ast::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                braid_sql::ast::AccessExpr::Dot(Ast::Identifier(name)) => {
                    Some(braid_sql::fold(name))
                }
                _ => None,
            });
            field.unwrap_or_else(|| column_name(root))
        }
        Ast::Subquery(query) => match &*query.body {
            braid_sql::ast::SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(e)) => column_name(e),
                Some(SelectItem::ExprWithAlias { alias, .. }) => braid_sql::fold(alias),
                _ => "?column?".to_owned(),
            },
            _ => "?column?".to_owned(),
        },
        _ => "?column?".to_owned(),
    }
}

/// Whether an expression's name comes from a type or from CASE: a cast around it gives a new one.
fn is_weak_name(ast: &Ast) -> bool {
    match ast {
        Ast::Cast { expr, .. } => is_weak_name(expr),
        Ast::Case { else_result, .. } => else_result.as_deref().is_none_or(is_weak_name),
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => is_weak_name(inner),
        Ast::TypedString(_) | Ast::Interval(_) => true,
        _ => column_name(ast) == "?column?",
    }
}
