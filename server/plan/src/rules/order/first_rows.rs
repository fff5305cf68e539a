//! The first rows of an order: `ORDER BY … LIMIT`.
//!
//! An index that has the order gives the first rows without reading the others. It costs the rows
//! that are read until enough of them have passed the conditions. Rows that pass are assumed to be
//! spread evenly, as PostgreSQL assumes.
//!
//! That is wrong for a queue: the rows whose state is `new` are behind all that are done. So an
//! index that has all conditions in its bounds is preferred as long as it costs little more: it
//! reads what it gives, however the rows are spread. This holds without ORDER BY, too.

use braid_catalog::{Catalog, IndexState};
use braid_types::Datum;

use crate::rules::spans::candidate::{self, Candidate};
use crate::rules::{choose_index, cost, estimate, partial_indexes};
use crate::tree::expr::Expr;
use crate::tree::node::{Append, Limit, Node, Reading, Scan, Sort, SortKey};

use super::index_order::{can_merge, merged_spans, order_of, order_read, rewrite_below};

/// An order must cost less than this part of the usual way. Where the rows that pass are not
/// spread evenly, it reads more than estimated.
pub(crate) const PART_MAX: f64 = 0.5;
/// What each span of several costs whose rows are merged, besides the rows that are given.
const MERGED: f64 = 50.0;

/// What may be lost by reading an index that has all conditions in its bounds, if the rows that
/// pass them are spread evenly: as much as reading this many rows.
const REGRET: f64 = 1000.0;

/// Gives the scan below a sort with a limit its index, if one has the order and costs less; false
/// if nothing was chosen. The same for a scan below a limit alone.
pub(crate) fn choose(limit: &mut Limit, catalog: &Catalog) -> bool {
    let Some(wanted) = wanted(limit) else { return false };
    match sort_below(&mut limit.input) {
        Some(sort) => take_order(sort, wanted, catalog),
        None => {
            let mut more = Vec::new();
            let scan = few_below(&mut limit.input, &mut more);
            scan.is_some_and(|scan| take_few(scan, (wanted, &more), catalog))
        }
    }
}

/// Gives a scan of which few rows are wanted, in any order, an index that has all conditions in its
/// bounds; false if there is none, or if the usual way is as sure.
fn take_few(scan: &mut Scan, (wanted, more): (f64, &[Expr]), catalog: &Catalog) -> bool {
    let mut usual = scan.clone();
    choose_index::choose(&mut usual, more, catalog);
    let given = estimate::rows(&Node::Scan(Box::new(scan.clone())), catalog);
    usual.union.is_empty() && take_surer(scan, &usual, (&[], more), wanted / given, catalog)
}

/// Gives a scan an index that has this order and all conditions in its bounds, if the usual way
/// leaves conditions to be checked for each row; false if there is none, or if it costs too much.
fn take_surer(
    scan: &mut Scan,
    usual: &Scan,
    (keys, more): (&[SortKey], &[Expr]),
    part: f64,
    catalog: &Catalog,
) -> bool {
    if usual.filter.is_empty() {
        return false;
    }
    let found = cheapest(scan, (keys, more), part, catalog);
    let found = found.filter(|(_, candidate)| has_all_conditions(scan, candidate));
    let Some((_, candidate)) = found else { return false };
    take_instead(scan, usual, candidate, catalog);
    true
}

/// Gives a scan another index than it usually has.
fn take_instead(scan: &mut Scan, usual: &Scan, candidate: Candidate, catalog: &Catalog) {
    scan.wants_literals = usual.wants_literals;
    scan.wants_values = usual.wants_values;
    candidate::take(scan, candidate, catalog);
}

/// Whether the bounds of an index express every condition of a scan.
fn has_all_conditions(scan: &Scan, candidate: &Candidate) -> bool {
    (0..scan.filter.len()).all(|place| candidate.exact.contains(&place))
}

/// The scan whose rows reach the top of `node` one by one, in any order.
fn few_below<'n>(node: &'n mut Node, more: &mut Vec<Expr>) -> Option<&'n mut Scan> {
    match node {
        Node::Project(project) => few_below(&mut project.input, more),
        Node::LockRows(lock) => few_below(&mut lock.input, more),
        other => scan_below(other, &mut [], more),
    }
}

/// The rows that a limit lets through, those of OFFSET included.
pub(crate) fn wanted(limit: &Limit) -> Option<f64> {
    let count = |e: &Expr| match e {
        Expr::Const(Datum::Int(n), _) => *n as f64,
        _ => estimate::UNKNOWN_LIMIT,
    };
    let skipped = limit.offset.as_ref().map_or(0.0, count);
    limit.limit.as_ref().map(|e| count(e) + skipped)
}

/// The sort whose rows reach the top of `node` one by one.
pub(crate) fn sort_below(node: &mut Node) -> Option<&mut Sort> {
    match node {
        Node::Project(project) => sort_below(&mut project.input),
        Node::LockRows(lock) => sort_below(&mut lock.input),
        Node::Sort(sort) => Some(sort),
        _ => None,
    }
}

/// The same for a sort of which this number of rows is wanted.
pub(crate) fn take_order(sort: &mut Sort, wanted: f64, catalog: &Catalog) -> bool {
    if append_below(&mut sort.input, &mut sort.keys.clone()).is_some() {
        return merge_parts(sort, wanted, catalog);
    }
    let given = estimate::rows(&sort.input, catalog);
    let mut keys = sort.keys.clone();
    let mut more = Vec::new();
    let Some(scan) = scan_below(&mut sort.input, &mut keys, &mut more) else { return false };
    let mut usual = scan.clone();
    choose_index::choose(&mut usual, &more, catalog);
    if usual.union.is_empty() && order_read(&usual, &keys).is_some() {
        if !take_surer(scan, &usual, (&keys, &more), wanted / given, catalog) {
            // What has the fewest rows has the first ones soonest.
            *scan = usual;
        }
        return true;
    }
    let sorted = cost::read(&usual, catalog) + given;
    let Some((cost, candidate)) = cheapest(scan, (&keys, &more), wanted / given, catalog) else {
        return false;
    };
    if cost > sorted * PART_MAX {
        return false;
    }
    take_instead(scan, &usual, candidate, catalog);
    true
}

/// Merges the inputs of an append if some of them have the order at less cost; the others are
/// sorted. No more is wanted of each than of all.
fn merge_parts(sort: &mut Sort, wanted: f64, catalog: &Catalog) -> bool {
    let mut keys = sort.keys.clone();
    let Some(append) = append_below(&mut sort.input, &mut keys) else { return false };
    let mut is_ordered = false;
    let mut parts = append.inputs.clone();
    for part in &mut parts {
        let input = std::mem::replace(part, Node::one_row());
        let mut sorted = Sort { input, keys: keys.clone(), limit: None, offset: None };
        if take_order(&mut sorted, wanted, catalog) {
            is_ordered = true;
        } else if let Some(scan) = scan_below(&mut sorted.input, &mut keys.clone(), &mut Vec::new())
        {
            choose_index::choose(scan, &[], catalog);
        } else {
            return false;
        }
        *part = sorted.input;
    }
    if is_ordered {
        append.inputs = parts;
        append.merge = keys;
    }
    is_ordered
}

/// The append whose rows reach the top of `node` one by one. `keys` are rewritten to its columns.
pub(crate) fn append_below<'n>(node: &'n mut Node, keys: &mut [SortKey]) -> Option<&'n mut Append> {
    match node {
        Node::Append(append) => Some(append),
        Node::Filter(filter) => append_below(&mut filter.input, keys),
        Node::Project(project) => {
            rewrite_below(project, keys)?;
            append_below(&mut project.input, keys)
        }
        _ => None,
    }
}

/// The index with this order that costs least until this part of the rows has been read, or one
/// that costs little more and has all conditions in its bounds.
pub(crate) fn cheapest(
    scan: &Scan,
    (keys, more): (&[SortKey], &[Expr]),
    part: f64,
    catalog: &Catalog,
) -> Option<(f64, Candidate)> {
    let conditions: Vec<Expr> = scan.filter.iter().chain(more).cloned().collect();
    let total = estimate::table_rows(&scan.table, catalog);
    let mut best: Option<(f64, Candidate)> = None;
    let risk = |candidate: &Candidate| match has_all_conditions(scan, candidate) {
        true => 0.0,
        false => REGRET,
    };
    for index in scan.table.all_indexes() {
        if index.state != IndexState::Public
            || !partial_indexes::is_implied(scan, index, &conditions)
        {
            continue;
        }
        let mut candidate = candidate::candidate(scan, index, &conditions, catalog);
        let Some(order) = order_of(scan, index, &candidate.bounds, keys) else { continue };
        let read = (total * candidate.part * part.min(1.0)).max(1.0);
        let mut cost = candidate::found(read, candidate.covers);
        if order.merged > 0 {
            if !can_merge(scan, index) {
                continue;
            }
            candidate.reading = Reading::Merged(order.merged);
            cost += merged_spans(&candidate.bounds, order.merged) as f64 * MERGED;
        }
        // Of two that cost the same, the smaller one may be a partial index.
        let is_smaller = |known: &Candidate| candidate.part < known.part;
        let is_better = |(known, of): &(f64, Candidate)| {
            let (own, known) = (cost + risk(&candidate), known + risk(of));
            own < known || own == known && is_smaller(of)
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((cost, candidate));
        }
    }
    best
}

/// The scan whose order reaches the top of `node`. `keys` are rewritten to its columns, and `more`
/// gets the conditions that bound it and stay above it.
fn scan_below<'n>(
    node: &'n mut Node,
    keys: &mut [SortKey],
    more: &mut Vec<Expr>,
) -> Option<&'n mut Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Filter(filter) => {
            more.extend(filter.predicates.iter().filter_map(choose_index::by_subquery));
            scan_below(&mut filter.input, keys, more)
        }
        Node::Project(project) => {
            rewrite_below(project, keys)?;
            scan_below(&mut project.input, keys, more)
        }
        _ => None,
    }
}
