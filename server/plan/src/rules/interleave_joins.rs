//! Joins of parents with what is interleaved below them, as one ordered pass over their range.
//!
//! ```text
//!   p ⋈ c ON c.p = p.p           ⟕ g ON g.p = c.p AND g.c = c.c
//!   range: p1  p1#c1  p1#c1#g1  p1#c2  p2   a row's parents are the last ones that came
//! ```
//!
//! Inner joins are put into the order of the levels. A left join adds a level below the others.
//! What a join needs is that all key columns of the level above are equal; such conditions are
//! what lying below each other means and are taken away at the end ([`finish`]), all others stay.

use braid_catalog::Catalog;

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Join, JoinKind, JoinMethod, Node, Scan};

use super::push_filters::needs;
use super::{estimate, walk};

/// A table of the pass and how it is joined to those above it.
#[derive(Clone)]
struct Level {
    scan: Scan,
    kind: JoinKind,
    on: Vec<Expr>,
}

/// Rows read in order for the cost of one lookup.
const LOOKUP_COST: f64 = 5.0;

/// The join as one pass, or the join as it was if its tables do not lie so, or if looking them up
/// costs less; `lookup_cost` is what that was taken for without regard to how the tables lie.
pub(crate) fn one_pass(
    join: Box<Join>,
    lookup_cost: f64,
    catalog: &Catalog,
) -> Result<Node, Box<Join>> {
    let Some(levels) = levels_of(&join) else { return Err(join) };
    let (Some(top), Node::Scan(added)) = (levels.first(), &join.right) else { return Err(join) };
    let part = match top.scan.access.bounds.is_empty() {
        true => 1.0,
        false => part_of(top.scan.rows, &top.scan, catalog),
    };
    let added_rows = estimate::table_rows(&added.table, catalog);
    // Every row below a left row is read by its lookup.
    let left_rows = estimate::rows(&join.left, catalog);
    let found = match &levels[..] {
        [.., parent, last] if last.scan.table.id == added.table.id => {
            added_rows * part_of(left_rows, &parent.scan, catalog)
        }
        _ => 0.0,
    };
    // Reading rows that lie in the way anyway, against a lookup for each left row.
    if part * added_rows > lookup_cost.max(left_rows * LOOKUP_COST + found) {
        return Err(join);
    }
    Ok(rebuild(levels, catalog))
}

/// The part of a table's rows that a number of rows is.
fn part_of(rows: f64, scan: &Scan, catalog: &Catalog) -> f64 {
    (rows / estimate::table_rows(&scan.table, catalog)).min(1.0)
}

/// The levels from the top, if the tables are such.
fn levels_of(join: &Join) -> Option<Vec<Level>> {
    let Node::Scan(right) = &join.right else { return None };
    if !right.table.primary.is_mixed() {
        return None;
    }
    let mut levels = Vec::new();
    collect(&join.left, &mut levels)?;
    levels.push(Level { scan: Scan::clone(right), kind: join.kind, on: join.on.clone() });
    match join.kind {
        JoinKind::Inner if levels.iter().all(|level| level.kind == JoinKind::Inner) => {
            sort(&mut levels);
        }
        JoinKind::Inner | JoinKind::Left => {}
        _ => return None,
    }
    let usable = |(i, level): (usize, &Level)| {
        let scan = &level.scan;
        let whole = i == 0 || scan.access.bounds.is_empty();
        let plain = scan.lock.is_none() && !scan.unrecorded && scan.families.is_none();
        let primary = scan.access.index == scan.table.primary.number;
        whole
            && plain
            && primary
            && scan.access.limit.is_none()
            && scan.access.offset.is_none()
            && !level.on.iter().any(Expr::waits)
    };
    let linked = (1..levels.len()).all(|i| is_linked(&levels, i));
    (linked && levels.iter().enumerate().all(usable)).then_some(levels)
}

/// The levels of a scan, or of a join that is one pass already.
fn collect(node: &Node, levels: &mut Vec<Level>) -> Option<()> {
    match node {
        Node::Scan(scan) => {
            let (kind, on) = (JoinKind::Inner, Vec::new());
            levels.push(Level { scan: Scan::clone(scan), kind, on });
        }
        Node::Join(join) if matches!(join.method, JoinMethod::Interleaved) => {
            collect(&join.left, levels)?;
            let Node::Scan(scan) = &join.right else { return None };
            let (kind, on) = (join.kind, join.on.clone());
            levels.push(Level { scan: Scan::clone(scan), kind, on });
        }
        _ => return None,
    }
    Some(())
}

fn depth(scan: &Scan) -> usize {
    scan.table.primary.interleaving.as_ref().map_or(0, |interleaving| interleaving.above.len())
}

/// Puts inner joins into the order of the levels; each condition goes to the first level that has
/// what it reads.
fn sort(levels: &mut [Level]) {
    if levels.is_sorted_by_key(|level| depth(&level.scan)) {
        return;
    }
    let conditions: Vec<Expr> = levels.iter_mut().flat_map(|level| level.on.drain(..)).collect();
    levels.sort_by_key(|level| depth(&level.scan));
    let slots: Vec<Vec<Slot>> = levels
        .iter()
        .map(|level| level.scan.columns.iter().map(|(slot, _)| *slot).collect())
        .collect();
    for condition in conditions {
        let read = needs(&condition);
        let last = slots.iter().rposition(|own| read.iter().any(|slot| own.contains(slot)));
        levels[last.unwrap_or(0).max(1)].on.push(condition);
    }
}

/// The slot of a table's key column.
fn key_slot(scan: &Scan, column: usize) -> Option<Slot> {
    let id = scan.table.primary.keys.get(column)?.column;
    let place = scan.table.position_of(id)?;
    scan.columns.iter().find(|(_, p)| *p == place).map(|(slot, _)| *slot)
}

/// Whether the rows of level `i` that meet a row of the level above are those that lie below it.
fn is_linked(levels: &[Level], i: usize) -> bool {
    let (parent, child) = (&levels[i - 1].scan, &levels[i].scan);
    let Some(interleaving) = &child.table.primary.interleaving else { return false };
    let above = &interleaving.above;
    let Some(place) = above.iter().position(|ancestor| ancestor.table == parent.table.id) else {
        return false;
    };
    let columns: usize = above[..=place].iter().map(|ancestor| ancestor.columns).sum();
    // A table that adds no column to its parent's key would make two rows of one key.
    let plain = above.iter().all(|ancestor| ancestor.columns > 0)
        && columns == parent.table.primary.keys.len()
        && child.table.primary.keys.len() > columns;
    let equal = |column: usize| levels[i].on.iter().any(|e| implied(levels, i, e) == Some(column));
    // A condition on the parent's own column fails where the parent is missing.
    let direct = (0..columns).any(|column| {
        let pair = key_slot(parent, column).zip(key_slot(child, column));
        levels[i].on.iter().any(|e| equality(e).is_some_and(|found| is_pair(found, pair)))
    });
    plain && direct && (0..columns).all(equal)
}

fn equality(e: &Expr) -> Option<(Slot, Slot)> {
    match e {
        Expr::Compare(CompareOp::Eq, a, b) => match (&**a, &**b) {
            (Expr::Column(a, _), Expr::Column(b, _)) => Some((*a, *b)),
            _ => None,
        },
        _ => None,
    }
}

fn is_pair((a, b): (Slot, Slot), pair: Option<(Slot, Slot)>) -> bool {
    pair.is_some_and(|(x, y)| (a, b) == (x, y) || (a, b) == (y, x))
}

/// The key column of the level above that a condition of level `i` says is equal, or the same
/// column of a level further up, which is equal to it.
fn implied(levels: &[Level], i: usize, e: &Expr) -> Option<usize> {
    let found = equality(e)?;
    let child = &levels[i].scan;
    (0..levels[i - 1].scan.table.primary.keys.len()).find(|column| {
        let own = key_slot(child, *column);
        levels[..i].iter().any(|level| is_pair(found, key_slot(&level.scan, *column).zip(own)))
    })
}

fn rebuild(levels: Vec<Level>, catalog: &Catalog) -> Node {
    let mut levels = levels.into_iter();
    let Some(top) = levels.next() else { return Node::one_row() };
    let mut rows = estimate::rows(&Node::Scan(Box::new(top.scan.clone())), catalog);
    let mut part = part_of(rows, &top.scan, catalog);
    let mut node = Node::Scan(Box::new(top.scan));
    for level in levels {
        let scan = level.scan;
        let below = scan.rows.max(1.0) * part;
        rows = if level.kind == JoinKind::Left { below.max(rows) } else { below.max(1.0) };
        part = part_of(below, &scan, catalog);
        let inputs = (node, Node::Scan(Box::new(scan)));
        let join = Join::new(level.kind, inputs, level.on);
        node = Node::Join(Box::new(Join { method: JoinMethod::Interleaved, rows, ..join }));
    }
    node
}

/// Takes away the conditions that lying below each other means.
pub(crate) fn finish(node: Node) -> Node {
    let node = match node {
        Node::Join(mut join) if matches!(join.method, JoinMethod::Interleaved) => {
            let mut levels = Vec::new();
            let is_pass = collect(&Node::Join(join.clone()), &mut levels).is_some();
            let last = levels.len() - 1;
            join.on.retain(|e| !is_pass || implied(&levels, last, e).is_none());
            Node::Join(join)
        }
        other => other,
    };
    walk::map_children(node, &mut finish)
}
