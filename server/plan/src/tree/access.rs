//! How rows are read: which part of which index, in which order, by how many workers.

use std::sync::Arc;

use braid_catalog::{IndexNumber, TermClass};
use braid_codec::terms::TermOperator;
use braid_types::Datum;

use super::expr::Expr;

/// Which part of which index a scan reads.
#[derive(Clone)]
pub struct Access {
    /// The index; 1 is the primary key.
    pub index: IndexNumber,
    /// Conditions on the first key columns: all but the last are equalities.
    pub bounds: Vec<Bound>,
    /// Read from the end.
    pub reverse: bool,
    /// The number of rows that pass the filter after which the scan stops (a constant or
    /// parameter), if known.
    pub limit: Option<Expr>,
    /// The number of rows that pass the filter and are not given, before those of the limit.
    pub offset: Option<Expr>,
    /// Which of the entries are given, and in which order.
    pub reading: Reading,
    /// How many rows are likely to be taken.
    pub limit_hint: Option<LimitHint>,
}

/// How many rows a LIMIT above a join or a scan takes from it. Both values are constants or
/// parameters. NULL and negative ones say nothing.
#[derive(Clone)]
pub struct LimitHint {
    /// LIMIT
    pub limit: Expr,
    /// OFFSET: rows that are taken as well.
    pub offset: Option<Expr>,
    /// No more rows are taken. Else they may be, if an operator in between drops some.
    pub is_final: bool,
}

/// Which entries within its bounds a scan gives, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All of them, in the order of the index.
    InOrder,
    /// All of them, in the order of what follows this number of key columns: the spans are merged.
    /// Each span has one value of each of these columns.
    Merged(usize),
    /// Of those that are equal in this number of key columns the first one that passes the filter.
    FirstOfEach(usize),
}

impl Access {
    /// What is within bounds of an index, in its order.
    pub fn new(index: IndexNumber, bounds: Vec<Bound>) -> Self {
        let (limit, offset, limit_hint) = (None, None, None);
        let reading = Reading::InOrder;
        Self { index, bounds, reverse: false, limit, offset, reading, limit_hint }
    }
}

/// A condition on one key column.
#[derive(Clone)]
pub enum Bound {
    /// Equal to one of these (one: `=`; several: `IN`).
    In(Vec<Expr>),
    /// Equal to an element of this array (`= ANY (…)`).
    Any(Expr),
    /// This column and those that follow are one of these rows: `(a, b) IN ((1, 2), (3, 4))`.
    /// NULLs are in no such row.
    Rows(Vec<Vec<Expr>>),
    /// One of the columns that follow: the `Rows` before it say what it is.
    OfRows,
    /// NULL.
    Null,
    /// Within a range; NULLs are outside.
    Range {
        /// The lower end and whether it is inside.
        lower: Option<(Expr, bool)>,
        /// The upper end and whether it is inside.
        upper: Option<(Expr, bool)>,
    },
    /// This column and those that follow are inside of one of these lists of bounds: what
    /// `a BETWEEN 1 AND 3 OR (a = 7 AND b > 5)` says. Nothing follows it.
    Branches(Vec<Vec<Bound>>),
    /// Having terms, in an inverted index. It stands alone, and its conditions stay in the filter.
    Terms(Box<TermSearch>),
}

/// Which rows of an inverted index may satisfy conditions.
#[derive(Clone)]
pub struct TermSearch {
    /// The conditions.
    pub bound: TermBound,
    /// Reading the whole table costs less than reading more rows than this one by one.
    pub rows_max: usize,
}

/// Conditions on the keys of an inverted index.
#[derive(Clone)]
pub enum TermBound {
    /// An operator between a key and a value.
    Operator(TermCondition),
    /// All of these.
    All(Vec<TermBound>),
    /// One of these.
    Any(Vec<TermBound>),
}

/// An operator between a key of an inverted index and a value.
#[derive(Clone)]
pub struct TermCondition {
    /// The place of the key in the index.
    pub key: usize,
    /// What its terms are.
    pub class: TermClass,
    /// The operator, with the key on its left.
    pub operator: TermOperator,
    /// The value on its right.
    pub value: Expr,
}

impl TermBound {
    /// Calls `f` on each condition.
    pub fn for_each<'a>(&'a self, f: &mut dyn FnMut(&'a TermCondition)) {
        match self {
            TermBound::Operator(condition) => f(condition),
            TermBound::All(parts) | TermBound::Any(parts) => {
                parts.iter().for_each(|part| part.for_each(f));
            }
        }
    }

    /// The conditions as EXPLAIN shows them. `value` shows a value.
    pub fn show<'a>(
        &'a self,
        keys: &[String],
        value: &mut dyn FnMut(&'a Expr) -> String,
    ) -> String {
        let (parts, word) = match self {
            TermBound::All(parts) => (parts, " AND "),
            TermBound::Any(parts) => (parts, " OR "),
            TermBound::Operator(condition) => {
                let key = keys.get(condition.key).map_or("", String::as_str);
                let value = value(&condition.value);
                return match condition.operator {
                    TermOperator::HasElement => format!("({value} = ANY ({key}))"),
                    TermOperator::EqualAny => format!("({key} = ANY ({value}))"),
                    operator => format!("({key} {} {value})", operator.symbol()),
                };
            }
        };
        let parts: Vec<String> = parts.iter().map(|part| part.show(keys, &mut *value)).collect();
        format!("({})", parts.join(word))
    }

    /// The same, to change them.
    pub fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut TermCondition)) {
        match self {
            TermBound::Operator(condition) => f(condition),
            TermBound::All(parts) | TermBound::Any(parts) => {
                parts.iter_mut().for_each(|part| part.for_each_mut(f));
            }
        }
    }
}

impl Bound {
    /// Calls `f` on each expression of a bound.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Bound::In(list) => list.iter().for_each(f),
            Bound::Rows(rows) => rows.iter().flatten().for_each(f),
            Bound::Any(e) => f(e),
            Bound::Null | Bound::OfRows => {}
            Bound::Range { lower, upper } => {
                lower.iter().chain(upper).for_each(|(e, _)| f(e));
            }
            Bound::Branches(branches) => {
                branches.iter().flatten().for_each(|bound| bound.for_each_expr(f));
            }
            Bound::Terms(search) => search.bound.for_each(&mut |condition| f(&condition.value)),
        }
    }

    /// The same, to change them.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Bound::In(list) => list.iter_mut().for_each(f),
            Bound::Rows(rows) => rows.iter_mut().flatten().for_each(f),
            Bound::Any(e) => f(e),
            Bound::Null | Bound::OfRows => {}
            Bound::Range { lower, upper } => {
                lower.iter_mut().chain(upper).for_each(|(e, _)| f(e));
            }
            Bound::Branches(branches) => {
                branches.iter_mut().flatten().for_each(|bound| bound.for_each_expr_mut(f));
            }
            Bound::Terms(search) => {
                search.bound.for_each_mut(&mut |condition| f(&mut condition.value));
            }
        }
    }

    /// Whether it says which values a column has, not only between which they are.
    pub fn is_of_values(&self) -> bool {
        !matches!(self, Bound::Range { .. } | Bound::Branches(_) | Bound::Terms(_))
    }

    /// Whether computing it may fail. In a branch of an OR such a failure counts only if a row
    /// leads to it.
    pub fn can_fail(&self) -> bool {
        let mut can_fail = false;
        self.for_each_expr(&mut |e| {
            can_fail |= !matches!(
                e,
                Expr::Const(..)
                    | Expr::Param(..)
                    | Expr::Column(..)
                    | Expr::Input(..)
                    | Expr::Outer(..)
            );
        });
        can_fail
    }
}

/// Where the rows are dropped that OFFSET skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkippedRows {
    /// By the limit itself.
    Here,
    /// By the scan below ([`Access::offset`]).
    Below,
    /// By another limit above, so that what is between the two is computed for them.
    Above,
}

/// How several workers can do the work of an operator.
#[derive(Clone)]
pub struct Parallel {
    /// The rows that they share.
    pub source: RowSource,
    /// The estimated cost of all of it, in rows that a scan reads.
    pub cost: f64,
    /// Of an aggregate: the rows of a group are in one part of the source.
    pub disjoint: bool,
}

/// Rows that workers share.
#[derive(Clone)]
pub enum RowSource {
    /// Those of the scan at the end of the input, by spans.
    Spans {
        /// Values of the first key column of its index, in no order. Between two of them lie about
        /// equally many rows.
        bounds: Arc<[Datum]>,
        /// Estimated rows that it reads.
        rows: f64,
    },
    /// Those of an operator, by its distance from the top of what the workers do.
    Rows(usize),
}

/// A sort key.
#[derive(Clone)]
pub struct SortKey {
    /// The expression.
    pub expr: Expr,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}
