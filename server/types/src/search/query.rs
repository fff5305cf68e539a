//! The value of a `tsquery`: its operands and operators, operands first.

use crate::{Result, work};

use super::errors::corrupt;
use super::limits::too_large;

/// An operator of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `!`
    Not,
    /// `&`
    And,
    /// `|`
    Or,
    /// `<->` and `<N>`: the right operand is that number of words after the left one.
    Phrase(u16),
}

/// What a query consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A lexeme.
    Value {
        /// The lexeme, or how it begins.
        text: Box<str>,
        /// The weights that it may have: 8 is A, 1 is D; 0 is any.
        weights: u8,
        /// Whether lexemes that begin with it count as well.
        is_prefix: bool,
    },
    /// An operator, after its operands.
    Operator(Operator),
}

/// A query: operands before their operators. Without items it is empty, and matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Its items.
    pub items: Vec<Item>,
}

/// What a step of [`Query::fold`] makes of an item and its operands.
pub(super) enum Operands<T> {
    None,
    One(T),
    Two(T, T),
}

/// Items of a query at most.
const ITEMS_MAX: usize = 1 << 20;

impl Query {
    /// One more item; 54000 if there are too many.
    pub fn push(&mut self, item: Item) -> Result<()> {
        work::tick()?;
        if self.items.len() >= ITEMS_MAX {
            return Err(too_large("tsquery is too large".to_owned()));
        }
        self.items.push(item);
        Ok(())
    }

    /// The number of operands of an item.
    pub fn operands(item: &Item) -> usize {
        match item {
            Item::Value { .. } => 0,
            Item::Operator(Operator::Not) => 1,
            Item::Operator(_) => 2,
        }
    }

    /// Where the operands of each item, with all below them, begin.
    pub fn starts(&self) -> Vec<usize> {
        let mut starts: Vec<usize> = Vec::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            let right = |at: usize| at.checked_sub(1).and_then(|at| starts.get(at)).copied();
            let start = match Self::operands(item) {
                0 => Some(at),
                1 => right(at),
                _ => right(at).and_then(right),
            };
            starts.push(start.unwrap_or(0));
        }
        starts
    }

    /// Both queries below an operator. An empty one leaves the other.
    pub fn join(mut self, other: Query, operator: Operator) -> Result<Query> {
        if other.items.is_empty() {
            return Ok(self);
        }
        if self.items.is_empty() {
            return Ok(other);
        }
        self.items.extend(other.items);
        self.push(Item::Operator(operator))?;
        Ok(self)
    }

    /// Computes from the operands up.
    pub(super) fn fold<T>(
        &self,
        mut step: impl FnMut(usize, &Item, Operands<T>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut stack: Vec<T> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            work::tick()?;
            let operands = match Self::operands(item) {
                0 => Operands::None,
                1 => match stack.pop() {
                    Some(one) => Operands::One(one),
                    None => return Err(corrupt("tsquery")),
                },
                _ => match (stack.pop(), stack.pop()) {
                    (Some(right), Some(left)) => Operands::Two(left, right),
                    _ => return Err(corrupt("tsquery")),
                },
            };
            stack.push(step(at, item, operands)?);
        }
        Ok(stack.pop())
    }

    /// The part of a query that an index can look for: without negations.
    pub fn without_negations(&self) -> Trimmed {
        let mut kept = Query::default();
        let mut stack: Vec<Option<usize>> = Vec::new();
        for item in &self.items {
            work::note(1);
            let operator = match item {
                Item::Value { .. } => {
                    stack.push(Some(kept.items.len()));
                    kept.items.push(item.clone());
                    continue;
                }
                Item::Operator(operator) => *operator,
            };
            let right = stack.pop().flatten();
            if operator == Operator::Not {
                kept.items.truncate(right.unwrap_or(kept.items.len()));
                stack.push(None);
                continue;
            }
            let left = stack.pop().flatten();
            stack.push(match (left, right) {
                (Some(left), Some(_)) => {
                    kept.items.push(item.clone());
                    Some(left)
                }
                (one, other) if operator == Operator::Or => {
                    kept.items.truncate(one.or(other).unwrap_or(kept.items.len()));
                    None
                }
                (one, other) => one.or(other),
            });
        }
        match (self.items.is_empty(), kept.items.is_empty()) {
            (false, true) => Trimmed::Everything,
            _ => Trimmed::Query(kept),
        }
    }
}

/// What is left of a query without its negations.
pub enum Trimmed {
    /// Nothing: any text may match.
    Everything,
    /// A query.
    Query(Query),
}
