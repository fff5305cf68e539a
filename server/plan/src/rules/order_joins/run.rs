//! A tree of joins as a run of inputs and conditions.

use braid_catalog::Catalog;
use braid_types::SqlType;

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Join, JoinKind, Node};

use super::set::Set;
use crate::rules::estimate;
use crate::rules::push_filters::needs;

/// The most equalities that are added because they follow from others.
const DERIVED_MAX: usize = 64;

/// Whether a join is a part of a run.
pub(super) fn is_reordered(join: &Join) -> bool {
    let is_steady = |e: &Expr| !e.waits() && !e.is_volatile();
    !join.lateral
        && match join.kind {
            JoinKind::Inner => true,
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => join.on.iter().all(is_steady),
            JoinKind::Right | JoinKind::Full => false,
        }
}

/// One of the inputs of a run.
pub(super) struct Input {
    pub node: Node,
    pub rows: f64,
    pub slots: Vec<Slot>,
    /// How it is joined, if that is not by an inner join.
    pub attached: Option<Attached>,
}

/// The right side of a left, semi or anti join.
pub(super) struct Attached {
    pub kind: JoinKind,
    pub on: Vec<Expr>,
    /// The inputs that `on` reads besides this one.
    pub needs: Set,
}

/// A condition of an inner join.
pub(super) struct Condition {
    pub expr: Expr,
    /// The inputs that it reads.
    pub needs: Set,
    /// What the two sides of an equality read.
    pub sides: Option<(Set, Set)>,
    /// The columns that are equal by it and others, as a number.
    pub class: Option<usize>,
    /// It follows from others.
    pub is_derived: bool,
}

/// A run of joins.
#[derive(Default)]
pub(super) struct Run {
    pub inputs: Vec<Input>,
    pub conditions: Vec<Condition>,
}

impl Run {
    /// Takes a tree of joins apart; `inner` orders the joins inside of an input.
    pub(crate) fn of(node: Node, catalog: &Catalog, inner: &dyn Fn(Node) -> Node) -> Self {
        let (mut run, mut joins) = (Self::default(), Vec::new());
        let mut conditions = Vec::new();
        flatten(node, None, &mut joins, &mut conditions);
        for (node, attached) in joins {
            let node = inner(node);
            let (rows, slots) = (estimate::rows(&node, catalog), node.slots());
            run.inputs.push(Input { node, rows, slots, attached });
        }
        run.take(conditions);
        run
    }

    /// Takes the conditions of inner joins, and finds out what each condition reads.
    fn take(&mut self, conditions: Vec<Expr>) {
        for place in 0..self.inputs.len() {
            if let Some(attached) = &self.inputs[place].attached {
                let on = attached.on.iter();
                let read = on.fold(Set::default(), |set, e| set.union(self.read_by(e)));
                if let Some(attached) = &mut self.inputs[place].attached {
                    attached.needs = read.without(Set::of(place));
                }
            }
        }
        for expr in conditions {
            let condition = self.condition(expr, false);
            self.conditions.push(condition);
        }
    }

    /// The inputs that an expression reads.
    fn read_by(&self, e: &Expr) -> Set {
        let slots = needs(e);
        let inputs = self.inputs.iter().enumerate().take(Set::INPUTS_MAX);
        inputs
            .filter(|(_, input)| input.slots.iter().any(|slot| slots.contains(slot)))
            .fold(Set::default(), |set, (place, _)| set.union(Set::of(place)))
    }

    fn condition(&self, expr: Expr, is_derived: bool) -> Condition {
        let needs = self.read_by(&expr);
        let sides = match &expr {
            Expr::Compare(CompareOp::Eq, a, b) if !expr.waits() => {
                let (a, b) = (self.read_by(a), self.read_by(b));
                (!a.is_empty() && !b.is_empty() && !a.meets(b)).then_some((a, b))
            }
            _ => None,
        };
        Condition { expr, needs, sides, class: None, is_derived }
    }

    /// Adds the equalities of columns that follow from those that were written.
    pub(crate) fn find_derived(&mut self) {
        let mut classes: Vec<Vec<Expr>> = Vec::new();
        for place in 0..self.conditions.len() {
            let Some((a, b)) = self.equal_columns(place) else { continue };
            let class = merge(&mut classes, a, b);
            self.conditions[place].class = Some(class);
        }
        // Classes that were merged into others are empty.
        for place in 0..self.conditions.len() {
            let Some((a, _)) = self.equal_columns(place) else { continue };
            let class = classes.iter().position(|class| class.iter().any(|e| e.same(&a)));
            self.conditions[place].class = class;
        }
        let mut derived = Vec::new();
        for (number, class) in classes.iter().enumerate() {
            for (i, a) in class.iter().enumerate() {
                for b in &class[i + 1..] {
                    let (a, b) = (Box::new(a.clone()), Box::new(b.clone()));
                    let found = self.condition(Expr::Compare(CompareOp::Eq, a, b), true);
                    let is_known = |known: &Condition| {
                        known.class == Some(number) && known.needs == found.needs
                    };
                    if found.sides.is_some() && !self.conditions.iter().any(is_known) {
                        derived.push(Condition { class: Some(number), ..found });
                    }
                }
            }
        }
        if derived.len() <= DERIVED_MAX {
            self.conditions.append(&mut derived);
        }
    }

    /// The two columns of an equality between inputs that are joined by inner joins, if equality
    /// is transitive among their types.
    fn equal_columns(&self, place: usize) -> Option<(Expr, Expr)> {
        let condition = &self.conditions[place];
        let (a, b) = condition.sides?;
        let is_inner = |set: Set| set.places().all(|place| self.inputs[place].attached.is_none());
        match &condition.expr {
            Expr::Compare(CompareOp::Eq, left, right)
                if is_inner(a) && is_inner(b) && is_transitive(&left.ty(), &right.ty()) =>
            {
                match (&**left, &**right) {
                    (left @ Expr::Column(..), right @ Expr::Column(..)) => {
                        Some((left.clone(), right.clone()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The conditions that are checked where two sets of inputs are joined.
    pub(crate) fn checked(&self, left: Set, right: Set) -> Vec<usize> {
        let both = left.union(right);
        let meets = |condition: &Condition| {
            let needs = condition.needs;
            needs.is_within(both)
                && !needs.is_empty()
                && (needs.len() == 1 || needs.meets(left) && needs.meets(right))
        };
        // A condition on one input is checked by the first join of that input.
        let is_first = |condition: &Condition| match condition.needs.len() {
            1 => condition.needs == left || condition.needs == right,
            _ => true,
        };
        let mut found: Vec<usize> = Vec::new();
        for (place, condition) in self.conditions.iter().enumerate() {
            if !meets(condition) || !is_first(condition) {
                continue;
            }
            let is_same = |other: &usize| self.conditions[*other].class == condition.class;
            if condition.is_derived && found.iter().any(is_same) {
                continue;
            }
            found.push(place);
        }
        found
    }
}

/// The inputs of a tree of joins, and the conditions of its inner joins.
fn flatten(
    node: Node,
    attached: Option<Attached>,
    inputs: &mut Vec<(Node, Option<Attached>)>,
    conditions: &mut Vec<Expr>,
) {
    match node {
        Node::Join(join) if attached.is_none() && is_reordered(&join) => {
            let Join { kind, left, right, on, .. } = *join;
            flatten(left, None, inputs, conditions);
            if kind == JoinKind::Inner {
                flatten(right, None, inputs, conditions);
                conditions.extend(on);
            } else {
                let attached = Attached { kind, on, needs: Set::default() };
                flatten(right, Some(attached), inputs, conditions);
            }
        }
        other => inputs.push((other, attached)),
    }
}

/// Puts two columns into one class of equal ones; returns its number.
fn merge(classes: &mut Vec<Vec<Expr>>, a: Expr, b: Expr) -> usize {
    let find = |e: &Expr| classes.iter().position(|class| class.iter().any(|known| known.same(e)));
    match (find(&a), find(&b)) {
        (Some(one), Some(other)) if one == other => one,
        (Some(one), Some(other)) => {
            let moved = std::mem::take(&mut classes[other]);
            classes[one].extend(moved);
            one
        }
        (Some(one), None) => {
            classes[one].push(b);
            one
        }
        (None, Some(other)) => {
            classes[other].push(a);
            other
        }
        (None, None) => {
            classes.push(vec![a, b]);
            classes.len() - 1
        }
    }
}

/// Whether equal values of two types are equal to the same third values, and comparing them
/// cannot fail.
pub(crate) fn is_transitive(a: &SqlType, b: &SqlType) -> bool {
    let is_integer = |ty: &SqlType| matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
    let is_plain = |ty: &SqlType| ty.element().is_none() && !matches!(ty, SqlType::Record(..));
    (a == b && is_plain(a)) || (is_integer(a) && is_integer(b))
}
