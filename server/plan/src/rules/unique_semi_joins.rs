//! A semi join whose right side has at most one match becomes an inner join.
//!
//! `a.x IN (SELECT id FROM b WHERE …)` with a unique `b.id` gives each row of `a` at most once
//! either way. As an inner join it takes part in the choice of the join order, so that a small `b`
//! can lead to rows of `a` by an index.
//!
//! Where `b.id` is not unique, but `b` gives few rows beside a large `a` with an index on `x`, the
//! values are made distinct first:
//!
//! ```text
//!   Semi Join a.x = b.id        Join a.x = b.id
//!   ├─ a                   ──▶  ├─ a
//!   └─ b                        └─ Distinct ── b.id
//! ```
//!
//! Statements that lock or change rows may be carried out in this way, too. The tables whose rows
//! are locked are known before, and the same rows match. What stands above the joins then takes the
//! columns of a row by place, so a projection leaves out the columns of the subquery.

use braid_catalog::{Catalog, Index, IndexState};
use braid_types::SqlType;

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Distinct, Join, JoinKind, Node, Project, Scan};

use super::push_filters::needs;
use super::{estimate, prune, walk};

/// Values are made distinct if there is at most one for this many rows of the table that they
/// lead to. Others are hashed at the same cost.
const ROWS_A_VALUE: f64 = 20.0;

/// Makes semi joins of a plan inner ones.
pub(crate) fn apply(node: Node, catalog: &Catalog) -> Node {
    match prune::columns::changes_or_locks(&node) {
        true => with_same_columns(node, catalog),
        false => opened(node, false, catalog),
    }
}

/// The same where the columns of each tree of joins stay as they are.
fn with_same_columns(node: Node, catalog: &Catalog) -> Node {
    if matches!(node, Node::Merge(_)) {
        return node;
    }
    if !matches!(node, Node::Join(_)) {
        return walk::map_children(node, &mut |child| with_same_columns(child, catalog));
    }
    let slots = node.slots();
    let types: Option<Vec<SqlType>> = slots.iter().map(|slot| type_of(&node, *slot)).collect();
    let Some(types) = types else { return node };
    let node = opened(node, true, catalog);
    if node.slots() == slots {
        return node;
    }
    let columns = slots.into_iter().zip(types);
    let exprs = columns.map(|(slot, ty)| (slot, Expr::Column(slot, ty))).collect();
    Node::Project(Box::new(Project { input: node, exprs }))
}

/// The type of a column of rows that are joined.
fn type_of(node: &Node, slot: Slot) -> Option<SqlType> {
    match node {
        Node::Scan(scan) => {
            let (_, place) = scan.columns.iter().find(|(known, _)| *known == slot)?;
            Some(scan.table.columns[*place].ty.clone())
        }
        Node::Project(project) => {
            project.exprs.iter().find(|(known, _)| *known == slot).map(|(_, e)| e.ty())
        }
        Node::Filter(filter) => type_of(&filter.input, slot),
        Node::Join(join) => type_of(&join.left, slot).or_else(|| type_of(&join.right, slot)),
        _ => None,
    }
}

/// A tree of joins with inner joins in the place of semi joins. With `keeps` trees further inside
/// keep their columns.
fn opened(mut node: Node, keeps: bool, catalog: &Catalog) -> Node {
    if let Node::Join(join) = &mut node
        && join.kind == JoinKind::Semi
        && !join.lateral
    {
        if has_one_match(join) {
            join.kind = JoinKind::Inner;
        } else if let Some(keys) = few_keys(join, catalog) {
            let right = std::mem::replace(&mut join.right, Node::one_row());
            join.right = distinct(right, keys);
            join.kind = JoinKind::Inner;
        }
    }
    walk::map_children(node, &mut |child| match child {
        Node::Join(_) | Node::Filter(_) => opened(child, keeps, catalog),
        child if keeps => with_same_columns(child, catalog),
        child => opened(child, keeps, catalog),
    })
}

/// The columns that the right side is compared by, if a few values of them lead to rows of a
/// large table by an index.
fn few_keys(join: &Join, catalog: &Catalog) -> Option<Vec<(Slot, SqlType)>> {
    let (left, right) = (join.left.slots(), join.right.slots());
    let mut keys = Vec::with_capacity(join.on.len());
    let mut led: Vec<(&Scan, usize)> = Vec::new();
    for e in &join.on {
        let Expr::Compare(CompareOp::Eq, a, b) = e else { return None };
        let (Expr::Column(a, a_type), Expr::Column(b, b_type)) = (&**a, &**b) else { return None };
        let (outer, key) = match (left.contains(a), right.contains(b)) {
            (true, true) => (*a, *b),
            _ if left.contains(b) && right.contains(a) => (*b, *a),
            _ => return None,
        };
        if a_type.bare() != b_type.bare() {
            return None;
        }
        keys.push((key, a_type.clone()));
        led.extend(scan_with(&join.left, outer).filter(|(scan, place)| begins_with(scan, *place)));
    }
    let rows = led.iter().map(|(scan, _)| estimate::table_rows(&scan.table, catalog));
    let most = rows.reduce(f64::max)?;
    (estimate::rows(&join.right, catalog) * ROWS_A_VALUE <= most).then_some(keys)
}

/// The scan below filters and inner joins that gives a slot, and the column's place in its table.
fn scan_with(node: &Node, slot: Slot) -> Option<(&Scan, usize)> {
    match node {
        Node::Scan(scan) => {
            let found = scan.columns.iter().find(|(known, _)| *known == slot);
            found.map(|(_, place)| (&**scan, *place))
        }
        Node::Filter(filter) => scan_with(&filter.input, slot),
        Node::Join(join) if join.kind == JoinKind::Inner => {
            scan_with(&join.left, slot).or_else(|| scan_with(&join.right, slot))
        }
        _ => None,
    }
}

/// Whether an index of the table begins with a column.
fn begins_with(scan: &Scan, place: usize) -> bool {
    scan.table.all_indexes().any(|index| {
        let first = index.keys.first().and_then(|key| scan.table.position_of(key.column));
        index.state == IndexState::Public && index.predicate.is_none() && first == Some(place)
    })
}

/// The different values of these columns.
fn distinct(input: Node, keys: Vec<(Slot, SqlType)>) -> Node {
    let types = keys.iter().map(|(_, ty)| ty.clone()).collect();
    let exprs = keys.into_iter().map(|(slot, ty)| (slot, Expr::Column(slot, ty))).collect();
    let input = Node::Project(Box::new(Project { input, exprs }));
    Node::Distinct(Box::new(Distinct { input, on: Vec::new(), types }))
}

/// Whether a left row has at most one match: the conditions fix every key of a unique index.
fn has_one_match(join: &Join) -> bool {
    let Some(scan) = scan_of(&join.right) else { return false };
    let left = join.left.slots();
    let fixed: Vec<Slot> = join.on.iter().filter_map(|e| fixed_column(e, &left)).collect();
    scan.table.all_indexes().any(|index| is_fixed(scan, index, &fixed))
}

fn scan_of(node: &Node) -> Option<&Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Filter(filter) => scan_of(&filter.input),
        _ => None,
    }
}

/// The column that an equality fixes for a left row.
fn fixed_column(e: &Expr, left: &[Slot]) -> Option<Slot> {
    let Expr::Compare(CompareOp::Eq, a, b) = e else { return None };
    let fixes = |column: &Expr, value: &Expr| match column {
        Expr::Column(slot, _) if !left.contains(slot) => {
            let is_known = needs(value).iter().all(|slot| left.contains(slot));
            is_known.then_some(*slot)
        }
        _ => None,
    };
    fixes(a, b).or_else(|| fixes(b, a))
}

fn is_fixed(scan: &Scan, index: &Index, fixed: &[Slot]) -> bool {
    let is_fixed = |column| {
        let place = scan.table.position_of(column);
        let slot = scan.columns.iter().find(|(_, known)| Some(*known) == place);
        slot.is_some_and(|(slot, _)| fixed.contains(slot))
    };
    index.unique
        && index.state == IndexState::Public
        && index.predicate.is_none()
        && index.keys.iter().all(|key| is_fixed(key.column))
}
