//! DISTINCT, DISTINCT ON, and groups of which only the least or the greatest value is wanted.
//!
//! ```text
//!   DISTINCT ON (device) … ORDER BY device, at DESC     index (device, at)
//!   GROUP BY device with max(at)                        one entry of each device is read
//! ```
//!
//! An index whose first columns are those of the groups has each group in one place. Its first
//! entry is read, and then the scan seeks to the next group. That pays where groups are large.
//! The operator above stays: it gives the same for the first rows as for all of them.

use braid_builtins::AggregateMeaning;
use braid_catalog::{Catalog, Index, IndexState};
use braid_types::SqlType;

use crate::rules::push_filters::needs;
use crate::rules::spans::candidate::{self, Candidate};
use crate::rules::spans::columns::is_at;
use crate::rules::{choose_index, cost, estimate, partial_indexes};
use crate::tree::expr::Expr;
use crate::tree::node::{AggregateNode, Bound, Distinct, Node, Reading, Scan, SortKey};

use super::first_rows::PART_MAX;
use super::index_order::{can_merge, is_single, order_of, rewrite_below};

/// What it costs to seek to the next group, in rows that a scan reads.
const SEEK: f64 = 60.0;

/// Whether an index gives the row of a group that is wanted as its first entry: forward (false), or
/// reversed (true). The first columns up to a place are those of the groups.
type Firsts<'f> = &'f dyn Fn(&Scan, &Index, &[Bound], usize) -> Option<bool>;

/// Lets the scan below DISTINCT read one entry of each group, where that costs less; false if
/// nothing was chosen.
pub(crate) fn of_distinct(distinct: &mut Distinct, catalog: &Catalog) -> bool {
    let groups = estimate::rows(&Node::Distinct(Box::new(distinct.clone())), catalog);
    if distinct.on.is_empty() {
        let Some((scan, columns)) = read_below(&mut distinct.input) else { return false };
        return take_firsts(scan, (&columns, groups), &|_, _, _, _| Some(false), catalog);
    }
    let mut on: Vec<SortKey> = distinct.on.iter().cloned().map(ascending).collect();
    let mut keys = Vec::new();
    let Some(scan) = sorted_below(&mut distinct.input, &mut on, &mut keys) else { return false };
    if keys.is_empty() {
        return false;
    }
    let columns: Vec<Expr> = on.into_iter().map(|key| key.expr).collect();
    let firsts = |scan: &Scan, index: &Index, bounds: &[Bound], _: usize| {
        order_of(scan, index, bounds, &keys).filter(|order| order.merged == 0).map(|o| o.reverse)
    };
    take_firsts(scan, (&columns, groups), &firsts, catalog)
}

/// The same for groups: without aggregates, or with `min` or `max` of one column.
pub(crate) fn of_groups(aggregate: &mut AggregateNode, catalog: &Catalog) -> bool {
    if aggregate.group.is_empty() || !aggregate.sets.is_empty() || aggregate.grouping.is_some() {
        return false;
    }
    let Some(value) = value_of(aggregate) else { return false };
    let groups = estimate::rows(&Node::Aggregate(Box::new(aggregate.clone())), catalog);
    let mut columns: Vec<SortKey> =
        aggregate.group.iter().map(|(_, e)| ascending(e.clone())).collect();
    let count = columns.len();
    columns.extend(value);
    let Some(scan) = scan_below(&mut aggregate.input, &mut columns) else { return false };
    let value = columns.get(count).cloned();
    let columns: Vec<Expr> = columns.into_iter().take(count).map(|key| key.expr).collect();
    let firsts = |scan: &Scan, index: &Index, _: &[Bound], width: usize| match &value {
        None => Some(false),
        Some(value) => {
            let part = index.keys.get(width)?;
            let place = scan.table.position_of(part.column)?;
            // NULL is the greatest, and no aggregate counts it.
            let may_be_null = value.descending && scan.table.columns[place].nullable;
            let fits = is_at(scan, &value.expr, place) && !may_be_null;
            fits.then_some(part.descending != value.descending)
        }
    };
    take_firsts(scan, (&columns, groups), &firsts, catalog)
}

fn ascending(expr: Expr) -> SortKey {
    SortKey { expr, descending: false, nulls_first: false }
}

/// The value whose least or greatest one all aggregates are: as a key that it is first by. `None`
/// if there are other aggregates.
fn value_of(aggregate: &AggregateNode) -> Option<Option<SortKey>> {
    let mut value: Option<SortKey> = None;
    for (_, call) in &aggregate.aggregates {
        let descending = match call.aggregate.meaning() {
            AggregateMeaning::Least => false,
            AggregateMeaning::Greatest => true,
            _ => return None,
        };
        let [arg @ Expr::Column(..)] = &call.args[..] else { return None };
        if call.filter.is_some() {
            return None;
        }
        let own = SortKey { expr: arg.clone(), descending, nulls_first: false };
        match &value {
            Some(known) if known.descending != descending || !known.expr.same(arg) => return None,
            _ => value = Some(own),
        }
    }
    Some(value)
}

/// The scan below projections, and the columns of it that they read.
fn read_below(node: &mut Node) -> Option<(&mut Scan, Vec<Expr>)> {
    let column = |slot| Expr::Column(slot, SqlType::Unknown);
    match node {
        Node::Scan(scan) => {
            let columns = scan.columns.iter().map(|(slot, _)| column(*slot)).collect();
            Some((scan, columns))
        }
        Node::Project(project) => {
            if project.exprs.iter().any(|(_, e)| e.is_volatile_inside()) {
                return None;
            }
            let read = project.exprs.iter().flat_map(|(_, e)| needs(e));
            let columns: Vec<Expr> = read.map(column).collect();
            match &mut project.input {
                Node::Scan(scan) => Some((scan, columns)),
                other => read_below(other),
            }
        }
        _ => None,
    }
}

/// The scan below projections; `keys` are rewritten to its columns.
fn scan_below<'n>(node: &'n mut Node, keys: &mut [SortKey]) -> Option<&'n mut Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Project(project) => {
            if project.exprs.iter().any(|(_, e)| e.is_volatile_inside()) {
                return None;
            }
            rewrite_below(project, keys)?;
            scan_below(&mut project.input, keys)
        }
        _ => None,
    }
}

/// The scan below a sort and projections. `keys` are those of the sort.
fn sorted_below<'n>(
    node: &'n mut Node,
    on: &mut [SortKey],
    keys: &mut Vec<SortKey>,
) -> Option<&'n mut Scan> {
    match node {
        Node::Sort(sort) if sort.limit.is_none() => {
            let mut all = on.to_vec();
            all.extend(sort.keys.iter().cloned());
            let scan = scan_below(&mut sort.input, &mut all)?;
            *keys = all.split_off(on.len());
            on.clone_from_slice(&all);
            Some(scan)
        }
        Node::Project(project) => {
            if project.exprs.iter().any(|(_, e)| e.is_volatile_inside()) {
                return None;
            }
            rewrite_below(project, on)?;
            sorted_below(&mut project.input, on, keys)
        }
        _ => None,
    }
}

/// Lets a scan read the first entries of groups by the index with which that costs least.
fn take_firsts(
    scan: &mut Scan,
    (columns, groups): (&[Expr], f64),
    firsts: Firsts<'_>,
    catalog: &Catalog,
) -> bool {
    if scan.lock.is_some() || columns.is_empty() || scan.filter.iter().any(Expr::is_volatile) {
        return false;
    }
    let mut usual = scan.clone();
    choose_index::choose(&mut usual, &[], catalog);
    let given = estimate::rows(&Node::Scan(Box::new(scan.clone())), catalog);
    let mut best: Option<(f64, Candidate, bool)> = None;
    for index in scan.table.all_indexes() {
        if index.state != IndexState::Public
            || !partial_indexes::is_implied(scan, index, &scan.filter)
            || !can_merge(scan, index)
        {
            continue;
        }
        let mut found = candidate::candidate(scan, index, &scan.filter, catalog);
        let Some(width) = width_of(scan, index, &found.bounds, columns) else { continue };
        let Some(reverse) = firsts(scan, index, &found.bounds, width) else { continue };
        // Whether an entry passes must be known from the entry.
        let is_exact = (0..scan.filter.len()).all(|place| found.exact.contains(&place));
        if !is_exact && !found.covers {
            continue;
        }
        let inside = (estimate::table_rows(&scan.table, catalog) * found.part).max(1.0);
        let tried = if is_exact { 1.0 } else { (inside / given.max(1.0)).max(1.0) };
        let cost = groups * (SEEK + tried) + candidate::found(groups, found.covers);
        found.reading = Reading::FirstOfEach(width);
        if best.as_ref().is_none_or(|(known, ..)| cost < *known) {
            best = Some((cost, found, reverse));
        }
    }
    match best {
        Some((cost, found, reverse))
            if cost <= (cost::read(&usual, catalog) + given) * PART_MAX =>
        {
            (scan.wants_literals, scan.wants_values) = (usual.wants_literals, usual.wants_values);
            candidate::take(scan, found, catalog);
            scan.access.reverse = reverse;
            scan.rows = groups;
            true
        }
        _ => false,
    }
}

/// How many of the first columns of an index are those of groups, or have one value; `None` if the
/// groups have others.
fn width_of(scan: &Scan, index: &Index, bounds: &[Bound], columns: &[Expr]) -> Option<usize> {
    let mut left: Vec<&Expr> = columns.iter().collect();
    for (at, part) in index.keys.iter().enumerate() {
        let place = scan.table.position_of(part.column)?;
        let before = left.len();
        left.retain(|e| !is_at(scan, e, place));
        if left.is_empty() {
            return Some(at + 1);
        }
        if left.len() == before && !bounds.get(at).is_some_and(is_single) {
            return None;
        }
    }
    None
}
