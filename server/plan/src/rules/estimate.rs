//! How many rows an operator gives, roughly: from table statistics and fixed selectivities.

use braid_catalog::{Catalog, Id, Index, Table};

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{JoinKind, Node, Scan};

use super::walk;

/// Rows assumed of a table without statistics.
const ROWS_DEFAULT: f64 = 1000.0;
/// The part of rows that a range leaves.
const RANGE: f64 = 0.3;
/// The part of rows that any other condition leaves.
const OTHER: f64 = 0.5;

/// A table's rows.
pub fn table_rows(table: &Table, catalog: &Catalog) -> f64 {
    match catalog.statistics(table.id).rows {
        0 => ROWS_DEFAULT,
        rows => rows as f64,
    }
}

/// The length of a gap of other keys between those of an index, if it shares its range and every
/// table of the range has statistics.
pub fn gap_keys(table: &Table, index: &Index, catalog: &Catalog) -> Option<usize> {
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

/// How many distinct values a column has.
pub fn distinct(table: &Table, place: usize, catalog: &Catalog) -> f64 {
    let rows = table_rows(table, catalog);
    let column = &table.columns[place];
    let unique = table.all_indexes().any(|index| {
        index.unique
            && index.predicate.is_none()
            && index.keys.len() == 1
            && index.keys[0].column == column.id
    });
    if unique {
        return rows;
    }
    let known = catalog.statistics(table.id);
    let known = known.distinct.iter().find(|(id, _)| *id == column.id).map(|(_, n)| *n as f64);
    known.unwrap_or_else(|| (rows / 10.0).clamp(1.0, 200.0)).max(1.0)
}

/// The part of a scan's rows that a condition leaves.
pub fn selectivity(e: &Expr, scan: &Scan, catalog: &Catalog) -> f64 {
    let column = |e: &Expr| match e {
        Expr::Column(slot, _) => {
            scan.columns.iter().find(|(s, _)| s == slot).map(|(_, place)| *place)
        }
        _ => None,
    };
    match e {
        Expr::Compare(op, a, b) => match (op, column(a).or_else(|| column(b))) {
            (CompareOp::Eq, Some(place)) => 1.0 / distinct(&scan.table, place, catalog),
            (CompareOp::Eq, None) => 0.1,
            (CompareOp::Ne, _) => 0.9,
            _ => RANGE,
        },
        Expr::InList(e, list) => match column(e) {
            Some(place) => (list.len() as f64 / distinct(&scan.table, place, catalog)).min(1.0),
            None => OTHER,
        },
        Expr::InSet(e, set, _) => match column(e) {
            Some(place) => (set.len() as f64 / distinct(&scan.table, place, catalog)).min(1.0),
            None => OTHER,
        },
        Expr::And(list) => list.iter().map(|e| selectivity(e, scan, catalog)).product(),
        Expr::Or(list) => list.iter().map(|e| selectivity(e, scan, catalog)).sum::<f64>().min(1.0),
        Expr::IsNull(_) => 0.1,
        _ => OTHER,
    }
}

/// The rows that an operator gives. Scans and joins keep the first answer: later steps move their
/// conditions into bounds and keys, where they are no longer seen.
pub fn rows(node: &Node, catalog: &Catalog) -> f64 {
    let estimate = match node {
        Node::Values(values) => values.rows.len() as f64,
        Node::Scan(scan) if scan.rows > 0.0 => scan.rows,
        Node::Scan(scan) => {
            let part: f64 = scan.filter.iter().map(|e| selectivity(e, scan, catalog)).product();
            table_rows(&scan.table, catalog) * part
        }
        Node::Virtual(scan) => 200.0 * OTHER.powi(scan.filter.len() as i32),
        Node::Function(_) => 100.0,
        Node::Filter(filter) => {
            rows(&filter.input, catalog) * OTHER.powi(filter.predicates.len() as i32)
        }
        Node::Project(project) => rows(&project.input, catalog),
        Node::ProjectSet(set) => rows(&set.input, catalog) * 10.0,
        Node::Join(join) if join.rows > 0.0 => join.rows,
        Node::Join(join) => {
            let left = rows(&join.left, catalog);
            let right = rows(&join.right, catalog);
            match join.kind {
                JoinKind::Semi | JoinKind::Anti => left * OTHER,
                _ => joined(left, right, &join.on, &join.left, &join.right),
            }
        }
        Node::Aggregate(aggregate) if aggregate.group.is_empty() => 1.0,
        Node::Aggregate(aggregate) => rows(&aggregate.input, catalog) / 10.0,
        Node::Window(window) => rows(&window.input, catalog),
        Node::Sort(sort) => rows(&sort.input, catalog),
        Node::LockRows(lock) => rows(&lock.input, catalog),
        Node::Limit(limit) => {
            let input = rows(&limit.input, catalog);
            match &limit.limit {
                Some(Expr::Const(braid_types::Datum::Int(n), _)) => input.min(*n as f64),
                _ => input,
            }
        }
        Node::Distinct(distinct) => rows(&distinct.input, catalog) / 2.0,
        Node::SetOp(op) => rows(&op.left, catalog) + rows(&op.right, catalog),
        Node::With(with) => rows(&with.body, catalog),
        Node::CteScan(scan) if scan.rows > 0.0 => scan.rows,
        Node::CteScan(_) => 1000.0,
        Node::Insert(insert) => rows(&insert.input, catalog),
        Node::Update(update) => rows(&update.input, catalog),
        Node::Delete(delete) => rows(&delete.input, catalog),
    };
    estimate.max(1.0)
}

/// Sets the estimated rows of scans of WITH entries.
pub fn size_ctes(node: &mut Node, catalog: &Catalog) {
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

/// The rows of an inner join of two sizes under conditions.
pub fn joined(left: f64, right: f64, on: &[Expr], left_node: &Node, right_node: &Node) -> f64 {
    let left_slots = left_node.slots();
    let right_slots = right_node.slots();
    let mut result = left * right;
    for e in on {
        result *= match e {
            Expr::Compare(CompareOp::Eq, a, b) if crosses(a, b, &left_slots, &right_slots) => {
                1.0 / left.max(right).max(1.0)
            }
            Expr::Compare(CompareOp::Eq, ..) => 0.1,
            _ => RANGE,
        };
    }
    result.max(1.0)
}

fn crosses(a: &Expr, b: &Expr, left: &[Slot], right: &[Slot]) -> bool {
    let (mut sa, mut sb) = (Vec::new(), Vec::new());
    a.slots(&mut sa);
    b.slots(&mut sb);
    let within = |slots: &[Slot], side: &[Slot]| slots.iter().any(|s| side.contains(s));
    (within(&sa, left) && within(&sb, right)) || (within(&sa, right) && within(&sb, left))
}
