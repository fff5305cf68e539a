//! Where a recursive query may name itself.
//!
//! PostgreSQL's rules: the query is `term UNION [ALL] recursive-term`, the first term does not
//! name the query, and the recursive one names it once. That place is neither in a subquery of an
//! expression, nor on the optional side of an outer join, nor below INTERSECT or EXCEPT. So each
//! round of the recursion can be computed from the rows of the round before alone.

use braid_sql::ast::{
    Join, JoinConstraint, JoinOperator, Query, Select, SetExpr, SetOperator, SetQuantifier, Span,
    Spanned, TableFactor, TableWithJoins, Visit,
};
use braid_sql::{defines, offset_of, references};
use braid_types::{Error, Result, SqlState};

/// The query of the WITH entry `name` without its parentheses, if it is recursive. 42P19 if it
/// names itself where it may not; 0A000 for what PostgreSQL has not implemented either.
pub(crate) fn recursive_query<'q>(entry: &'q Query, name: &str) -> Result<Option<&'q Query>> {
    if references(entry, name).is_empty() {
        return Ok(None);
    }
    let query = without_parentheses(entry);
    let SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } = &*query.body else {
        return Err(invalid(format!(
            "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] \
             recursive-term"
        )));
    };
    let mut walk = Walk { name, place: Place::Subquery, found: 0 };
    if let Some(with) = &query.with {
        walk.refuse(with)?;
    }
    walk.place = Place::FirstTerm;
    walk.set_expr(left)?;
    walk.place = Place::RecursiveTerm;
    walk.set_expr(right)?;
    refuse_decoration(query)?;
    Ok(Some(query))
}

fn without_parentheses(query: &Query) -> &Query {
    match &*query.body {
        SetExpr::Query(inner)
            if query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none()
                && query.locks.is_empty() =>
        {
            without_parentheses(inner)
        }
        _ => query,
    }
}

fn refuse_decoration(query: &Query) -> Result<()> {
    use braid_sql::ast::LimitClause::{LimitOffset, OffsetCommaLimit};
    let (limit, offset) = match &query.limit_clause {
        Some(LimitOffset { limit, offset, .. }) => (limit.is_some(), offset.is_some()),
        Some(OffsetCommaLimit { .. }) => (true, true),
        None => (false, false),
    };
    let found = [
        (query.order_by.is_some(), "ORDER BY", place(&query.order_by)),
        (offset, "OFFSET", place(&query.limit_clause)),
        (limit || query.fetch.is_some(), "LIMIT", place(&query.limit_clause)),
        (!query.locks.is_empty(), "FOR UPDATE/SHARE", 0),
    ];
    match found.into_iter().find(|(there, ..)| *there) {
        Some((_, clause, place)) => Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("{clause} in a recursive query is not implemented"),
        )
        .position(place)),
        None => Ok(()),
    }
}

fn place(clause: &Option<impl Spanned>) -> u32 {
    clause.as_ref().map_or(0, |clause| offset_of(clause.span()))
}

/// What a reference is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    RecursiveTerm,
    FirstTerm,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

struct Walk<'n> {
    name: &'n str,
    place: Place,
    /// References in a valid place.
    found: usize,
}

impl Walk<'_> {
    /// 42P19 if an expression, or whatever else `part` is, names the query in a subquery.
    fn refuse<T: Visit>(&mut self, part: &T) -> Result<()> {
        match references(part, self.name).first() {
            Some(span) => self.inside(Place::Subquery, |walk| walk.reference(*span)),
            None => Ok(()),
        }
    }

    fn reference(&mut self, span: Span) -> Result<()> {
        let place = match self.place {
            Place::RecursiveTerm => {
                self.found += 1;
                if self.found == 1 {
                    return Ok(());
                }
                "appear more than once"
            }
            Place::FirstTerm => "appear within its non-recursive term",
            Place::Subquery => "appear within a subquery",
            Place::OuterJoin => "appear within an outer join",
            Place::Intersect => "appear within INTERSECT",
            Place::Except => "appear within EXCEPT",
        };
        let name = self.name;
        let message = format!("recursive reference to query \"{name}\" must not {place}");
        Err(invalid(message).position(offset_of(span)))
    }

    /// Walks a part that narrows where the query may be named.
    fn inside(&mut self, place: Place, walk: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let around = self.place;
        if around == Place::RecursiveTerm || place == Place::Subquery {
            self.place = place;
        }
        walk(self)?;
        self.place = around;
        Ok(())
    }

    fn query(&mut self, query: &Query) -> Result<()> {
        if defines(query, self.name) {
            return Ok(());
        }
        for entry in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&entry.query)?;
        }
        self.set_expr(&query.body)?;
        self.refuse(&query.order_by)?;
        self.refuse(&query.limit_clause)
    }

    fn set_expr(&mut self, body: &SetExpr) -> Result<()> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { op, left, right, set_quantifier } => {
                // Duplicates count with ALL only.
                let all = *set_quantifier == SetQuantifier::All;
                let (left_place, right_place) = match op {
                    SetOperator::Intersect if all => (Place::Intersect, Place::Intersect),
                    SetOperator::Except | SetOperator::Minus if all => {
                        (Place::Except, Place::Except)
                    }
                    SetOperator::Except | SetOperator::Minus => (self.place, Place::Except),
                    SetOperator::Intersect | SetOperator::Union => (self.place, self.place),
                };
                self.inside(left_place, |walk| walk.set_expr(left))?;
                self.inside(right_place, |walk| walk.set_expr(right))
            }
            other => self.refuse(other),
        }
    }

    fn select(&mut self, select: &Select) -> Result<()> {
        for item in &select.from {
            self.joins(item)?;
        }
        let in_from: Vec<Span> =
            select.from.iter().flat_map(|item| references(item, self.name)).collect();
        let all = references(select, self.name);
        match all.into_iter().find(|span| !in_from.contains(span)) {
            Some(span) => self.inside(Place::Subquery, |walk| walk.reference(span)),
            None => Ok(()),
        }
    }

    fn joins(&mut self, item: &TableWithJoins) -> Result<()> {
        // What stands left of a RIGHT or FULL join is on its optional side.
        let optional = item.joins.iter().any(|join| {
            matches!(
                join.join_operator,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
            )
        });
        let place = if optional { Place::OuterJoin } else { self.place };
        self.inside(place, |walk| walk.factor(&item.relation))?;
        item.joins.iter().try_for_each(|join| self.join(join))
    }

    fn join(&mut self, join: &Join) -> Result<()> {
        let (optional, constraint) = match &join.join_operator {
            JoinOperator::Left(c) | JoinOperator::LeftOuter(c) | JoinOperator::FullOuter(c) => {
                (true, Some(c))
            }
            JoinOperator::Join(c)
            | JoinOperator::Inner(c)
            | JoinOperator::Right(c)
            | JoinOperator::RightOuter(c)
            | JoinOperator::CrossJoin(c) => (false, Some(c)),
            _ => (false, None),
        };
        let place = if optional { Place::OuterJoin } else { self.place };
        self.inside(place, |walk| walk.factor(&join.relation))?;
        match constraint {
            Some(JoinConstraint::On(condition)) => self.refuse(condition),
            _ => Ok(()),
        }
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<()> {
        match factor {
            TableFactor::Table { args: None, .. } => {
                references(factor, self.name).into_iter().try_for_each(|span| self.reference(span))
            }
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::NestedJoin { table_with_joins, .. } => self.joins(table_with_joins),
            other => self.refuse(other),
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidRecursion, message)
}
