//! Sorts that an index's order makes needless, and limits handed down to scans and sorts.

use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{
    JoinMethod, Limit, LimitHint, LockRows, Node, Scan, SkippedRows, Sort, SortKey,
};

use super::first_rows::append_below;
use super::index_order::{order_read, rewrite_below};

pub(crate) fn apply(node: Node) -> Node {
    let node = walk::map_children(node, &mut apply);
    match node {
        Node::Sort(sort) => use_index_order(*sort),
        Node::Limit(limit) => hand_down(*limit),
        other => other,
    }
}

fn use_index_order(mut sort: Sort) -> Node {
    let mut keys = sort.keys.clone();
    if let Some(append) = append_below(&mut sort.input, &mut keys)
        && is_same(&append.merge, &keys)
    {
        for input in &mut append.inputs {
            let part = std::mem::replace(input, Node::one_row());
            *input = use_index_order(Sort {
                input: part,
                keys: keys.clone(),
                limit: None,
                offset: None,
            });
        }
        return sort.input;
    }
    // Look through operators that keep the order of their input.
    let mut keys = sort.keys.clone();
    let mut forward = false;
    if let Some(scan) = ordered_scan(&mut sort.input, &mut keys, &mut forward)
        && let Some(reverse) = order_read(scan, &keys)
        && !(forward && reverse)
    {
        scan.access.reverse = reverse;
        return sort.input;
    }
    Node::Sort(Box::new(sort))
}

/// Whether inputs are to be merged in this order.
fn is_same(merge: &[SortKey], keys: &[SortKey]) -> bool {
    let same = |(a, b): (&SortKey, &SortKey)| {
        a.expr.same(&b.expr) && a.descending == b.descending && a.nulls_first == b.nulls_first
    };
    !merge.is_empty() && merge.len() == keys.len() && merge.iter().zip(keys).all(same)
}

/// The scan whose order reaches the top of `node`; `keys` are rewritten to its slots. `forward` is
/// set if it cannot be reversed.
fn ordered_scan<'n>(
    node: &'n mut Node,
    keys: &mut [SortKey],
    forward: &mut bool,
) -> Option<&'n mut Scan> {
    match node {
        Node::Scan(scan) => Some(scan),
        Node::Filter(filter) => ordered_scan(&mut filter.input, keys, forward),
        Node::Project(project) => {
            rewrite_below(project, keys)?;
            ordered_scan(&mut project.input, keys, forward)
        }
        // An interleaved pass gives each row of the top table with all rows below it. Lookups are
        // made for a batch together, and their rows are given in its order.
        Node::Join(join) if matches!(join.method, JoinMethod::Interleaved | JoinMethod::Lookup) => {
            *forward |= matches!(join.method, JoinMethod::Interleaved);
            ordered_scan(&mut join.left, keys, forward)
        }
        _ => None,
    }
}

/// A limit under which a sort keeps only the first rows and a scan stops early.
fn hand_down(mut limit: Limit) -> Node {
    let steady = |e: &Expr| !e.is_volatile();
    if limit.ties.is_empty() && limit.limit.iter().chain(&limit.offset).all(steady) {
        let (wanted, skipped) = (limit.limit.clone(), limit.offset.clone());
        if let Some(lock) = lock_below(&mut limit.input) {
            lock.limit = wanted;
            lock.offset = skipped;
            return Node::Limit(Box::new(limit));
        }
    }
    let is_fixed = |e: &Expr| matches!(e, Expr::Const(..) | Expr::Param(..));
    if limit.ties.is_empty() && limit.limit.iter().chain(&limit.offset).all(is_fixed) {
        let page = Page {
            limit: limit.limit.clone(),
            offset: limit.offset.clone(),
            takes_skipped: limit.skipped == SkippedRows::Above,
        };
        if page.hand_to(&mut limit.input) {
            limit.skipped = SkippedRows::Below;
        }
    }
    Node::Limit(Box::new(limit))
}

/// The rows that a limit above wants.
#[derive(Clone)]
struct Page {
    limit: Option<Expr>,
    offset: Option<Expr>,
    /// The rows of OFFSET are wanted as well.
    takes_skipped: bool,
}

impl Page {
    /// Whether it matters for how many rows an expression is evaluated: also for those that OFFSET
    /// skips.
    fn counts_rows(&self, e: &Expr) -> bool {
        e.waits() || self.offset.is_some() && e.is_volatile()
    }

    /// Hands it to what gives the rows; whether that skips the rows of OFFSET.
    fn hand_to(self, node: &mut Node) -> bool {
        match node {
            Node::Project(project) if !project.exprs.iter().any(|(_, e)| self.counts_rows(e)) => {
                self.hand_to(&mut project.input)
            }
            Node::Append(append) => {
                // Which of its inputs gives the rows that are skipped is not known.
                if self.offset.is_none() {
                    for input in &mut append.inputs {
                        self.clone().hand_to(input);
                    }
                }
                false
            }
            Node::Sort(sort) if self.limit.is_some() => {
                (sort.limit, sort.offset) = (self.limit, self.offset);
                false
            }
            scan @ Node::Scan(_) if self.takes_skipped => {
                self.hint(scan, true);
                false
            }
            Node::Scan(scan) => {
                let skips = self.offset.is_some();
                (scan.access.limit, scan.access.offset) = (self.limit, self.offset);
                skips
            }
            join @ Node::Join(_) => {
                self.hint(join, true);
                false
            }
            _ => false,
        }
    }

    /// Gives lookup joins, and the inputs that joins read as they go, the number of rows that is
    /// likely to be taken.
    fn hint(&self, node: &mut Node, is_final: bool) {
        let Some(limit) = self.limit.clone() else { return };
        let hint = LimitHint { limit, offset: self.offset.clone(), is_final };
        match node {
            Node::Project(project) => self.hint(&mut project.input, is_final),
            Node::Join(join) => match join.method {
                JoinMethod::Lookup => {
                    join.limit_hint = Some(hint);
                    self.hint(&mut join.left, false);
                }
                JoinMethod::Loop | JoinMethod::Hash { builds_left: false, .. } => {
                    self.hint(&mut join.left, false);
                }
                JoinMethod::Hash { .. } | JoinMethod::Interleaved => {}
            },
            Node::Scan(scan) if scan.filter.is_empty() => scan.access.limit_hint = Some(hint),
            _ => {}
        }
    }
}

/// The operator whose locked rows reach the top of `node` one by one.
fn lock_below(node: &mut Node) -> Option<&mut LockRows> {
    match node {
        Node::Project(project) => lock_below(&mut project.input),
        Node::LockRows(lock) => Some(lock),
        _ => None,
    }
}
