//! Which aggregate a call means: a built-in one, or one of a user.
//!
//! An aggregate of a user is a fold over its rows. Its parts are expressions over places that
//! `exec` fills:
//!
//! ```text
//!   first state ──▶ step(state, arguments of row 1) ──▶ step(…, row 2) ──▶ … ──▶ finish(state)
//!                        Input(0)  Input(1), Input(2) …                              Input(0)
//! ```

use std::sync::Arc;

use braid_builtins::{Aggregate, AggregateMeaning, RowOrder};
use braid_catalog::Routine;
use braid_types::SqlType;

use crate::tree::expr::Expr;

/// The aggregate of a call.
#[derive(Clone)]
pub enum AggregateKind {
    /// A built-in one.
    BuiltIn(&'static Aggregate),
    /// One of a user.
    User(Arc<UserAggregate>),
}

/// An aggregate of a user, for the types of one call.
pub struct UserAggregate {
    /// Its descriptor.
    pub routine: Arc<Routine>,
    /// The first state.
    pub initial: Expr,
    /// The next state, over the state and the arguments of a row.
    pub step: Expr,
    /// Rows with a NULL are passed over. Without a first state the first row's first argument is
    /// the state.
    pub is_step_strict: bool,
    /// The result, over the last state; `None`: that state itself.
    pub finish: Option<Expr>,
    /// NULL as the last state is NULL as the result.
    pub is_finish_strict: bool,
}

impl AggregateKind {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            AggregateKind::BuiltIn(aggregate) => aggregate.name,
            AggregateKind::User(aggregate) => &aggregate.routine.name,
        }
    }

    /// What may be concluded from it; nothing from one of a user.
    pub fn meaning(&self) -> AggregateMeaning {
        match self {
            AggregateKind::BuiltIn(aggregate) => aggregate.meaning,
            AggregateKind::User(_) => AggregateMeaning::Other,
        }
    }

    /// Whether its state grows with the rows that it has taken. That of a user may.
    pub fn grows(&self) -> bool {
        match self {
            AggregateKind::BuiltIn(aggregate) => aggregate.grows,
            AggregateKind::User(_) => true,
        }
    }

    /// How the order of its rows shows in the result.
    pub fn row_order(&self) -> RowOrder {
        match self {
            AggregateKind::BuiltIn(aggregate) => aggregate.row_order,
            AggregateKind::User(_) => RowOrder::Matters,
        }
    }

    /// Whether the order of rows of these types never shows in the result.
    pub fn is_commutative(&self, types: &[SqlType]) -> bool {
        match self {
            AggregateKind::BuiltIn(aggregate) => aggregate.is_commutative(types),
            AggregateKind::User(_) => false,
        }
    }

    /// Whether functions of users may run for each row.
    pub fn is_of_user(&self) -> bool {
        matches!(self, AggregateKind::User(_))
    }

    /// Whether both are the same aggregate.
    pub fn is(&self, other: &AggregateKind) -> bool {
        match (self, other) {
            (AggregateKind::BuiltIn(a), AggregateKind::BuiltIn(b)) => std::ptr::eq(*a, *b),
            (AggregateKind::User(a), AggregateKind::User(b)) => a.routine.id == b.routine.id,
            _ => false,
        }
    }
}
