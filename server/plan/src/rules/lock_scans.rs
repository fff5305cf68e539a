//! Rows that are locked right above a scan of the primary index are locked by the scan itself,
//! which then can read and lock whole keys at once.

use braid_types::Datum;

use crate::expr::{Expr, conjuncts};
use crate::node::{LockRows, Node, Recheck, Scan};

use super::{choose_index, walk};

pub fn apply(node: Node, catalog: &braid_catalog::Catalog) -> Node {
    let node = walk::map_children(node, &mut |child| apply(child, catalog));
    let Node::LockRows(mut lock) = node else { return node };
    match locking_scan(&mut lock, catalog) {
        Some(scan) => Node::Scan(Box::new(scan)),
        None => Node::LockRows(lock),
    }
}

fn locking_scan(lock: &mut LockRows, catalog: &braid_catalog::Catalog) -> Option<Scan> {
    let [target] = &lock.targets[..] else { return None };
    let limit = total(lock.limit.as_ref(), lock.offset.as_ref())?;
    let Node::Scan(scan) = &lock.input else { return None };
    if scan.access.index != scan.table.primary.number {
        return None;
    }
    let mut filter: Vec<Expr> = Vec::new();
    for step in &lock.recheck {
        let Recheck::Holds(list) = step else { return None };
        let mut flat = Vec::new();
        list.iter().cloned().for_each(|e| conjuncts(e, &mut flat));
        if flat.iter().any(Expr::waits) {
            return None;
        }
        for e in flat {
            if !filter.iter().any(|known| known.same(&e)) {
                filter.push(e);
            }
        }
    }
    let mut scan = scan.as_ref().clone();
    // A row's primary key never changes, so what the bounds say exactly stays true.
    let candidate = choose_index::candidate(&scan, &scan.table.primary, &filter, catalog);
    let mut place = 0;
    filter.retain(|_| {
        place += 1;
        !candidate.exact.contains(&(place - 1))
    });
    // A scan that reads nothing has no conditions left.
    if scan.rows > 0.0 {
        scan.filter = filter;
    }
    scan.access.limit = limit;
    scan.lock = Some(target.lock);
    scan.implicit_lock = target.implicit;
    scan.families.clone_from(&target.families);
    Some(scan)
}

/// `limit + offset`, or `None` if that is not known before the scan starts.
fn total(limit: Option<&Expr>, offset: Option<&Expr>) -> Option<Option<Expr>> {
    match (limit, offset) {
        (None, _) => Some(None),
        (Some(e @ (Expr::Const(..) | Expr::Param(..))), None) => Some(Some(e.clone())),
        (Some(Expr::Const(Datum::Int(a), ty)), Some(Expr::Const(Datum::Int(b), _))) => {
            Some(Some(Expr::Const(Datum::Int(a.checked_add(*b)?), ty.clone())))
        }
        _ => None,
    }
}
