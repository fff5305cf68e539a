//! How many rows the join of some inputs has.
//!
//! The number depends on the inputs alone, not on the order in which they are joined: otherwise
//! the search would prefer the order whose estimate is wrong by the most.

use std::cell::RefCell;
use std::collections::HashMap;

use braid_catalog::Catalog;

use super::run::{Attached, Condition, Run};
use super::set::Set;
use crate::rules::estimate;
use crate::tree::expr::Expr;
use crate::tree::node::{JoinKind, Node};

/// The part of pairs that a comparison of more than two inputs leaves.
const OTHER: f64 = 0.3;
/// The same of an equality.
const OTHER_EQUALITY: f64 = 0.005;

/// The sizes of a run's joins.
pub(super) struct Sizes<'a> {
    pub run: &'a Run,
    pub catalog: &'a Catalog,
    /// The equalities of columns, in the order in which they count.
    equalities: Vec<usize>,
    /// By what a left, semi or anti join multiplies the rows.
    factors: Vec<f64>,
    /// The part of the pairs that some conditions on the same two inputs leave.
    parts: RefCell<HashMap<Vec<usize>, f64>>,
}

impl<'a> Sizes<'a> {
    pub(crate) fn new(run: &'a Run, catalog: &'a Catalog) -> Self {
        let factors = run.inputs.iter().map(|input| match &input.attached {
            Some(attached) => factor(run, attached, &input.node, input.rows, catalog),
            None => 1.0,
        });
        let (factors, parts) = (factors.collect(), RefCell::default());
        let mut sizes = Self { run, catalog, equalities: Vec::new(), factors, parts };
        sizes.equalities = sizes.in_order();
        sizes
    }

    /// Conditions on the same two inputs come first if there are several: they belong together, as
    /// the columns of a key do. Then those that leave the most: of the columns a, b and c that are
    /// equal, the ones with the fewest values say the least.
    fn in_order(&self) -> Vec<usize> {
        let conditions = &self.run.conditions;
        let columns = |condition: &Condition| condition.class.is_some();
        let mut order: Vec<(usize, f64, usize)> = Vec::new();
        for (place, condition) in conditions.iter().enumerate().filter(|(_, c)| columns(c)) {
            let same = conditions.iter().filter(|c| columns(c) && c.needs == condition.needs);
            let together = same.count();
            order.push((together, self.part(&[place]), place));
        }
        order.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        order.into_iter().map(|(_, _, place)| place).collect()
    }

    /// The rows of the join of these inputs.
    pub(crate) fn rows(&self, set: Set) -> f64 {
        let mut rows = 1.0;
        for place in set.places() {
            rows *= match self.run.inputs[place].attached {
                Some(_) => self.factors[place],
                None => self.run.inputs[place].rows,
            };
        }
        for group in self.counted(set) {
            rows *= self.part(&group);
        }
        rows.max(1.0)
    }

    /// The conditions inside of a set that count, each group on the same inputs. Of equalities of
    /// columns only as many count as make all of them equal.
    fn counted(&self, set: Set) -> Vec<Vec<usize>> {
        let conditions = &self.run.conditions;
        let mut groups: Vec<(Set, Vec<usize>)> = Vec::new();
        let mut add = |place: usize| {
            let needs = conditions[place].needs;
            match groups.iter_mut().find(|(known, _)| *known == needs) {
                Some((_, group)) => group.push(place),
                None => groups.push((needs, vec![place])),
            }
        };
        // The inputs whose columns of a class are known to be equal.
        let mut equal: Vec<(Option<usize>, Set)> = Vec::new();
        for place in self.equalities.iter().copied() {
            let Condition { needs, class, .. } = conditions[place];
            if !needs.is_within(set)
                || equal.iter().any(|(c, s)| *c == class && needs.is_within(*s))
            {
                continue;
            }
            let mut all = needs;
            equal.retain(|(known, inputs)| {
                let is_joined = *known == class && inputs.meets(needs);
                if is_joined {
                    all = all.union(*inputs);
                }
                !is_joined
            });
            equal.push((class, all));
            add(place);
        }
        for (place, condition) in conditions.iter().enumerate() {
            let is_inside = condition.needs.is_within(set) && !condition.needs.is_empty();
            if condition.class.is_none() && is_inside {
                add(place);
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The part of the pairs that conditions on the same inputs leave.
    fn part(&self, group: &[usize]) -> f64 {
        if let Some(part) = self.parts.borrow().get(group) {
            return *part;
        }
        let conditions = &self.run.conditions;
        let needs = conditions[group[0]].needs;
        let places: Vec<usize> = needs.places().collect();
        let part = match places[..] {
            [left, right] => {
                let (left, right) = (&self.run.inputs[left], &self.run.inputs[right]);
                let on: Vec<Expr> = group.iter().map(|p| conditions[*p].expr.clone()).collect();
                let sizes = (left.rows, right.rows);
                estimate::joined_part(sizes, &on, &left.node, &right.node, self.catalog)
            }
            _ => group.iter().fold(1.0, |part, place| {
                part * if conditions[*place].sides.is_some() { OTHER_EQUALITY } else { OTHER }
            }),
        };
        self.parts.borrow_mut().insert(group.to_vec(), part);
        part
    }
}

/// By what a left, semi or anti join multiplies the rows of its left side.
fn factor(run: &Run, attached: &Attached, right: &Node, rows: f64, catalog: &Catalog) -> f64 {
    let is_left = attached.kind == JoinKind::Left;
    let Some(left) = attached.needs.first().map(|place| &run.inputs[place]) else {
        return if is_left { rows } else { 1.0 };
    };
    let how = (attached.kind, &attached.on[..]);
    let factor = estimate::attached(how, (left.rows, rows), &left.node, right, catalog);
    if is_left { factor.max(1.0) } else { factor.min(1.0) }
}
