//! The rows of joins, and how many groups rows fall into.

use braid_catalog::{Catalog, Table};

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{JoinKind, Node};

use super::origin::{self, Origin};

/// The part of pairs that a comparison other than an equality leaves.
const RANGE: f64 = 0.3;
/// The part of pairs that a range with two ends leaves, as PostgreSQL assumes it.
const BETWEEN: f64 = 0.005;
/// The part of the left rows that are believed to have a match in a semi join.
const SEMI: f64 = 0.5;
/// The least part of the left rows that an anti join is believed to leave.
const ANTI_LEAST: f64 = 0.01;

/// How many distinct combinations some columns of a table have, if that is known.
pub(crate) fn group_distinct(table: &Table, places: &[usize], catalog: &Catalog) -> Option<f64> {
    let statistics = catalog.statistics(table.id);
    let columns: Vec<_> = places.iter().map(|place| table.columns[*place].id).collect();
    let unique = table.all_indexes().any(|index| {
        index.unique
            && index.predicate.is_none()
            && index.keys.iter().all(|key| columns.contains(&key.column))
    });
    match unique {
        true => Some(super::table_rows(table, catalog)),
        false => statistics.group_distinct(&columns),
    }
}

/// Two sides of an equality whose values come from columns of tables.
struct Pair<'a> {
    left: Origin<'a>,
    right: Origin<'a>,
}

/// The rows of an inner join of two sizes under conditions.
pub(crate) fn joined(
    sizes: (f64, f64),
    on: &[Expr],
    left_node: &Node,
    right_node: &Node,
    catalog: &Catalog,
) -> f64 {
    let part = joined_part(sizes, on, left_node, right_node, catalog);
    (sizes.0 * sizes.1 * part).max(1.0)
}

/// The part of all pairs of two sizes that conditions leave.
pub(crate) fn joined_part(
    sizes: (f64, f64),
    on: &[Expr],
    left_node: &Node,
    right_node: &Node,
    catalog: &Catalog,
) -> f64 {
    let (left, right) = sizes;
    let mut pairs = Vec::new();
    let mut result = 1.0;
    let (left_slots, right_slots) = (left_node.slots(), right_node.slots());
    let mut ends = Ends::default();
    for e in on {
        result *= match e {
            Expr::Compare(CompareOp::Eq, a, b) => {
                let sides = crossing(a, b, &left_slots, &right_slots);
                let Some((a, b)) = sides else {
                    result *= 0.1;
                    continue;
                };
                let found = |node, e: &Expr| match e {
                    Expr::Column(slot, _) => origin::of(node, *slot),
                    _ => None,
                };
                match (found(left_node, a), found(right_node, b)) {
                    (Some(left), Some(right)) => {
                        pairs.push(Pair { left, right });
                        1.0
                    }
                    (Some(known), None) | (None, Some(known)) => {
                        let facts = known.facts(catalog);
                        let guess = left.max(right).max(1.0);
                        1.0 / if facts.is_counted { facts.distinct } else { guess }
                    }
                    (None, None) => 1.0 / left.max(right).max(1.0),
                }
            }
            Expr::Compare(op, a, b) if ends.are_both_after(*op, a, b) => BETWEEN / RANGE,
            _ => RANGE,
        };
    }
    result * of_pairs(&pairs, left.max(right), catalog)
}

/// Ends of ranges: columns, and whether they are above the end.
#[derive(Default)]
struct Ends(Vec<(Slot, bool)>);

impl Ends {
    /// Adds a comparison; whether a column now has both ends.
    fn are_both_after(&mut self, op: CompareOp, a: &Expr, b: &Expr) -> bool {
        let mut are_both = false;
        for (column, op) in [(a, op), (b, op.flipped())] {
            let is_above = match op {
                CompareOp::Gt | CompareOp::Ge => true,
                CompareOp::Lt | CompareOp::Le => false,
                CompareOp::Eq | CompareOp::Ne => continue,
            };
            if let Expr::Column(slot, _) = column {
                are_both |= self.0.contains(&(*slot, !is_above));
                self.0.push((*slot, is_above));
            }
        }
        are_both
    }
}

/// By what a left, semi or anti join multiplies the rows of its left side.
pub(crate) fn attached(
    (kind, on): (JoinKind, &[Expr]),
    sizes: (f64, f64),
    left: &Node,
    right: &Node,
    catalog: &Catalog,
) -> f64 {
    let semi = || semi_part(on, left, right, sizes.1, catalog).unwrap_or(SEMI);
    match kind {
        JoinKind::Semi => semi(),
        JoinKind::Anti => (1.0 - semi()).max(ANTI_LEAST),
        _ => (sizes.1 * joined_part(sizes, on, left, right, catalog)).max(1.0),
    }
}

/// The part of all pairs of rows that equalities leave. Equalities between the same two tables
/// belong together: the columns of a key depend on each other.
fn of_pairs(pairs: &[Pair<'_>], largest: f64, catalog: &Catalog) -> f64 {
    let mut part = 1.0;
    let relations = |pair: &Pair<'_>| (pair.left.relation(), pair.right.relation());
    let mut done: Vec<_> = Vec::new();
    for first in pairs {
        if done.contains(&relations(first)) {
            continue;
        }
        done.push(relations(first));
        let together: Vec<&Pair<'_>> =
            pairs.iter().filter(|pair| relations(pair) == relations(first)).collect();
        let mut each = 1.0;
        for pair in &together {
            let (left, right) = (pair.left.facts(catalog), pair.right.facts(catalog));
            each *= match (left.is_counted, right.is_counted) {
                (true, true) => left.matching(&right),
                (true, false) => 1.0 / left.distinct,
                (false, true) => 1.0 / right.distinct,
                (false, false) => 1.0 / largest.max(1.0),
            };
        }
        if together.len() > 1 {
            let left: Vec<&Origin<'_>> = together.iter().map(|pair| &pair.left).collect();
            let right: Vec<&Origin<'_>> = together.iter().map(|pair| &pair.right).collect();
            let (left, right) = (of_one_table(&left, catalog), of_one_table(&right, catalog));
            if let Some(distinct) = left.into_iter().chain(right).reduce(f64::max) {
                each = f64::max(each, 1.0 / distinct.max(1.0));
            }
        }
        part *= each;
    }
    part
}

/// How many distinct combinations columns of one scan have.
fn of_one_table(origins: &[&Origin<'_>], catalog: &Catalog) -> Option<f64> {
    let places: Vec<usize> = origins.iter().map(|origin| origin.place).collect();
    group_distinct(&origins.first()?.scan.table, &places, catalog)
}

/// The sides of an equality that belong to the left and to the right input.
fn crossing<'a>(
    a: &'a Expr,
    b: &'a Expr,
    left: &[Slot],
    right: &[Slot],
) -> Option<(&'a Expr, &'a Expr)> {
    let (mut sa, mut sb) = (Vec::new(), Vec::new());
    a.slots(&mut sa);
    b.slots(&mut sb);
    let within = |slots: &[Slot], side: &[Slot]| slots.iter().any(|s| side.contains(s));
    if within(&sa, left) && within(&sb, right) {
        return Some((a, b));
    }
    (within(&sa, right) && within(&sb, left)).then_some((b, a))
}

/// The part of the left rows that have a match on the right, if equalities say so.
fn semi_part(
    on: &[Expr],
    left_node: &Node,
    right_node: &Node,
    right_rows: f64,
    catalog: &Catalog,
) -> Option<f64> {
    let (left_slots, right_slots) = (left_node.slots(), right_node.slots());
    let mut part: Option<f64> = None;
    for e in on {
        let Expr::Compare(CompareOp::Eq, a, b) = e else { continue };
        let Some((Expr::Column(a, _), Expr::Column(b, _))) =
            crossing(a, b, &left_slots, &right_slots)
        else {
            continue;
        };
        let (Some(left), Some(right)) = (origin::of(left_node, *a), origin::of(right_node, *b))
        else {
            continue;
        };
        let (left, right) = (left.facts(catalog), right.facts(catalog));
        if !left.is_counted || !right.is_counted {
            continue;
        }
        let present = 1.0 - left.null_fraction().unwrap_or(0.0);
        let matched = present * (right.distinct.min(right_rows) / left.distinct).min(1.0);
        part = Some(part.unwrap_or(1.0).min(matched));
    }
    part
}

/// How many groups rows fall into by these expressions; `None` if nothing is known of one.
pub(super) fn groups<'a>(
    exprs: impl Iterator<Item = &'a Expr>,
    input: &Node,
    input_rows: f64,
    catalog: &Catalog,
) -> Option<f64> {
    let mut origins: Vec<Origin<'_>> = Vec::new();
    for e in exprs {
        let Expr::Column(slot, _) = e else { return None };
        let origin = origin::of(input, *slot)?;
        let known = |other: &Origin<'_>| {
            other.relation() == origin.relation() && other.column() == origin.column()
        };
        if !origins.iter().any(known) {
            origins.push(origin);
        }
    }
    let (mut number, mut done) = (1.0, Vec::new());
    for first in &origins {
        if done.contains(&first.relation()) {
            continue;
        }
        done.push(first.relation());
        let together: Vec<&Origin<'_>> =
            origins.iter().filter(|other| other.relation() == first.relation()).collect();
        let mut product = 1.0;
        for origin in &together {
            let facts = origin.facts(catalog);
            if !facts.is_counted {
                return None;
            }
            // NULLs are a group of their own.
            let nulls = facts.null_fraction().is_some_and(|part| part > 0.0);
            product *= facts.distinct + f64::from(u8::from(nulls));
        }
        if together.len() > 1 {
            product = product.min(of_one_table(&together, catalog).unwrap_or(f64::INFINITY));
        }
        number *= product;
    }
    Some(number.min(input_rows))
}
