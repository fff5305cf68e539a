//! Which part of which index a scan reads.

use braid_catalog::IndexNumber;

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
        let (limit, offset) = (None, None);
        Self { index, bounds, reverse: false, limit, offset, reading: Reading::InOrder }
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
        }
    }

    /// Whether it says which values a column has, not only between which they are.
    pub fn is_of_values(&self) -> bool {
        !matches!(self, Bound::Range { .. } | Bound::Branches(_))
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
