//! Whether a query matches.
//!
//! ```text
//!   'fat' <-> 'cat'   of  'cat':3,9 'fat':2,7
//!      fat at 2 and 7, cat at 3 and 9 ▶ the phrase ends at 3
//! ```
//!
//! Inside of a phrase each item has the positions where it ends, and its width. `negated` says that
//! it matches everywhere but there. Without positions a phrase cannot be found, and only an item
//! that may be in it is known.

use crate::{Result, work};

use super::query::{Item, Operands, Operator, Query};
use super::vector::{LexemeRef, Vector, has_prefix};

/// Whether something matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It does not.
    No,
    /// It may, if only its positions were known.
    Maybe,
    /// It does.
    Yes,
}

/// The answer of a text for one value of a query, with its positions if they are asked for.
pub type Match = (Found, Vec<u32>);

/// What is known of a part of a query.
struct Part {
    found: Found,
    positions: Vec<u32>,
    is_negated: bool,
    width: u32,
}

impl Part {
    fn new(found: Found) -> Self {
        Part { found, positions: Vec::new(), is_negated: false, width: 0 }
    }
}

/// Which positions of two lists are kept.
#[derive(Clone, Copy)]
struct Kept {
    left: bool,
    both: bool,
    right: bool,
}

const BOTH: Kept = Kept { left: false, both: true, right: false };
const LEFT: Kept = Kept { left: true, both: false, right: false };
const RIGHT: Kept = Kept { left: false, both: false, right: true };
const ANY: Kept = Kept { left: true, both: true, right: true };

/// Whether a query matches what `check` knows: it is asked for each value by its place among the
/// items, and whether its positions count. An empty query matches nothing.
pub fn matches(
    query: &Query,
    inside: &[bool],
    check: &mut dyn FnMut(usize, &Item, bool) -> Match,
) -> Result<bool> {
    let answer = query.fold(|at, item, operands| {
        let is_inside = inside.get(at).copied().unwrap_or(false);
        Ok(match (item, operands) {
            (Item::Operator(operator), Operands::One(operand)) => match is_inside {
                true => not_inside(operand),
                false => Part::new(outside(*operator, operand.found, Found::No)),
            },
            (Item::Operator(operator), Operands::Two(left, right)) => match operator {
                Operator::Phrase(_) if !is_inside => {
                    let part = pair_inside(*operator, left, right)?;
                    Part::new(if part.found == Found::Yes { Found::Yes } else { Found::No })
                }
                _ if is_inside => pair_inside(*operator, left, right)?,
                _ => Part::new(outside(*operator, left.found, right.found)),
            },
            (item, _) => {
                let (found, positions) = check(at, item, is_inside);
                Part { positions, ..Part::new(found) }
            }
        })
    })?;
    Ok(answer.is_some_and(|part| part.found != Found::No))
}

fn outside(operator: Operator, left: Found, right: Found) -> Found {
    match operator {
        Operator::Not => match left {
            Found::No => Found::Yes,
            Found::Maybe => Found::Maybe,
            Found::Yes => Found::No,
        },
        Operator::Or => match (left, right) {
            (Found::Yes, _) | (_, Found::Yes) => Found::Yes,
            (Found::Maybe, _) | (_, Found::Maybe) => Found::Maybe,
            _ => Found::No,
        },
        _ => match (left, right) {
            (Found::No, _) | (_, Found::No) => Found::No,
            (Found::Maybe, _) | (_, Found::Maybe) => Found::Maybe,
            _ => Found::Yes,
        },
    }
}

fn not_inside(mut operand: Part) -> Part {
    match operand.found {
        Found::No => Part { is_negated: true, ..Part::new(Found::Yes) },
        Found::Maybe => operand,
        Found::Yes if !operand.positions.is_empty() => {
            operand.is_negated = !operand.is_negated;
            operand
        }
        Found::Yes if operand.is_negated => Part::new(Found::No),
        Found::Yes => Part::new(Found::Maybe),
    }
}

/// Two operands inside of a phrase, or the phrase itself.
fn pair_inside(operator: Operator, left: Part, right: Part) -> Result<Part> {
    let is_or = operator == Operator::Or;
    let missing = [&left, &right].into_iter().filter(|part| part.found == Found::No).count();
    if missing > 0 && (!is_or || missing == 2) {
        return Ok(Part::new(Found::No));
    }
    if left.found == Found::Maybe || right.found == Found::Maybe {
        return Ok(Part::new(Found::Maybe));
    }
    let width = |part: &Part| if part.found == Found::No { 0 } else { part.width };
    let (left_width, right_width) = (width(&left), width(&right));
    let (width, shifts) = match operator {
        Operator::Phrase(distance) => {
            let distance = u32::from(distance);
            (distance + left_width + right_width, (distance + right_width, 0))
        }
        _ => {
            let wider = left_width.max(right_width);
            (wider, (wider - left_width, wider - right_width))
        }
    };
    // A negated operand matches everywhere but at its positions.
    let (kept, is_negated) = match (is_or, left.is_negated, right.is_negated) {
        (false, true, true) => (ANY, true),
        (false, true, false) => (RIGHT, false),
        (false, false, true) => (LEFT, false),
        (false, false, false) => (BOTH, false),
        (true, true, true) => (BOTH, true),
        (true, true, false) => (LEFT, true),
        (true, false, true) => (RIGHT, true),
        (true, false, false) => (ANY, false),
    };
    let positions = merge(&left.positions, &right.positions, shifts, kept)?;
    let is_found = is_negated || !positions.is_empty();
    let found = if is_found { Found::Yes } else { Found::No };
    Ok(Part { found, positions, is_negated, width })
}

fn merge(
    left: &[u32],
    right: &[u32],
    (left_shift, right_shift): (u32, u32),
    kept: Kept,
) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    let mut left = left.iter().map(|at| at + left_shift).peekable();
    let mut right = right.iter().map(|at| at + right_shift).peekable();
    loop {
        work::tick()?;
        let (a, b) = (left.peek().copied(), right.peek().copied());
        let (at, is_kept) = match (a, b) {
            (None, None) => return Ok(found),
            (Some(a), None) => (a, kept.left),
            (None, Some(b)) => (b, kept.right),
            (Some(a), Some(b)) if a == b => (a, kept.both),
            (Some(a), Some(b)) if a < b => (a, kept.left),
            (_, Some(b)) => (b, kept.right),
        };
        left.next_if_eq(&at);
        right.next_if_eq(&at);
        if is_kept && at > 0 {
            found.push(at);
        }
    }
}

impl Query {
    /// Which items are inside of a phrase, so that positions count.
    pub fn inside_of_phrases(&self) -> Vec<bool> {
        let is_phrase = |item: &Item| matches!(item, Item::Operator(Operator::Phrase(_)));
        if !self.items.iter().any(is_phrase) {
            return Vec::new();
        }
        let starts = self.starts();
        let mut inside = vec![false; self.items.len()];
        let mut until = self.items.len();
        // From the last item to the first: an outer phrase comes before what is in it.
        for (at, item) in self.items.iter().enumerate().rev() {
            if is_phrase(item) && at < until {
                until = starts.get(at).copied().unwrap_or(at);
                inside[until..at].fill(true);
            }
        }
        inside
    }

    /// Whether it matches a vector.
    pub fn matches_vector(&self, vector: &Vector<'_>) -> Result<bool> {
        let inside = self.inside_of_phrases();
        matches(self, &inside, &mut |_, item, with_positions| match item {
            Item::Value { text, weights, is_prefix } => {
                vector.find((text, *is_prefix), *weights, with_positions)
            }
            Item::Operator(_) => (Found::No, Vec::new()),
        })
    }
}

impl<'a> Vector<'a> {
    /// The lexemes that are, or begin with, an operand of a query.
    pub fn lookup(&self, text: &str, is_prefix: bool) -> &[LexemeRef<'a>] {
        let before = |lexeme: &LexemeRef<'_>| lexeme.text.as_bytes() < text.as_bytes();
        let from = self.lexemes.partition_point(before);
        let rest = &self.lexemes[from..];
        &rest[..rest.partition_point(|lexeme| has_prefix(lexeme.text, text, is_prefix))]
    }

    /// Whether a lexeme with one of these weights is there; 0 is any.
    fn find(&self, (text, is_prefix): (&str, bool), weights: u8, with_positions: bool) -> Match {
        let (mut found, mut positions) = (Found::No, Vec::new());
        for lexeme in self.lookup(text, is_prefix) {
            work::note(1);
            if lexeme.count() == 0 {
                // Its weights are not known either, and do not count.
                let answer = if with_positions { Found::Maybe } else { Found::Yes };
                return (answer, Vec::new());
            }
            if weights == 0 && !with_positions {
                return (Found::Yes, positions);
            }
            let fits = |weight: u8| weights == 0 || weights & (1 << weight) > 0;
            let mut places = lexeme.places().filter(|place| fits(place.weight)).peekable();
            if places.peek().is_some() {
                found = Found::Yes;
            }
            if with_positions {
                positions.extend(places.map(|place| u32::from(place.position)));
            }
        }
        if is_prefix {
            positions.sort_unstable();
            positions.dedup();
        }
        (found, positions)
    }
}
