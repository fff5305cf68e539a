//! The rows of an operator.

use braid_catalog::{Catalog, Id, Index, Table};

use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{AggregateNode, Distinct, Filter, Join, JoinKind, Node, Scan};

use super::conditions::part_of_all;
use super::facts::table_rows;
use super::joins::{attached, groups, joined};

/// The part of the rows that an unknown condition leaves.
const OTHER: f64 = 0.5;

/// The length of a gap of other keys between those of an index, if it shares its range and every
/// table of the range has statistics.
pub(crate) fn gap_keys(table: &Table, index: &Index, catalog: &Catalog) -> Option<usize> {
    if !index.is_mixed() {
        return None;
    }
    let known = |table: &Table| match catalog.statistics(table.id).rows {
        0 => None,
        rows => Some(rows as f64),
    };
    let above = index.interleaving.iter().flat_map(|interleaving| &interleaving.above);
    let above: Vec<Id> = above.map(|ancestor| ancestor.table).collect();
    let root: &Table = match above.first() {
        Some(root) => catalog.table(*root)?,
        None => table,
    };
    let keys = |table: &Table, number| {
        let families = if number == table.primary.number { table.families.len() } else { 1 };
        known(table).map(|rows| rows * families.max(1) as f64)
    };
    let mut all = keys(root, root.primary.number)?;
    for (table, number) in catalog.interleaving().below(root) {
        all += keys(&table, number)?;
    }
    let own = keys(table, index.number)?;
    // Other keys are below each row, or at least around the rows below one parent.
    let gaps = match above.last() {
        Some(parent) if index.below.is_empty() => known(catalog.table(*parent)?)?,
        _ => known(table)?,
    };
    Some(((all - own) / gaps).max(0.0) as usize)
}

/// The rows that a LIMIT is assumed to let through whose number is not known while planning: the
/// size of a page, or of what a worker takes from a queue.
pub(crate) const UNKNOWN_LIMIT: f64 = 100.0;

/// The rows that a scan reads inside its bounds, before the conditions that are left are checked.
/// `part` is the part of the table's rows that are in the index.
pub(crate) fn rows_inside(scan: &Scan, part: f64, catalog: &Catalog) -> f64 {
    if scan.filter.is_empty() || scan.bounded_by.is_empty() {
        return scan.rows;
    }
    let inside = part_of_all(&scan.bounded_by, scan, catalog);
    (table_rows(&scan.table, catalog) * part * inside).max(scan.rows)
}

/// The rows that an operator gives. Scans and joins keep the first answer: later steps move their
/// conditions into bounds and keys, where they are no longer seen.
pub(crate) fn rows(node: &Node, catalog: &Catalog) -> f64 {
    let estimate = match node {
        Node::Values(values) => values.rows.len() as f64,
        Node::Scan(scan) if scan.rows > 0.0 => scan.rows,
        Node::Scan(scan) => {
            table_rows(&scan.table, catalog) * part_of_all(&scan.filter, scan, catalog)
        }
        Node::Virtual(scan) => 200.0 * OTHER.powi(scan.filter.len() as i32),
        Node::Function(_) => 100.0,
        Node::Filter(filter) => filtered(filter, catalog),
        Node::Project(project) => rows(&project.input, catalog),
        Node::ProjectSet(set) => rows(&set.input, catalog) * 10.0,
        Node::Join(join) if join.rows > 0.0 => join.rows,
        Node::Join(join) => join_rows(join, catalog),
        Node::Aggregate(aggregate) if aggregate.group.is_empty() => 1.0,
        Node::Aggregate(aggregate) => aggregated(aggregate, catalog),
        Node::Window(window) => rows(&window.input, catalog),
        Node::Sort(sort) => rows(&sort.input, catalog),
        Node::LockRows(lock) => rows(&lock.input, catalog),
        Node::Limit(limit) => {
            let input = rows(&limit.input, catalog);
            match &limit.limit {
                Some(Expr::Const(braid_types::Datum::Int(n), _)) => input.min(*n as f64),
                Some(Expr::Const(..)) | None => input,
                Some(_) => input.min(UNKNOWN_LIMIT),
            }
        }
        Node::Distinct(distinct) => different(distinct, catalog),
        Node::SetOp(op) => rows(&op.left, catalog) + rows(&op.right, catalog),
        Node::Append(append) => append.inputs.iter().map(|input| rows(input, catalog)).sum(),
        Node::With(with) => rows(&with.body, catalog),
        Node::CteScan(scan) if scan.rows > 0.0 => scan.rows,
        Node::CteScan(_) => 1000.0,
        Node::Insert(insert) => rows(&insert.input, catalog),
        Node::Update(update) => rows(&update.input, catalog),
        Node::Delete(delete) => rows(&delete.input, catalog),
        Node::Merge(merge) => rows(&merge.input, catalog),
    };
    estimate.max(1.0)
}

fn filtered(filter: &Filter, catalog: &Catalog) -> f64 {
    let input = rows(&filter.input, catalog);
    let part = match &filter.input {
        Node::Scan(scan) => part_of_all(&filter.predicates, scan, catalog),
        _ => OTHER.powi(filter.predicates.len() as i32),
    };
    input * part
}

fn join_rows(join: &Join, catalog: &Catalog) -> f64 {
    let (left, right) = (rows(&join.left, catalog), rows(&join.right, catalog));
    let part = || attached((join.kind, &join.on), (left, right), &join.left, &join.right, catalog);
    let inner = || joined((left, right), &join.on, &join.left, &join.right, catalog);
    match join.kind {
        JoinKind::Semi | JoinKind::Anti => left * part(),
        JoinKind::Inner => inner(),
        JoinKind::Left => inner().max(left),
        JoinKind::Right => inner().max(right),
        JoinKind::Full => inner().max(left).max(right),
    }
}

fn aggregated(aggregate: &AggregateNode, catalog: &Catalog) -> f64 {
    let input = rows(&aggregate.input, catalog);
    let of = |places: &[usize]| {
        let exprs = places.iter().filter_map(|place| aggregate.group.get(*place)).map(|(_, e)| e);
        groups(exprs, &aggregate.input, input, catalog).unwrap_or(input / 10.0)
    };
    if aggregate.sets.is_empty() {
        let all: Vec<usize> = (0..aggregate.group.len()).collect();
        return of(&all);
    }
    aggregate.sets.iter().map(|set| if set.is_empty() { 1.0 } else { of(set) }).sum()
}

fn different(distinct: &Distinct, catalog: &Catalog) -> f64 {
    let input = rows(&distinct.input, catalog);
    let known = match &distinct.on[..] {
        [] => {
            let slots = distinct.input.slots();
            let columns: Vec<Expr> = slots
                .into_iter()
                .map(|slot| Expr::Column(slot, braid_types::SqlType::Unknown))
                .collect();
            groups(columns.iter(), &distinct.input, input, catalog)
        }
        on => groups(on.iter(), &distinct.input, input, catalog),
    };
    known.unwrap_or(input / 2.0)
}

/// Sets the estimated rows of scans of WITH entries.
pub(crate) fn size_ctes(node: &mut Node, catalog: &Catalog) {
    if let Node::With(with) = node {
        for place in 0..with.ctes.len() {
            let cte = &with.ctes[place];
            let (id, estimate) = (cte.id, rows(&cte.plan, catalog));
            if cte.recursive.is_none() && !cte.changes_data {
                let size = |child: &mut Node| set_rows(child, id, estimate);
                with.ctes[place + 1..].iter_mut().for_each(|cte| size(&mut cte.plan));
                size(&mut with.body);
            }
        }
    }
    walk::children_mut(node, &mut |child| size_ctes(child, catalog));
}

fn set_rows(node: &mut Node, id: u32, rows: f64) {
    if let Node::CteScan(scan) = node
        && scan.id == id
    {
        scan.rows = rows;
    }
    walk::children_mut(node, &mut |child| set_rows(child, id, rows));
}
