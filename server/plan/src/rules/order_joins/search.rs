//! The cheapest tree of joins.
//!
//! Up to [`SEARCHED_MAX`] inputs: for each connected set of inputs the cheapest tree is made of
//! the cheapest trees of two connected parts (dynamic programming over csg-cmp pairs, Moerkotte
//! and Neumann, VLDB 2006). At most 28,501 pairs are looked at, those of ten inputs that are all
//! connected with each other. With more inputs, and between sets that nothing connects, the two
//! parts whose join has the fewest rows are joined first (greedy operator ordering).
//!
//! Joins of catalog views alone keep the order of rows of the view that was written first. Tools
//! read columns and constraints without ORDER BY, and these views are small.

use std::collections::HashMap;

use super::interleaved;
use super::set::Set;
use super::sizes::Sizes;
use crate::rules::cost::{self, LookupCost};
use crate::rules::partitions;
use crate::tree::expr::Expr;
use crate::tree::node::{JoinKind, Node};

/// The most inputs whose order is searched for completely.
const SEARCHED_MAX: usize = 10;

/// How a set of inputs becomes one.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Input(usize),
    Join { left: Set, right: Set },
}

/// The cheapest way known to join a set of inputs.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub step: Step,
    pub rows: f64,
    cost: f64,
}

/// The cheapest ways by sets.
pub(super) type Tree = HashMap<Set, Part>;

/// The cheapest tree of all inputs.
pub(super) fn cheapest(sizes: &Sizes<'_>) -> Option<Tree> {
    let mut search = Search::new(sizes);
    let all = Set::up_to(sizes.run.inputs.len() - 1);
    if all.len() <= SEARCHED_MAX {
        search.all_connected(all);
    }
    if !search.tree.contains_key(&all) {
        search.greedy(all);
    }
    debug_assert!(search.tree.contains_key(&all), "no inputs are left that cannot be joined");
    search.tree.contains_key(&all).then_some(search.tree)
}

/// What lookups cost.
#[derive(Clone, Copy)]
enum Looked {
    /// In a table.
    Up(LookupCost),
    /// In a partitioned one, for each left row.
    UpInPartitions(f64),
}

impl Looked {
    fn of(self, left: f64) -> f64 {
        match self {
            Looked::Up(cost) => cost.of(left),
            Looked::UpInPartitions(each) => left * each,
        }
    }
}

struct Search<'a> {
    sizes: &'a Sizes<'a>,
    tree: Tree,
    /// The inputs that a condition connects with each one.
    neighbours: Vec<Set>,
    /// Inputs that are the right side of a left, semi or anti join.
    attached: Set,
    /// Whether the input that was written first keeps giving the rows their order.
    keeps_order: bool,
    /// What a lookup costs in an input, by the conditions that lead to it.
    lookups: HashMap<(usize, Vec<usize>), Option<Looked>>,
}

impl<'a> Search<'a> {
    fn new(sizes: &'a Sizes<'a>) -> Self {
        let inputs = &sizes.run.inputs;
        let mut neighbours = vec![Set::default(); inputs.len()];
        let mut connect = |set: Set| {
            for place in set.places() {
                neighbours[place] = neighbours[place].union(set.without(Set::of(place)));
            }
        };
        let conditions = sizes.run.conditions.iter();
        conditions.filter(|c| c.needs.len() == 2).for_each(|c| connect(c.needs));
        let (mut tree, mut attached_places) = (Tree::new(), Set::default());
        for (place, input) in inputs.iter().enumerate() {
            if let Some(attached) = &input.attached {
                attached_places = attached_places.union(Set::of(place));
                attached.needs.places().for_each(|p| connect(Set::of(p).union(Set::of(place))));
            }
            let cost = cost::of_input(&input.node, sizes.catalog);
            let part = Part { step: Step::Input(place), rows: input.rows, cost };
            tree.insert(Set::of(place), part);
        }
        let keeps_order = !inputs.iter().any(|input| reads_table(&input.node));
        let attached = attached_places;
        Self { sizes, tree, neighbours, attached, keeps_order, lookups: HashMap::new() }
    }

    /// The neighbours of a set outside of it.
    fn around(&self, set: Set) -> Set {
        let near = set.places().fold(Set::default(), |near, p| near.union(self.neighbours[p]));
        near.without(set)
    }

    /// Finds the cheapest tree of each connected set.
    fn all_connected(&mut self, all: Set) {
        for place in all.places().rev() {
            let start = Set::of(place);
            self.complements(start);
            self.grow(start, Set::up_to(place));
        }
    }

    /// Every connected set that has this one inside and none of the excluded inputs.
    fn grow(&mut self, set: Set, excluded: Set) {
        let near = self.around(set).without(excluded);
        for part in near.parts() {
            self.complements(set.union(part));
        }
        for part in near.parts() {
            self.grow(set.union(part), excluded.union(near));
        }
    }

    /// Every connected set that can be joined with this one.
    fn complements(&mut self, set: Set) {
        let Some(first) = set.first() else { return };
        let excluded = Set::up_to(first).union(set);
        let near = self.around(set).without(excluded);
        for place in near.places().rev() {
            let start = Set::of(place);
            self.consider(set, start);
            let before = Set::up_to(place).common(near);
            self.grow_complement(set, start, excluded.union(before));
        }
    }

    fn grow_complement(&mut self, set: Set, other: Set, excluded: Set) {
        let near = self.around(other).without(excluded);
        for part in near.parts() {
            self.consider(set, other.union(part));
        }
        for part in near.parts() {
            self.grow_complement(set, other.union(part), excluded.union(near));
        }
    }

    /// Takes the join of two sets, either way round, if it is the cheapest of their union.
    fn consider(&mut self, a: Set, b: Set) {
        self.keep(a, b);
        self.keep(b, a);
    }

    fn keep(&mut self, left: Set, right: Set) {
        let Some(part) = self.joined(left, right) else { return };
        let known = self.tree.get(&left.union(right));
        if known.is_none_or(|known| part.cost < known.cost) {
            self.tree.insert(left.union(right), part);
        }
    }

    /// Whether the right set may be the right side of a join with the left one.
    fn is_allowed(&self, left: Set, right: Set) -> bool {
        if self.keeps_order && left.first() > right.first() {
            return false;
        }
        // The right side of a left, semi or anti join is nowhere else.
        let is_alone = |set: Set| set.len() == 1 && set.is_within(self.attached);
        match right.first().and_then(|place| self.sizes.run.inputs[place].attached.as_ref()) {
            _ if is_alone(left) => false,
            Some(attached) if right.len() == 1 => attached.needs.is_within(left),
            _ => true,
        }
    }

    fn joined(&mut self, left: Set, right: Set) -> Option<Part> {
        if !self.is_allowed(left, right) {
            return None;
        }
        let (l, r) = (*self.tree.get(&left)?, *self.tree.get(&right)?);
        let known = self.tree.get(&left.union(right)).map(|part| part.rows);
        let rows = known.unwrap_or_else(|| self.sizes.rows(left.union(right)));
        let checked = self.sizes.run.checked(left, right);
        let by_hash = match self.has_keys(left, right, &checked) {
            true if interleaved::is_one_pass(self.sizes.run, left, right) => 0.0,
            true => cost::hash_of_either(l.rows, r.rows, self.may_build_left(right)),
            false => cost::pairs(l.rows, r.rows),
        };
        let mut cost = r.cost + by_hash;
        if right.len() == 1
            && let Some(lookups) = self.lookup(right, checked)
        {
            cost = cost.min(lookups.of(l.rows));
        }
        let cost = l.cost + cost + cost::given(rows);
        Some(Part { step: Step::Join { left, right }, rows, cost })
    }

    /// Whether the left side may be the build side. A left join then has another order of rows.
    fn may_build_left(&self, right: Set) -> bool {
        let place = right.first().filter(|_| right.len() == 1);
        match place.and_then(|place| self.sizes.run.inputs[place].attached.as_ref()) {
            Some(attached) => attached.kind != JoinKind::Left || !self.keeps_order,
            None => false,
        }
    }

    /// Whether an equality joins two sets.
    fn has_keys(&self, left: Set, right: Set, checked: &[usize]) -> bool {
        if let Some(attached) = self.attached(right) {
            return attached.iter().any(cost::is_equality);
        }
        checked.iter().filter_map(|place| self.sizes.run.conditions[*place].sides).any(|(a, b)| {
            (a.is_within(left) && b.is_within(right)) || (b.is_within(left) && a.is_within(right))
        })
    }

    /// The conditions of a left, semi or anti join.
    fn attached(&self, right: Set) -> Option<&'a [Expr]> {
        let place = right.first().filter(|_| right.len() == 1)?;
        self.sizes.run.inputs[place].attached.as_ref().map(|attached| &attached.on[..])
    }

    /// What lookups cost in an input.
    fn lookup(&mut self, right: Set, checked: Vec<usize>) -> Option<Looked> {
        let place = right.first()?;
        let input = &self.sizes.run.inputs[place];
        if !matches!(input.node, Node::Scan(_) | Node::Append(_)) {
            return None;
        }
        let key = (place, checked);
        if let Some(known) = self.lookups.get(&key) {
            return *known;
        }
        let own = key.1.iter().map(|place| &self.sizes.run.conditions[*place].expr);
        let on: Vec<Expr> = match self.attached(right) {
            Some(on) => on.to_vec(),
            None => own.cloned().collect(),
        };
        let catalog = self.sizes.catalog;
        let found = match &input.node {
            Node::Scan(scan) => cost::predicted_lookup(scan, &on, catalog).map(Looked::Up),
            node => {
                let each = partitions::predicted_lookup(node, &on, catalog);
                each.map(|each| Looked::UpInPartitions(cost::RUN + each))
            }
        };
        self.lookups.insert(key, found);
        found
    }

    /// Joins the largest parts known until one is left; the fewest rows come first.
    fn greedy(&mut self, all: Set) {
        let mut open: Vec<Set> = self.largest_parts(all);
        // The join of two parts: whether nothing connects them, and its rows.
        let mut pairs: HashMap<(Set, Set), (bool, f64)> = HashMap::new();
        while open.len() > 1 {
            let mut best: Option<((bool, f64), (Set, Set))> = None;
            for (i, a) in open.iter().enumerate() {
                let near = self.around(*a);
                for b in &open[i + 1..] {
                    if !self.is_allowed(*a, *b) && !self.is_allowed(*b, *a) {
                        continue;
                    }
                    let is_cross = !near.meets(*b);
                    if is_cross && best.is_some_and(|((cross, _), _)| !cross) {
                        continue;
                    }
                    let rows = || (is_cross, self.sizes.rows(a.union(*b)));
                    let size = *pairs.entry((*a, *b)).or_insert_with(rows);
                    if best.is_none_or(|(known, _)| size < known) {
                        best = Some((size, (*a, *b)));
                    }
                }
            }
            let Some((_, (a, b))) = best else { return };
            self.consider(a, b);
            open.retain(|set| *set != a && *set != b);
            open.push(a.union(b));
        }
    }

    /// The largest sets with a tree that have no input in common.
    fn largest_parts(&self, all: Set) -> Vec<Set> {
        let mut known: Vec<Set> = self.tree.keys().copied().collect();
        known.sort_by_key(|set| (usize::MAX - set.len(), *set));
        let mut parts: Vec<Set> = Vec::new();
        let mut rest = all;
        for set in known {
            if set.is_within(rest) {
                rest = rest.without(set);
                parts.push(set);
            }
        }
        parts
    }
}

/// Whether a plan reads a table, and not catalog views alone.
pub(crate) fn reads_table(node: &Node) -> bool {
    let mut reads = matches!(node, Node::Scan(_));
    node.for_each_child(&mut |child| reads |= reads_table(child));
    reads
}
