//! Why an expression is refused, as the cause of its error. A caller that decides by it, or words
//! the error for another statement, reads the cause and not the message.

use std::fmt;

/// The cause of an error: a kind of function that a clause does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAllowedIn {
    /// The kind, in the plural.
    pub what: String,
    /// The clause.
    pub clause: String,
}

impl NotAllowedIn {
    /// These functions in this clause.
    pub fn new(what: &str, clause: &str) -> NotAllowedIn {
        let clause = match clause {
            "JOIN/ON" => "JOIN conditions",
            "FROM" => "functions in FROM",
            "MERGE WHEN AND" => "MERGE WHEN conditions",
            other => other,
        };
        NotAllowedIn { what: what.to_owned(), clause: clause.to_owned() }
    }

    /// The same functions, with another name for the clause.
    pub fn in_clause(&self, clause: &str) -> NotAllowedIn {
        NotAllowedIn::new(&self.what, clause)
    }
}

impl fmt::Display for NotAllowedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} are not allowed in {}", self.what, self.clause)
    }
}

impl std::error::Error for NotAllowedIn {}

/// The cause of 42804: an expression as a whole has no assignment cast to the wanted type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAssignable {
    /// The name of the wanted type.
    pub wanted: String,
    /// The name of the type of the expression.
    pub given: String,
}

impl fmt::Display for NotAssignable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the expression cannot be assigned")
    }
}

impl std::error::Error for NotAssignable {}

/// The cause of 42803: a column is neither grouped by nor in an aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotGrouped;

impl fmt::Display for NotGrouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a column is not grouped by")
    }
}

impl std::error::Error for NotGrouped {}

/// The cause of 42804: a part of a column cannot be assigned in this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongPart;

impl fmt::Display for WrongPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the part of the column cannot be assigned")
    }
}

impl std::error::Error for WrongPart {}

/// The cause of 42703: an expression names a column that it does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownColumn;

impl fmt::Display for UnknownColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the expression does not see such a column")
    }
}

impl std::error::Error for UnknownColumn {}

/// The cause of 0A000: a query or an expression cannot be written with ids in place of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStoredForm;

impl fmt::Display for NoStoredForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no stored form")
    }
}

impl std::error::Error for NoStoredForm {}

/// The cause of 54001: expressions or queries nest too deep, counted from the whole statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NestsTooDeep;

impl fmt::Display for NestsTooDeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the statement nests too deep")
    }
}

impl std::error::Error for NestsTooDeep {}
