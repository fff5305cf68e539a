//! Locking clauses (`FOR UPDATE`, …) of the queries being bound.

use braid_sql::ast::{GroupByExpr, Ident, LockStrength, NonBlock, Select};
use braid_types::{Error, Result, SqlState};

use crate::tree::node::{LockWait, RowLock};

/// A locking clause while the query that it stands in is bound.
#[derive(Clone)]
pub(crate) struct LockClause {
    pub(crate) strength: LockStrength,
    pub(crate) wait: LockWait,
    /// `OF` these relations; empty: all.
    pub(crate) of: Vec<LockedName>,
    /// It stands in a query around this one, whose FROM this query (or view) is a part of.
    pub(crate) pushed: bool,
}

/// A relation that a locking clause names.
#[derive(Clone)]
pub(crate) struct LockedName {
    pub(crate) name: String,
    /// Where it stands in the text.
    pub(crate) place: u32,
    /// Whether FROM has it.
    pub(crate) found: bool,
}

impl LockedName {
    fn of(ident: &Ident) -> Self {
        Self { name: braid_sql::fold(ident), place: braid_sql::offset_of(ident.span), found: false }
    }
}

impl LockClause {
    /// The clauses of a query, in order.
    pub(crate) fn of_query(query: &braid_sql::ast::Query) -> Vec<Self> {
        let clause = |lock: braid_sql::ast::RowLock| Self {
            strength: lock.strength,
            wait: match lock.wait {
                None => LockWait::Block,
                Some(NonBlock::SkipLocked) => LockWait::SkipLocked,
                Some(NonBlock::Nowait) => LockWait::NoWait,
            },
            of: lock.of.iter().map(LockedName::of).collect(),
            pushed: false,
        };
        braid_sql::row_locks(query).into_iter().map(clause).collect()
    }

    /// A clause for everything inside a view or subquery.
    pub(crate) fn pushed(lock: RowLock) -> Self {
        Self { strength: lock.strength, wait: lock.wait, of: Vec::new(), pushed: true }
    }

    /// 0A000 where a clause cannot be.
    pub(crate) fn refuse(&self, what: &str) -> Error {
        Error::new(
            SqlState::FeatureNotSupported,
            format!("{} is not allowed with {what}", self.strength.clause()),
        )
    }

    pub(crate) fn cannot(&self, what: &str) -> Error {
        Error::new(
            SqlState::FeatureNotSupported,
            format!("{} cannot be applied to {what}", self.strength.clause()),
        )
    }

    /// 0A000 on VALUES, unless it only reaches it from outside.
    pub(crate) fn check_values(&self) -> Result<()> {
        if self.pushed { Ok(()) } else { Err(self.cannot("VALUES")) }
    }

    /// 0A000 where a row of the result is not one row of each table.
    pub(crate) fn check_select(&self, select: &Select) -> Result<()> {
        let grouped = !matches!(&select.group_by,
            GroupByExpr::Expressions(list, more) if list.is_empty() && more.is_empty());
        if select.distinct.is_some() {
            return Err(self.refuse("DISTINCT clause"));
        }
        if grouped {
            return Err(self.refuse("GROUP BY clause"));
        }
        if select.having.is_some() {
            return Err(self.refuse("HAVING clause"));
        }
        Ok(())
    }

    /// 42P01 if a relation that was named is not in FROM.
    pub(crate) fn check_found(&self) -> Result<()> {
        let Some(missing) = self.of.iter().find(|named| !named.found) else { return Ok(()) };
        let message = format!(
            "relation \"{}\" in {} clause not found in FROM clause",
            missing.name,
            self.strength.clause()
        );
        Err(Error::new(SqlState::UndefinedTable, message).position(missing.place))
    }
}

/// Whether and where a select's rows are locked.
#[derive(Clone, Default)]
pub(crate) struct SelectLocks {
    pub(crate) clauses: Vec<LockClause>,
    /// The select is a plain part of the FROM of the query around it, which locks.
    pub(crate) hoist: bool,
}
