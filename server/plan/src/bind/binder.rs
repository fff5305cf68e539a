//! What binding one statement knows and collects.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use braid_catalog::{ColumnId, Id, Table};
use braid_types::{Error, Result, SqlState, SqlType};

use super::refusals::NestsTooDeep;
use super::scope::columns::{CteDefinition, RangeEntry};
use super::scope::context::{OuterQuery, SharedSubquery};
use super::scope::lock_clause::LockClause;
use super::scope::notes::Notes;
use super::scope::text_places::Places;
use super::scope::untyped::Untyped;
use super::scope::windows::NamedWindows;
use crate::context::PlanContext;
use crate::tree::expr::{Expr, Slot};

/// Binds one statement.
pub(crate) struct Binder<'a> {
    pub(super) cx: PlanContext<'a>,
    pub(super) next_slot: Slot,
    pub(super) next_id: u32,
    pub(crate) params: Vec<SqlType>,
    pub(crate) tables: BTreeSet<Id>,
    pub(super) ctes: Vec<CteDefinition>,
    /// The names of WITH entries that come later, and so cannot be read yet.
    pub(super) later_ctes: Vec<String>,
    /// Nested queries and views, to bound recursion.
    pub(super) depth: usize,
    /// Conditions of domains that cast to domains, to bound recursion.
    pub(super) domain_depth: usize,
    /// Nested expressions, to bound recursion.
    expr_depth: usize,
    /// How many local values are around what is being bound.
    pub(super) locals: u32,
    /// What types the literals and parameters of the next select list that have none.
    pub(super) untyped: Untyped,
    /// The WINDOW clause of the select being bound.
    pub(super) windows: NamedWindows,
    pub(super) has_sequence_calls: bool,
    /// The locking clauses of the select whose FROM is being bound.
    pub(super) from_locks: Vec<LockClause>,
    /// The locking clauses that reach the next query from around it.
    pub(super) pushed_locks: Vec<LockClause>,
    /// The queries around the subquery being bound, the innermost last.
    pub(super) outer_queries: Vec<OuterQuery>,
    /// The subqueries of the select being bound.
    pub(super) shared_subqueries: Vec<SharedSubquery>,
    /// The names that `*` gives to scalar subqueries that begin with it, by their text.
    pub(super) star_names: HashMap<String, String>,
    /// The owner of the view being expanded, whose privileges count inside.
    pub(super) view_owner: Option<Id>,
    /// The views being expanded, the innermost last.
    pub(super) views: Vec<Id>,
    /// The target of the change being bound, with its slots: an expression of the statement that
    /// reads one of them needs SELECT on the table.
    pub(super) guarded: Option<(Arc<Table>, Vec<Slot>)>,
    /// Columns of relations of which the role may read single columns only.
    pub(super) narrowed: HashMap<Slot, (Id, ColumnId)>,
    /// The computed columns of the view that is being changed: what their slots stand for.
    pub(crate) computed: Vec<(Slot, Expr)>,
    /// An expression of the statement has read the target of the change being bound.
    pub(super) reads_target: Cell<bool>,
    /// The statement is the query of a view that is being defined: it is not run, needs no
    /// privileges on what it reads, and no policies are added to it.
    pub(super) is_definition: bool,
    /// The tables whose policies are being bound, the innermost last.
    pub(super) secured: Vec<Id>,
    /// Where what was bound stands in the text.
    pub(super) places: Places,
    /// The FROM items of each query around this place, for hints; the innermost query is last.
    pub(super) range: Vec<Vec<RangeEntry>>,
    /// What is found out about the syntax, if anybody wants to know.
    pub(super) notes: Option<Box<Notes>>,
    /// The last number of an item of FROM.
    pub(super) labels: u32,
    /// The query is a view's in its stored form, with ids in place of names.
    pub(super) is_stored: bool,
    /// `COLLATE` was written in something that was bound.
    pub(crate) has_collate: bool,
    /// The next call is that of CALL, which means a procedure.
    pub(super) is_call: bool,
    /// A function of a user is called.
    pub(crate) calls_routine: bool,
    /// A change may fire triggers.
    pub(crate) fires_triggers: bool,
    /// The part of REFRESH MATERIALIZED VIEW that is being bound.
    pub(super) refresh: Option<Refresh>,
    /// The first materialized view that is read and has no rows yet.
    pub(super) unpopulated: Option<String>,
}

/// What of REFRESH MATERIALIZED VIEW a statement does, with the view's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// It runs the view's query: in FROM the view's name means its query.
    Compute(Id),
    /// It changes the view's rows: in FROM its name means the rows that it has.
    Change(Id),
}

impl Refresh {
    /// The view.
    pub fn view(self) -> Id {
        match self {
            Refresh::Compute(id) | Refresh::Change(id) => id,
        }
    }
}

/// How deep queries, views and expressions may nest.
pub(super) const DEPTH_MAX: usize = 200;
/// The most tables, functions and subqueries in one FROM clause: joins nest.
pub(super) const FROM_ITEMS_MAX: usize = 400;
/// The most WITH entries that can be named at one place: each may read the one before.
pub(super) const CTES_MAX: usize = 500;
/// How deep expressions may nest.
const EXPR_DEPTH_MAX: usize = 2_000;

impl<'a> Binder<'a> {
    /// A binder with the parameter types that the client gave.
    pub(crate) fn new(cx: &PlanContext<'a>) -> Self {
        Self {
            cx: *cx,
            next_slot: 0,
            next_id: 0,
            params: cx.known_params(),
            tables: BTreeSet::new(),
            ctes: Vec::new(),
            later_ctes: Vec::new(),
            depth: 0,
            domain_depth: 0,
            expr_depth: 0,
            locals: 0,
            untyped: Untyped::default(),
            windows: NamedWindows::new(),
            has_sequence_calls: false,
            from_locks: Vec::new(),
            pushed_locks: Vec::new(),
            outer_queries: Vec::new(),
            shared_subqueries: Vec::new(),
            star_names: HashMap::new(),
            view_owner: None,
            views: Vec::new(),
            guarded: None,
            narrowed: HashMap::new(),
            computed: Vec::new(),
            reads_target: Cell::new(false),
            is_definition: false,
            secured: Vec::new(),
            places: Places::default(),
            range: Vec::new(),
            notes: None,
            labels: 0,
            is_stored: false,
            has_collate: false,
            is_call: false,
            calls_routine: false,
            fires_triggers: false,
            refresh: None,
            unpopulated: None,
        }
    }

    /// A binder of a query in its stored form, with the privileges of its view's owner.
    pub(crate) fn of_stored(cx: &PlanContext<'a>, owner: Option<Id>) -> Self {
        Self { is_stored: true, view_owner: owner, ..Self::new(cx) }
    }

    /// A binder of a part of REFRESH MATERIALIZED VIEW, with the privileges of the view's owner.
    pub(crate) fn of_refresh(cx: &PlanContext<'a>, refresh: Refresh, owner: Id) -> Self {
        Self { refresh: Some(refresh), view_owner: Some(owner), ..Self::new(cx) }
    }

    /// Goes on with the numbers of the binder of the statement around.
    pub(super) fn follow(&mut self, outer: &Binder<'_>) {
        self.next_slot = outer.next_slot;
        self.next_id = outer.next_id;
        self.depth = outer.depth;
        self.views.clone_from(&outer.views);
        self.secured.clone_from(&outer.secured);
        self.is_definition = outer.is_definition;
    }

    /// Takes over what a binder has found that has followed this one.
    pub(super) fn lead_from(&mut self, mut inner: Binder<'_>) {
        self.next_slot = inner.next_slot;
        self.next_id = inner.next_id;
        self.tables.append(&mut inner.tables);
        self.has_collate |= inner.has_collate;
        self.unpopulated = self.unpopulated.take().or(inner.unpopulated);
        self.calls_routine |= inner.calls_routine;
    }

    /// A new slot.
    pub(crate) fn slot(&mut self) -> Slot {
        self.next_slot += 1;
        self.next_slot
    }

    /// The first materialized view without rows that is read.
    pub(crate) fn take_unpopulated(&mut self) -> Option<String> {
        self.unpopulated.take()
    }

    /// A new number for a WITH entry or subquery.
    pub(crate) fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// What planning knows.
    pub(crate) fn context(&self) -> &PlanContext<'a> {
        &self.cx
    }

    /// The parameter types and the tables used; 42P18 if a parameter's type stayed unknown.
    pub(crate) fn finish(mut self) -> Result<(Vec<SqlType>, Vec<Id>)> {
        for ty in &mut self.params {
            if *ty == SqlType::Unknown {
                *ty = SqlType::Text;
            }
        }
        Ok((self.params, self.tables.into_iter().collect()))
    }

    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .detail(format!("Queries and views nest deeper than {DEPTH_MAX} levels."))
                .caused_by(NestsTooDeep));
        }
        Ok(())
    }

    /// The parser bounds nesting; this guard is for trees that rewriting made deeper.
    pub(super) fn enter_expr(&mut self) -> Result<()> {
        if self.expr_depth >= EXPR_DEPTH_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .hint("Write long chains of conditions as IN lists or as rows of VALUES.")
                .caused_by(NestsTooDeep));
        }
        self.expr_depth += 1;
        Ok(())
    }

    pub(super) fn leave_expr(&mut self) {
        self.expr_depth -= 1;
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// The binder for the query of a view that is being defined.
pub(crate) fn defining(binder: Binder<'_>) -> Binder<'_> {
    Binder { is_definition: true, ..binder }
}
