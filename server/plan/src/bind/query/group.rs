//! GROUP BY: grouping sets, the aggregation, and what may be read above it.

use std::collections::{BTreeSet, HashSet};

use braid_sql::ast::{Expr as Ast, GroupByExpr, GroupByWithModifier};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::ordered::ordinal;
use super::output::Item;
use super::select::output_reference;
use crate::bind::Binder;
use crate::bind::expr::operators::{call_operator, check_equality, coerce};
use crate::bind::expr::scalar::bind_expr;
use crate::bind::refusals::NotGrouped;
use crate::bind::scope::columns::{Scope, ScopeTable, Scopes};
use crate::bind::scope::context::{Collector, ExprCx, GroupingCall};
use crate::bind::scope::places::start_of;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{AggregateCall, AggregateNode, FunctionCall, Node};

/// The most grouping sets of one query.
const GROUPING_SETS_MAX: usize = 4096;
/// The most elements of a CUBE.
const CUBE_MAX: usize = 12;

/// GROUP BY, bound.
#[derive(Default)]
pub(crate) struct Grouping {
    keys: Vec<GroupKey>,
    sets: Vec<Vec<usize>>,
    /// There is a GROUP BY, though it may be empty: `GROUP BY ()`.
    pub explicit: bool,
    /// How many columns had been bound before the select list, for the places of errors.
    pub since: usize,
}

/// A grouping expression.
struct GroupKey {
    /// The column of the aggregation's output.
    slot: Slot,
    expr: Expr,
    /// The item of the select list that it stands for.
    item: Option<usize>,
    /// Where it stands in GROUP BY.
    place: u32,
}

impl Grouping {
    /// The place of an expression among the keys. With grouping sets, two items of the select
    /// list are two keys even if their expressions are the same.
    fn place(&mut self, (expr, item): (Expr, Option<usize>), start: u32) -> usize {
        let known = |key: &GroupKey| key.item == item && key.expr.alike(&expr);
        if let Some(place) = self.keys.iter().position(known) {
            return place;
        }
        self.keys.push(GroupKey { slot: 0, expr, item, place: start });
        self.keys.len() - 1
    }

    /// The expressions.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.keys.iter().map(|key| &key.expr)
    }

    fn slots_read(&self) -> Vec<Slot> {
        self.exprs().flat_map(walk::columns_read).map(|(slot, _)| slot).collect()
    }

    /// The set-returning functions that are grouped by, taken out of those of the select.
    pub(crate) fn take_sets(&self, sets: &mut Vec<FunctionCall>) -> Vec<FunctionCall> {
        let mut read = self.slots_read();
        let mut taken = Vec::new();
        while let Some(at) = sets.iter().position(|set| gives_any(set, &read)) {
            let set = sets.remove(at);
            let args = set.args.iter().flat_map(walk::columns_read);
            read.extend(args.map(|(slot, _)| slot));
            taken.push(set);
        }
        taken
    }

    /// Items of the select list that are grouping expressions read the aggregation's output.
    pub(crate) fn replace_items(&self, items: &mut [Item]) {
        if self.sets.is_empty() {
            return;
        }
        for key in &self.keys {
            if let Some(item) = key.item.and_then(|place| items.get_mut(place)) {
                item.expr = Expr::Column(key.slot, key.expr.ty());
            }
        }
    }

    /// 42803 or 0A000 for an item of the select list that is only computed after grouping.
    pub(crate) fn check(&self, collector: &Collector, items: &[Item]) -> Result<()> {
        let mut read = self.slots_read();
        // What a set-returning function reads is computed before grouping, too.
        let sets = collector.sets.iter().filter(|set| gives_any(set, &read));
        let args: Vec<(Slot, SqlType)> =
            sets.flat_map(|set| &set.args).flat_map(walk::columns_read).collect();
        read.extend(args.into_iter().map(|(slot, _)| slot));
        let reads = |slot: &Slot| read.contains(slot);
        let aggregate = collector.aggregates.iter().map(|(slot, _)| *slot).find(reads);
        let grouping = collector.groupings.iter().map(|call| call.slot).find(reads);
        let window = collector.windows.iter().map(|window| window.slot).find(reads);
        let (state, what, slot) = if let Some(slot) = aggregate {
            (SqlState::GroupingError, "aggregate functions", slot)
        } else if let Some(slot) = grouping {
            (SqlState::GroupingError, "grouping operations", slot)
        } else if let Some(slot) = window {
            (SqlState::WindowingError, "window functions", slot)
        } else {
            return Ok(());
        };
        let message = format!("{what} are not allowed in GROUP BY");
        Err(Error::new(state, message).position(self.place_of(slot, items)))
    }

    /// Where the key stands that reads a slot: the item of the select list that it stands for.
    fn place_of(&self, slot: Slot, items: &[Item]) -> u32 {
        let reads = |key: &&GroupKey| {
            walk::columns_read(&key.expr).into_iter().any(|(read, _)| read == slot)
        };
        let Some(key) = self.keys.iter().find(reads) else { return 0 };
        let item = items.iter().find(|item| item.expr.alike(&key.expr));
        item.map_or(key.place, |item| item.place)
    }
}

/// Whether one of these slots is a column of a set-returning function.
fn gives_any(set: &FunctionCall, slots: &[Slot]) -> bool {
    set.columns.iter().any(|(slot, _)| slots.contains(slot))
}

/// GROUP BY: an input column first, then an output name or an ordinal.
pub(crate) fn bind_group_by(
    binder: &mut Binder<'_>,
    group_by: &GroupByExpr,
    items: &[Item],
    scopes: Scopes<'_>,
    collector: &mut Collector,
) -> Result<Grouping> {
    let mut grouping = Grouping::default();
    let GroupByExpr::Expressions(list, modifiers) = group_by else {
        return Err(Error::unsupported("GROUP BY ALL"));
    };
    if !modifiers.is_empty() {
        if let Some(GroupByWithModifier::GroupingSets(other)) = modifiers.first() {
            return Err(Error::unsupported(format!("GROUP BY … {other}")));
        }
        return Err(Error::unsupported("GROUP BY … WITH"));
    }
    let (is_distinct, list) = braid_sql::grouping_items(list);
    grouping.explicit = !list.is_empty();
    let several =
        list.iter().any(|ast| matches!(ast, Ast::Rollup(_) | Ast::Cube(_) | Ast::GroupingSets(_)));
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for ast in list {
        let alternatives = alternatives(ast)?;
        if sets.len() * alternatives.len() > GROUPING_SETS_MAX {
            return Err(too_many_sets());
        }
        let mut places = Vec::with_capacity(alternatives.len());
        for alternative in &alternatives {
            let mut set = Vec::new();
            for ast in alternative {
                let (e, item) = bind_group_item(binder, ast, items, scopes, collector)?;
                set.push(grouping.place((e, item.filter(|_| several)), start_of(ast)));
            }
            places.push(set);
        }
        sets = sets
            .iter()
            .flat_map(|set| places.iter().map(|more| [&set[..], &more[..]].concat()))
            .collect();
    }
    if is_distinct {
        drop_repeated(&mut sets);
    }
    if sets.len() > 1 || sets[0].len() < grouping.keys.len() {
        grouping.sets = sets;
    }
    for key in &mut grouping.keys {
        check_equality(&key.expr.ty()).map_err(|error| error.position(key.place))?;
        // A plain column keeps its slot, unless some grouping set makes it NULL.
        key.slot = match &key.expr {
            Expr::Column(slot, _) if grouping.sets.is_empty() => *slot,
            _ => binder.slot(),
        };
    }
    Ok(grouping)
}

/// Leaves of grouping sets with the same expressions only the first.
fn drop_repeated(sets: &mut Vec<Vec<usize>>) {
    let mut known = HashSet::new();
    sets.retain(|set| known.insert(set.iter().copied().collect::<BTreeSet<usize>>()));
}

/// A grouping expression, and the first item of the select list that it stands for.
fn bind_group_item(
    binder: &mut Binder<'_>,
    ast: &Ast,
    items: &[Item],
    scopes: Scopes<'_>,
    collector: &mut Collector,
) -> Result<(Expr, Option<usize>)> {
    let place = match ast {
        Ast::Identifier(ident) if scopes.scope.find(&braid_sql::fold(ident))?.is_some() => None,
        Ast::Identifier(_) => output_reference(binder, ast, items, "GROUP BY")?,
        _ => ordinal(ast, items.len(), "GROUP BY")?,
    };
    if let Some(place) = place {
        binder.note_place(ast, place);
        return Ok((items[place].expr.clone(), Some(place)));
    }
    let aggregates = std::mem::replace(&mut collector.allow_aggregates, false);
    let mut cx = ExprCx { scopes, clause: "GROUP BY", collector: Some(&mut *collector) };
    let e = bind_expr(binder, ast, &mut cx);
    collector.allow_aggregates = aggregates;
    let e = e?;
    let item = items.iter().position(|item| item.expr.alike(&e));
    Ok((e, item))
}

/// The calls that an aggregation computes.
pub(crate) struct GroupedCalls {
    /// Aggregates by the slots of their results.
    pub aggregates: Vec<(Slot, AggregateCall)>,
    /// Calls of `GROUPING`.
    pub groupings: Vec<GroupingCall>,
    /// The direct arguments of ordered-set aggregates.
    pub direct_args: Vec<Expr>,
}

/// The aggregation, and every later expression rewritten to read its output.
pub(crate) fn aggregate_node(
    binder: &mut Binder<'_>,
    input: Node,
    grouping: Grouping,
    calls: GroupedCalls,
    exprs: Vec<&mut Expr>,
    scope: &Scope,
) -> Result<Node> {
    let GroupedCalls { aggregates, groupings, direct_args } = calls;
    let Grouping { keys, sets, since, .. } = grouping;
    let mut group: Vec<(Slot, Expr)> = keys.into_iter().map(|key| (key.slot, key.expr)).collect();
    if sets.is_empty() {
        add_dependent_columns(binder, &mut group, &exprs, scope);
    }
    let mut known: Vec<Slot> = group.iter().map(|(slot, _)| *slot).collect();
    known.extend(aggregates.iter().map(|(slot, _)| *slot));
    let mask = (!groupings.is_empty()).then(|| binder.slot());
    let mut calls = Vec::with_capacity(groupings.len());
    for call in groupings {
        let Some(mask) = mask else { return Err(Error::broken("GROUPING without a mask")) };
        calls.push((call.slot, grouping_bits(binder, mask, (&call, since), &group)?));
    }
    for e in exprs {
        replace_computed(e, &calls);
        replace_grouped(e, &group);
        check_grouped(e, &known, scope)
            .map_err(|(slot, error)| error.position(binder.places.column_place(slot, since)))?;
    }
    for mut e in direct_args {
        replace_grouped(&mut e, &group);
        check_grouped(&e, &known, scope).map_err(|(slot, error)| {
            let detail =
                "Direct arguments of an ordered-set aggregate must use only grouped columns.";
            error.detail(detail).position(binder.places.column_place(slot, since))
        })?;
    }
    Ok(Node::Aggregate(Box::new(AggregateNode {
        input,
        group,
        sets,
        grouping: mask,
        aggregates,
        parallel: None,
    })))
}

/// Bits of the mask over all grouping expressions, in the order of `GROUPING`'s arguments.
fn grouping_bits(
    binder: &mut Binder<'_>,
    mask: Slot,
    (call, since): (&GroupingCall, usize),
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
            .position(match arg {
                Expr::Column(slot, _) => binder.places.column_place(*slot, since),
                _ => 0,
            })
        })?;
        let shift = Expr::Const(Datum::Int((group.len() - 1 - place) as i64), SqlType::Int4);
        let bit = call_operator(binder, ">>", Expr::Column(mask, SqlType::Int8), shift)?;
        let bit = call_operator(binder, "&", bit, int8(1))?;
        result = call_operator(binder, "*", result, int8(2))?;
        result = call_operator(binder, "+", result, bit)?;
    }
    coerce(binder, result, &SqlType::Int4, CastContext::Explicit)
}

/// Columns that depend on a grouped primary key are grouped too.
fn add_dependent_columns(
    binder: &mut Binder<'_>,
    group: &mut Vec<(Slot, Expr)>,
    exprs: &[&mut Expr],
    scope: &Scope,
) {
    let grouped = |slot: Slot, group: &[(Slot, Expr)]| {
        group.iter().any(|(_, e)| matches!(e, Expr::Column(s, _) if *s == slot))
    };
    let mut wanted = Vec::new();
    for e in exprs {
        wanted.extend(walk::columns_read(e).into_iter().map(|(slot, _)| slot));
    }
    for slot in wanted {
        if grouped(slot, group) {
            continue;
        }
        let Some(column) = scope.columns.iter().find(|c| c.slot == slot) else { continue };
        let Some(table) = binder.cx.catalog.table(column.origin.0) else { continue };
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

/// The grouping sets that one item of GROUP BY stands for.
fn alternatives(ast: &Ast) -> Result<Vec<Vec<&Ast>>> {
    Ok(match ast {
        Ast::Rollup(parts) => {
            (0..=parts.len()).rev().map(|n| parts[..n].iter().flatten().collect()).collect()
        }
        Ast::Cube(parts) => {
            if parts.len() > CUBE_MAX {
                return Err(Error::new(
                    SqlState::TooManyColumns,
                    format!("CUBE is limited to {CUBE_MAX} elements"),
                ));
            }
            (0..1_usize << parts.len())
                .rev()
                .map(|mask| {
                    let on = |i: &usize| mask >> (parts.len() - 1 - i) & 1 == 1;
                    (0..parts.len()).filter(on).flat_map(|i| &parts[i]).collect()
                })
                .collect()
        }
        Ast::GroupingSets(sets) => {
            let mut all = Vec::with_capacity(sets.len());
            for set in sets {
                match &set[..] {
                    [nested @ (Ast::Rollup(_) | Ast::Cube(_) | Ast::GroupingSets(_))] => {
                        all.extend(alternatives(nested)?);
                    }
                    plain => all.push(plain.iter().collect()),
                }
                if all.len() > GROUPING_SETS_MAX {
                    return Err(too_many_sets());
                }
            }
            all
        }
        Ast::Tuple(list) if list.is_empty() => vec![Vec::new()],
        Ast::Tuple(list) => vec![list.iter().collect()],
        other => vec![vec![other]],
    })
}

fn too_many_sets() -> Error {
    Error::new(
        SqlState::StatementTooComplex,
        format!("too many grouping sets present (maximum {GROUPING_SETS_MAX})"),
    )
}

/// Puts grouping expressions' slots in their places. Inside a subquery only columns are grouping
/// expressions, as in PostgreSQL.
fn replace_grouped(e: &mut Expr, group: &[(Slot, Expr)]) {
    if let Some((slot, known)) = group.iter().find(|(_, known)| known.alike(e)) {
        *e = Expr::Column(*slot, known.ty());
        return;
    }
    if let Expr::Subquery(_) = e {
        walk::columns_mut(e, &mut |column| {
            if let Some((slot, known)) = group.iter().find(|(_, known)| known.same(column)) {
                *column = Expr::Column(*slot, known.ty());
            }
        });
    }
    e.for_each_child_mut(&mut |child| replace_grouped(child, group));
}

/// Puts what is computed from the aggregation's output in its place.
fn replace_computed(e: &mut Expr, calls: &[(Slot, Expr)]) {
    if calls.is_empty() {
        return;
    }
    walk::columns_mut(e, &mut |column| {
        if let Expr::Column(slot, _) = column
            && let Some((_, call)) = calls.iter().find(|(known, _)| known == slot)
        {
            *column = call.clone();
        }
    });
}

/// What messages call a column of FROM: `t.*` for what says whether a row of `t` is there.
fn shown_column(slot: Slot, scope: &Scope) -> Option<String> {
    let column = scope.columns.iter().find(|column| column.slot == slot);
    column.map(|column| format!("{}.{}", column.table, column.name)).or_else(|| {
        let says = |table: &&ScopeTable| table.presence.as_ref().is_some_and(|p| p.0 == slot);
        scope.tables.iter().find(says).map(|table| format!("{}.*", table.name))
    })
}

/// 42803 for an input column that is neither grouped nor inside an aggregate.
fn check_grouped(e: &Expr, known: &[Slot], scope: &Scope) -> Result<(), (Slot, Error)> {
    let (columns, inside) = match e {
        Expr::Column(slot, ty) => (vec![(*slot, ty.clone())], false),
        Expr::Subquery(_) => (walk::columns_read(e), true),
        _ => (Vec::new(), false),
    };
    for (slot, _) in columns.iter().filter(|(slot, _)| !known.contains(slot)) {
        let Some(name) = shown_column(*slot, scope) else { continue };
        let message = if inside {
            format!("subquery uses ungrouped column \"{name}\" from outer query")
        } else {
            format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate \
                 function"
            )
        };
        let error = Error::new(SqlState::GroupingError, message).caused_by(NotGrouped);
        return Err((*slot, error));
    }
    let mut result = Ok(());
    e.for_each_child(&mut |child| {
        if result.is_ok() {
            result = check_grouped(child, known, scope);
        }
    });
    result
}
