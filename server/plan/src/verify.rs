//! What must hold of every finished plan; `exec` relies on it.
//!
//! - No slot is left: each column is a position of an input row, or of the row around it.
//! - Each position is inside of its row.
//! - A scan reads an index and columns that its table has.
//!
//! A plan that breaks a rule is not run: the statement fails with XX000.

use braid_types::{Error, Result};

use crate::tree::expr::Expr;
use crate::tree::node::{Insert, Join, JoinKind, JoinMethod, Node, OnConflict, Scan};

/// Checks a whole plan. XX000 names what is broken.
pub(crate) fn verify(root: &Node) -> Result<()> {
    node(root, 0)
}

/// The rows that an expression may read: how many columns each has.
#[derive(Clone, Copy)]
struct Widths {
    input: usize,
    outer: usize,
}

fn expr(e: &Expr, widths: Widths) -> Result<()> {
    let is_inside = match e {
        Expr::Column(..) => false,
        Expr::Input(place, _) => *place < widths.input,
        Expr::Outer(place, _) => *place < widths.outer,
        Expr::Subquery(subquery) => {
            node(&subquery.plan, subquery.outer.len())?;
            true
        }
        _ => true,
    };
    if !is_inside {
        return Err(Error::broken("an expression of the plan reads a column outside of its row"));
    }
    let mut result = Ok(());
    e.for_each_child(&mut |child| {
        if result.is_ok() {
            result = expr(child, widths);
        }
    });
    result
}

fn exprs<'e>(list: impl IntoIterator<Item = &'e Expr>, widths: Widths) -> Result<()> {
    list.into_iter().try_for_each(|e| expr(e, widths))
}

fn node(n: &Node, outer: usize) -> Result<()> {
    let mut result = Ok(());
    match n {
        Node::Join(join) => return self::join(join, outer),
        Node::Scan(scan) => return self::scan(scan, outer),
        _ => n.for_each_child(&mut |child| {
            if result.is_ok() {
                result = node(child, outer);
            }
        }),
    }
    result?;
    let input = match n {
        Node::Virtual(scan) => scan.columns.len(),
        Node::Append(append) => append.slots.len(),
        Node::Filter(n) => n.input.slots().len(),
        Node::Project(n) => n.input.slots().len(),
        Node::ProjectSet(n) => n.input.slots().len(),
        Node::Aggregate(n) => n.input.slots().len(),
        Node::Window(n) => n.input.slots().len(),
        Node::Sort(n) => n.input.slots().len(),
        Node::Limit(n) => n.input.slots().len(),
        Node::Distinct(n) => n.input.slots().len(),
        Node::LockRows(n) => n.slots().len(),
        Node::Insert(insert) => return self::insert(insert, outer),
        // RETURNING reads the new row, the input row and where the row went.
        Node::Update(update) => {
            let destination = usize::from(update.destination.is_some());
            update.row_slots.len() + update.input.slots().len() + destination
        }
        Node::Delete(delete) => delete.input.slots().len(),
        // The table's own row is not wider than the input's.
        Node::Merge(merge) => merge.input.slots().len(),
        _ => 0,
    };
    let mut result = Ok(());
    n.for_each_expr(&mut |e| {
        if result.is_ok() {
            result = expr(e, Widths { input, outer });
        }
    });
    result
}

fn join(join: &Join, outer: usize) -> Result<()> {
    node(&join.left, outer)?;
    node(&join.right, if join.lateral { join.outer.len() } else { outer })?;
    let (left, right) = (join.left.slots().len(), join.right.slots().len());
    let widths = |input| Widths { input, outer };
    if let JoinMethod::Hash { left: left_keys, right: right_keys, builds_left } = &join.method {
        let may_build_left = matches!(join.kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        if *builds_left && !may_build_left {
            return Err(Error::broken("a join of this kind cannot have its left side in a table"));
        }
        exprs(left_keys, widths(left))?;
        exprs(right_keys, widths(right))?;
    }
    exprs(&join.outer, widths(left))?;
    exprs(&join.on, widths(left + right))
}

fn scan(scan: &Scan, outer: usize) -> Result<()> {
    let table = &scan.table;
    let broken = |what: &str| Error::broken(format!("a scan of \"{}\" {what}", table.name));
    let index = table.index(scan.access.index).ok_or_else(|| broken("reads a missing index"))?;
    if scan.access.bounds.len() > index.keys.len() {
        return Err(broken("has more bounds than its index has keys"));
    }
    if scan.columns.iter().any(|(_, place)| *place >= table.columns.len()) {
        return Err(broken("gives a missing column"));
    }
    if scan.families.iter().flatten().any(|place| *place >= table.families.len()) {
        return Err(broken("reads a missing family"));
    }
    exprs(&scan.filter, Widths { input: scan.columns.len(), outer })?;
    // Bounds are known before the first row is.
    let before = Widths { input: 0, outer };
    let mut result = exprs(scan.access.limit.iter().chain(&scan.access.offset), before);
    for bound in &scan.access.bounds {
        bound.for_each_expr(&mut |e| {
            if result.is_ok() {
                result = expr(e, before);
            }
        });
    }
    for bound in scan.pruning.iter().flat_map(|pruning| &pruning.bounds) {
        bound.for_each_expr(&mut |e| {
            if result.is_ok() {
                result = expr(e, before);
            }
        });
    }
    result
}

fn insert(insert: &Insert, outer: usize) -> Result<()> {
    let widths = |input| Widths { input, outer };
    if insert.values.len() != insert.table.columns.len() {
        let name = &insert.table.name;
        return Err(Error::broken(format!("an INSERT lacks values for columns of \"{name}\"")));
    }
    exprs(&insert.values, widths(insert.input.slots().len()))?;
    let row = insert.row_slots.len();
    exprs(insert.generated.iter().map(|(_, e)| e), widths(row))?;
    exprs(insert.checks.iter().map(|(_, e)| e), widths(row))?;
    exprs(insert.index_exprs.iter().map(|(_, e)| e), widths(row))?;
    let returned = row + usize::from(insert.replaced.is_some());
    exprs(insert.returning.iter().map(|(_, e)| e), widths(returned))?;
    if let OnConflict::Update { assignments, filter, .. } = &insert.on_conflict {
        let both = widths(insert.existing_slots.len() + row);
        exprs(assignments.iter().map(|(_, e)| e), both)?;
        exprs(filter, both)?;
    }
    Ok(())
}
