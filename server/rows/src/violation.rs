//! Which kind of constraint a change violates, as the cause of its error.

use std::fmt;

/// The cause of 23505 and 23503: a constraint over other rows is violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The key of another row.
    Unique,
    /// A foreign key.
    ForeignKey,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Violation::Unique => "a unique constraint is violated",
            Violation::ForeignKey => "a foreign key is violated",
        })
    }
}

impl std::error::Error for Violation {}
