//! From syntax to plans with slots: names looked up, types decided, privileges checked.
//!
//! One file a statement kind or clause. What is not here: which index, which join method, which
//! order (`rules`).

mod aggregate;
mod aliases;
mod arbiters;
mod arguments;
mod cascade;
mod context;
mod data_type;
mod delete;
mod expr;
mod from;
mod function;
mod group;
mod insert;
mod literal;
mod lock;
mod modified;
mod names;
mod notes;
mod operators;
mod output;
mod places;
mod privileges;
mod query;
mod range_table;
mod recursion;
mod scope;
mod select;
mod set_operation;
mod statement;
mod stored;
mod subquery;
mod subscript;
mod system_columns;
mod table_function;
mod update;
mod using;
mod window;
mod with;
mod with_order;

pub(crate) use data_type::interval_modifier;
pub use data_type::{TypeNames, built_in_type, more_dimensions_of, sql_type_of, time_modifier_of};
pub(crate) use expr::op_name;
pub(crate) use literal::string_of;
pub use names::column_name;
pub use notes::{ItemNote, Notes, Reference};
pub use stored::{
    bind_assignment_cast, bind_default, bind_index_exprs, bind_scalar, bind_table_expr,
};
pub(crate) use window::range_offset_type;

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{Id, Table};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::expr::Slot;
use crate::planned::PlanContext;
use scope::CteDefinition;

/// Binds one statement.
pub struct Binder<'a> {
    cx: PlanContext<'a>,
    next_slot: Slot,
    next_id: u32,
    params: Vec<SqlType>,
    tables: BTreeSet<Id>,
    ctes: Vec<CteDefinition>,
    /// Nested queries and views, to bound recursion.
    depth: usize,
    expr_depth: usize,
    /// The next select is a branch of a set operation, which decides the types of its literals.
    keep_unknown: bool,
    /// The WINDOW clause of the select being bound.
    windows: window::NamedWindows,
    has_sequence_calls: bool,
    /// The locking clauses of the select whose FROM is being bound.
    from_locks: Vec<lock::LockClause>,
    /// The locking clauses that reach the next query from around it.
    pushed_locks: Vec<lock::LockClause>,
    /// The queries around the subquery being bound, the innermost last.
    outer_queries: Vec<context::OuterQuery>,
    /// The subqueries of the select being bound.
    shared_subqueries: Vec<subquery::SharedSubquery>,
    /// The owner of the view being expanded, whose privileges count inside.
    view_owner: Option<Id>,
    /// The views being expanded, the innermost last.
    views: Vec<Id>,
    /// The target of the change being bound, with its slots: an expression of the statement that
    /// reads one of them needs SELECT on the table.
    guarded: Option<(Arc<Table>, Vec<Slot>)>,
    /// Where what was bound stands in the text.
    places: places::Places,
    /// The FROM items of each query around this place, for hints; the innermost query is last.
    range: Vec<Vec<range_table::RangeEntry>>,
    /// What is found out about the syntax, if anybody wants to know.
    notes: Option<Box<Notes>>,
    /// The last number of an item of FROM.
    labels: u32,
    /// The query is a view's in its stored form, with ids in place of names.
    is_stored: bool,
}

/// How deep queries, views and expressions may nest.
const DEPTH_MAX: usize = 200;
/// The most tables, functions and subqueries in one FROM clause: joins nest.
const FROM_ITEMS_MAX: usize = 400;
/// The most WITH entries that can be named at one place: each may read the one before.
const CTES_MAX: usize = 500;
/// How deep expressions may nest.
const EXPR_DEPTH_MAX: usize = 2_000;

impl<'a> Binder<'a> {
    /// A binder with the parameter types that the client gave.
    pub fn new(cx: &PlanContext<'a>) -> Self {
        Self {
            cx: *cx,
            next_slot: 0,
            next_id: 0,
            params: cx.known_params(),
            tables: BTreeSet::new(),
            ctes: Vec::new(),
            depth: 0,
            expr_depth: 0,
            keep_unknown: false,
            windows: window::NamedWindows::new(),
            has_sequence_calls: false,
            from_locks: Vec::new(),
            pushed_locks: Vec::new(),
            outer_queries: Vec::new(),
            shared_subqueries: Vec::new(),
            view_owner: None,
            views: Vec::new(),
            guarded: None,
            places: places::Places::default(),
            range: Vec::new(),
            notes: None,
            labels: 0,
            is_stored: false,
        }
    }

    /// A binder of a query in its stored form, with the privileges of its view's owner.
    pub fn of_stored(cx: &PlanContext<'a>, owner: Option<Id>) -> Self {
        Self { is_stored: true, view_owner: owner, ..Self::new(cx) }
    }

    /// A new slot.
    pub fn slot(&mut self) -> Slot {
        self.next_slot += 1;
        self.next_slot
    }

    /// A new number for a WITH entry or subquery.
    pub fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// What planning knows.
    pub fn context(&self) -> &PlanContext<'a> {
        &self.cx
    }

    /// The parameter types and the tables used; 42P18 if a parameter's type stayed unknown.
    pub fn finish(mut self) -> Result<(Vec<SqlType>, Vec<Id>)> {
        for ty in &mut self.params {
            if *ty == SqlType::Unknown {
                *ty = SqlType::Text;
            }
        }
        Ok((self.params, self.tables.into_iter().collect()))
    }

    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .detail(format!("Queries and views nest deeper than {DEPTH_MAX} levels.")));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}
