//! Rows that are locked right above a scan of the primary index are locked by the scan itself,
//! which then can read and lock whole keys at once. A sort in between is done afterwards, if
//! all of the rows are locked anyway.

use braid_types::Datum;

use crate::tree::expr::{Expr, conjuncts};
use crate::tree::node::{LockRows, LockedTable, Node, Recheck, Scan, Sort};

use super::spans::candidate;
use super::walk;

pub(crate) fn apply(node: Node, catalog: &braid_catalog::Catalog) -> Node {
    let node = walk::map_children(node, &mut |child| apply(child, catalog));
    let Node::LockRows(lock) = node else { return node };
    match &lock.input {
        Node::Scan(scan) => match locking_scan(&lock, scan, catalog) {
            Some(scan) => Node::Scan(Box::new(scan)),
            None => Node::LockRows(lock),
        },
        Node::Sort(sort) if lock.limit.is_none() && sort.limit.is_none() => {
            let Node::Scan(scan) = &sort.input else { return Node::LockRows(lock) };
            match locking_scan(&lock, scan, catalog) {
                Some(scan) => {
                    let keys = sort.keys.clone();
                    let input = Node::Scan(Box::new(scan));
                    Node::Sort(Box::new(Sort { input, keys, limit: None, offset: None }))
                }
                None => Node::LockRows(lock),
            }
        }
        _ => Node::LockRows(lock),
    }
}

fn locking_scan(lock: &LockRows, scan: &Scan, catalog: &braid_catalog::Catalog) -> Option<Scan> {
    let [target @ LockedTable { parts: None, .. }] = &lock.targets[..] else { return None };
    let limit = total(lock.limit.as_ref(), lock.offset.as_ref())?;
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
    let mut scan = scan.clone();
    // A row's primary key never changes, so what the bounds say exactly stays true.
    let candidate = candidate::candidate(&scan, &scan.table.primary, &filter, catalog);
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
