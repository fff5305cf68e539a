//! Visiting a plan by reference: what EXPLAIN and checks need.

use super::expr::Expr;
use super::node::{FrameBound, JoinMethod, Node, OnConflict, Recheck};

impl Node {
    /// Calls `f` on each input of an operator, in order.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Node)) {
        match self {
            Node::Values(_)
            | Node::Scan(_)
            | Node::Virtual(_)
            | Node::Function(_)
            | Node::CteScan(_) => {}
            Node::Filter(n) => f(&n.input),
            Node::Project(n) => f(&n.input),
            Node::ProjectSet(n) => f(&n.input),
            Node::Join(n) => {
                f(&n.left);
                f(&n.right);
            }
            Node::Aggregate(n) => f(&n.input),
            Node::Window(n) => f(&n.input),
            Node::Sort(n) => f(&n.input),
            Node::LockRows(n) => f(&n.input),
            Node::Limit(n) => f(&n.input),
            Node::Distinct(n) => f(&n.input),
            Node::SetOp(n) => {
                f(&n.left);
                f(&n.right);
            }
            Node::Append(n) => n.inputs.iter().for_each(f),
            Node::With(n) => {
                for cte in &n.ctes {
                    f(&cte.plan);
                    if let Some((term, _)) = &cte.recursive {
                        f(term);
                    }
                }
                f(&n.body);
            }
            Node::Insert(n) => {
                f(&n.input);
                n.routes.iter().flat_map(|routes| &routes.leaves).for_each(f);
            }
            Node::Update(n) => f(&n.input),
            Node::Delete(n) => f(&n.input),
            Node::Merge(n) => f(&n.input),
        }
    }

    /// Calls `f` on each expression of an operator (not of its inputs).
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Node::Values(n) => n.rows.iter().flatten().for_each(f),
            Node::Scan(n) => {
                n.filter.iter().for_each(&mut *f);
                n.access.bounds.iter().for_each(|bound| bound.for_each_expr(f));
                n.access.limit.iter().chain(&n.access.offset).for_each(&mut *f);
                let pruning = n.pruning.iter().flat_map(|pruning| &pruning.bounds);
                pruning.for_each(|bound| bound.for_each_expr(f));
            }
            Node::Virtual(n) => n.filter.iter().for_each(f),
            Node::Function(n) => n.functions.iter().flat_map(|c| &c.args).for_each(f),
            Node::Filter(n) => n.predicates.iter().for_each(f),
            Node::Project(n) => n.exprs.iter().map(|(_, e)| e).for_each(f),
            Node::ProjectSet(n) => n.functions.iter().flat_map(|c| &c.args).for_each(f),
            Node::Join(n) => {
                n.on.iter().chain(&n.outer).for_each(&mut *f);
                if let JoinMethod::Hash { left, right, .. } = &n.method {
                    left.iter().chain(right).for_each(f);
                }
            }
            Node::Aggregate(n) => {
                n.group.iter().map(|(_, e)| e).for_each(&mut *f);
                for (_, call) in &n.aggregates {
                    call.args.iter().chain(&call.filter).for_each(&mut *f);
                    call.order.iter().map(|key| &key.expr).for_each(&mut *f);
                }
            }
            Node::Window(n) => {
                n.partition.iter().for_each(&mut *f);
                n.order.iter().map(|key| &key.expr).for_each(&mut *f);
                for (_, call) in &n.calls {
                    call.args.iter().chain(&call.filter).for_each(&mut *f);
                    for bound in [&call.frame.start, &call.frame.end] {
                        if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                            f(e);
                        }
                    }
                }
            }
            Node::Sort(n) => {
                n.keys.iter().map(|key| &key.expr).for_each(&mut *f);
                n.limit.iter().chain(&n.offset).for_each(f);
            }
            Node::LockRows(n) => {
                n.recheck.iter().flat_map(Recheck::exprs).for_each(&mut *f);
                n.limit.iter().chain(&n.offset).for_each(f);
            }
            Node::Limit(n) => n.limit.iter().chain(&n.offset).chain(&n.ties).for_each(f),
            Node::Distinct(n) => n.on.iter().for_each(f),
            Node::Append(n) => n.merge.iter().map(|key| &key.expr).for_each(f),
            Node::SetOp(_) | Node::With(_) | Node::CteScan(_) => {}
            Node::Merge(n) => n.over_input().chain(n.over_row()).for_each(f),
            Node::Insert(_) | Node::Update(_) | Node::Delete(_) => self.for_each_of_change(f),
        }
    }

    /// Whether an expression of the operator, or of what is below it, is volatile.
    pub fn is_volatile(&self) -> bool {
        let mut found = false;
        self.for_each_expr(&mut |e| found = found || e.is_volatile_inside());
        self.for_each_child(&mut |child| found = found || child.is_volatile());
        found
    }

    fn for_each_of_change<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        let (generated, checks, index_exprs, returning) = match self {
            Node::Insert(n) => {
                n.values.iter().for_each(&mut *f);
                if let OnConflict::Update { assignments, filter, .. } = &n.on_conflict {
                    assignments.iter().map(|(_, e)| e).chain(filter).for_each(&mut *f);
                }
                let levels = n.routes.iter().flat_map(|routes| &routes.levels);
                levels.flat_map(|level| &level.keys).for_each(&mut *f);
                (&n.generated[..], &n.checks[..], &n.index_exprs, &n.returning)
            }
            Node::Update(n) => {
                n.assignments.iter().map(|(_, e)| e).for_each(&mut *f);
                n.moves.iter().map(|moves| &moves.stays).for_each(&mut *f);
                let levels = n.destination.iter().flat_map(|found| &found.levels);
                levels.flat_map(|level| &level.keys).for_each(&mut *f);
                (&n.generated[..], &n.checks[..], &n.index_exprs, &n.returning)
            }
            Node::Delete(n) => (&[][..], &[][..], &n.index_exprs, &n.returning),
            _ => return,
        };
        generated.iter().map(|(_, e)| e).for_each(&mut *f);
        checks.iter().map(|(_, e)| e).for_each(&mut *f);
        index_exprs.iter().map(|(_, e)| e).for_each(&mut *f);
        returning.iter().map(|(_, e)| e).for_each(f);
    }
}
