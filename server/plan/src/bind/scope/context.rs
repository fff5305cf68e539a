//! Where an expression stands: its scopes, its clause, and where aggregates, window functions and
//! set-returning functions go that must be computed before it.
//!
//! An aggregate belongs to the innermost query whose columns its arguments read. While a subquery
//! is bound, the queries around it wait as [`OuterQuery`]s, which take what belongs to them:
//!
//! ```text
//!   SELECT (SELECT sum(t.a) FROM u) FROM t GROUP BY t.b
//!                  └─ computed by the outer query; the subquery reads the result
//! ```

use braid_sql::ast::Expr as Ast;
use braid_types::{Error, Result, SqlState};

use super::columns::{Scope, Scopes};
use crate::bind::refusals::NotAllowedIn;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{AggregateCall, FunctionCall};

/// Where an expression stands, and what it may contain.
pub(crate) struct ExprCx<'s, 'c> {
    /// What names mean.
    pub scopes: Scopes<'s>,
    /// The clause, for messages: `WHERE`, `GROUP BY`, …
    pub clause: &'static str,
    /// Where aggregates, windows and set-returning functions go; `None`: not allowed here.
    pub collector: Option<&'c mut Collector>,
}

/// What the expressions of a select list need computed before them.
#[derive(Default)]
pub(crate) struct Collector {
    /// Aggregates.
    pub aggregates: Vec<(Slot, AggregateCall)>,
    /// Window functions, each with its window.
    pub windows: Vec<super::windows::BoundWindow>,
    /// Set-returning functions.
    pub sets: Vec<FunctionCall>,
    /// Calls of `GROUPING`, which only the aggregation can answer.
    pub groupings: Vec<GroupingCall>,
    /// The direct arguments of ordered-set aggregates, which must be grouped.
    pub direct_args: Vec<Expr>,
    /// Aggregates are allowed (select list, HAVING, ORDER BY).
    pub allow_aggregates: bool,
    /// Windows and set-returning functions are allowed.
    pub allow_windows: bool,
}

/// `GROUPING (…)`.
pub(crate) struct GroupingCall {
    /// Stands for its result until the groups are known.
    pub slot: Slot,
    /// Its arguments, each a grouping expression.
    pub args: Vec<Expr>,
}

/// A query around the subquery that is being bound.
pub(crate) struct OuterQuery {
    /// Distinguishes its scope from others.
    pub(crate) scope: *const Scope,
    /// The clause that the subquery stands in.
    clause: &'static str,
    /// Whether that clause may have aggregates.
    allows: bool,
    /// The aggregates of the subquery that belong to it.
    aggregates: Vec<(Slot, AggregateCall)>,
    /// The calls of `GROUPING` in the subquery that belong to it.
    groupings: Vec<GroupingCall>,
}

/// A subquery of the select being bound, so that GROUP BY, ORDER BY and the select list mean one
/// and the same when they are written alike.
pub(crate) struct SharedSubquery {
    pub(crate) scope: *const Scope,
    pub(crate) ast: Ast,
    pub(crate) expr: Expr,
}

/// How messages call aggregates.
pub(crate) const AGGREGATES: &str = "aggregate functions";
/// The arguments and the FILTER of an aggregate.
pub(crate) const IN_AGGREGATE: &str = "an aggregate function";
/// The body of a function that stands in a key or condition of an index.
pub(crate) const IN_INDEX_FUNCTION: &str = "functions of indexes";
/// The arguments of a window function.
pub(crate) const IN_WINDOW_CALL: &str = "a window function";
/// PARTITION BY, ORDER BY and the frame of a window.
pub(crate) const IN_WINDOW: &str = "window definitions";

impl<'s, 'c> ExprCx<'s, 'c> {
    /// A clause without aggregates.
    pub(crate) fn plain(scopes: Scopes<'s>, clause: &'static str) -> Self {
        Self { scopes, clause, collector: None }
    }

    /// The same place in another clause.
    pub(crate) fn within(&mut self, clause: &'static str) -> ExprCx<'s, '_> {
        ExprCx { scopes: self.scopes, clause, collector: self.collector.as_deref_mut() }
    }

    /// How many set-returning functions there are so far.
    pub(crate) fn sets(&self) -> usize {
        self.collector.as_ref().map_or(0, |collector| collector.sets.len())
    }

    /// 0A000 if set-returning functions have come since there were `before`: `what` may not
    /// evaluate them.
    pub(crate) fn refuse_sets(&self, before: usize, what: &str) -> Result<()> {
        if self.sets() > before { Err(no_sets_in(what).hint(LATERAL_HINT)) } else { Ok(()) }
    }

    /// The error for a set-returning function in a clause that has none.
    pub(crate) fn refuse_set(&self) -> Error {
        match self.clause {
            IN_AGGREGATE => sets_error("aggregate function calls cannot contain"),
            IN_WINDOW_CALL => sets_error("window function calls cannot contain"),
            "FROM" => {
                let message = "set-returning functions must appear at top level of FROM";
                Error::new(SqlState::FeatureNotSupported, message)
            }
            clause => {
                let refused = NotAllowedIn::new("set-returning functions", clause);
                Error::new(SqlState::FeatureNotSupported, refused.to_string()).caused_by(refused)
            }
        }
    }
}

fn sets_error(begin: &str) -> Error {
    let message = format!("{begin} set-returning function calls");
    Error::new(SqlState::FeatureNotSupported, message).hint(LATERAL_HINT)
}

fn no_sets_in(clause: &str) -> Error {
    let refused = NotAllowedIn::new("set-returning functions", clause);
    Error::new(SqlState::FeatureNotSupported, refused.to_string()).caused_by(refused)
}

const LATERAL_HINT: &str =
    "You might be able to move the set-returning function into a LATERAL FROM item.";

impl OuterQuery {
    /// The query of a place, while a subquery there is bound.
    pub(crate) fn of(cx: &ExprCx<'_, '_>) -> Self {
        Self {
            scope: cx.scopes.scope,
            clause: cx.clause,
            allows: cx.collector.as_ref().is_some_and(|c| c.allow_aggregates),
            aggregates: Vec::new(),
            groupings: Vec::new(),
        }
    }

    /// Hands what the subquery has left over to its own query.
    pub(crate) fn finish(self, cx: &mut ExprCx<'_, '_>) {
        if let Some(collector) = cx.collector.as_deref_mut() {
            collector.aggregates.extend(self.aggregates);
            collector.groupings.extend(self.groupings);
        }
    }

    /// 42803 if one of the slots is the result of an aggregate of this query: the query computes
    /// all its aggregates at once, so none can be an argument of another.
    pub(crate) fn refuse_nested(&self, read: &[Slot]) -> Result<()> {
        let nested = self.aggregates.iter().any(|(slot, _)| read.contains(slot));
        if nested { Err(misplaced(AGGREGATES, IN_AGGREGATE)) } else { Ok(()) }
    }

    /// 42803 unless the clause may have aggregates.
    pub(crate) fn check(&self, what: &str) -> Result<()> {
        if self.allows { Ok(()) } else { Err(misplaced(what, self.clause)) }
    }
}

/// 42803: an aggregate or `GROUPING` where none may stand.
pub(crate) fn misplaced(what: &str, clause: &str) -> Error {
    if clause == IN_AGGREGATE && what == AGGREGATES {
        let message = "aggregate function calls cannot be nested";
        return Error::new(SqlState::GroupingError, message);
    }
    let refused = NotAllowedIn::new(what, clause);
    Error::new(SqlState::GroupingError, refused.to_string()).caused_by(refused)
}

impl OuterQuery {
    /// Takes an aggregate of a subquery.
    pub(crate) fn take_aggregate(&mut self, slot: Slot, call: AggregateCall) {
        self.aggregates.push((slot, call));
    }

    /// Takes a call of `GROUPING` of a subquery.
    pub(crate) fn take_grouping(&mut self, call: GroupingCall) {
        self.groupings.push(call);
    }
}

impl Collector {
    /// Whether a slot is that of a call collected here.
    pub(crate) fn computes(&self, slot: Slot) -> bool {
        let mut sets = self.sets.iter().flat_map(|set| &set.columns);
        self.aggregates.iter().any(|(known, _)| *known == slot)
            || self.windows.iter().any(|window| window.slot == slot)
            || self.groupings.iter().any(|call| call.slot == slot)
            || sets.any(|(known, _)| *known == slot)
    }

    /// What makes a row of a select list more or less than one row of FROM.
    pub(crate) fn summarizes(&self) -> Option<&'static str> {
        if !self.aggregates.is_empty() {
            Some("aggregate functions")
        } else if !self.windows.is_empty() {
            Some("window functions")
        } else if !self.sets.is_empty() {
            Some("set-returning functions in the target list")
        } else {
            None
        }
    }
}
