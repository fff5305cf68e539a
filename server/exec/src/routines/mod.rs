//! What functions of users leave behind for others: the rows of a set, and open cursors.

mod cursors;
mod rows;

pub use cursors::{CursorSource, CursorStep, RoutineCursor, RoutineCursors};
pub use rows::RoutineRows;
