//! What functions of users leave behind for others: the rows of a set, open cursors, definitions.

mod contexts;
mod cursors;
mod definitions;
mod rows;

pub use cursors::{
    CursorSource, CursorStep, RoutineCursor, RoutineCursors, RunningLoop, SharedCursor,
};
pub use definitions::{LentDraft, PlansAround, RoutineCommand, SessionSettings, TransactionDraft};
pub use rows::RoutineRows;
