//! What a variable is: its name, what it accepts, who may change it.

use super::units::Unit;

/// What a variable accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `on` or `off`.
    Bool,
    /// A whole number, in a unit or plain.
    Int {
        /// The least value.
        min: i64,
        /// The largest value.
        max: i64,
        /// The unit of a plain number.
        unit: Option<Unit>,
    },
    /// A number.
    Real {
        /// The unit of a plain number.
        unit: Option<Unit>,
        /// The least value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// One of these words.
    Enum(&'static [&'static str]),
    /// Any text.
    Text,
    /// A list of names (`search_path`).
    Names,
    /// `TimeZone`
    TimeZone,
    /// `DateStyle`
    DateStyle,
    /// `client_encoding`
    Encoding,
    /// A uuid.
    Uuid,
    /// A `traceparent` of the W3C, or nothing.
    TraceParent,
}

/// Who may change a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone, at any time.
    User,
    /// Superusers, at any time.
    Superuser,
    /// Who the session acts as: only after its rights to do so are checked.
    Identity,
    /// Nobody: it says how the server is.
    Fixed,
    /// Only at the start of the server.
    Start,
    /// Anyone, by `SET LOCAL`, once in a transaction; it stays until the transaction ends.
    Transaction,
}

/// A variable.
#[derive(Debug)]
pub struct Setting {
    /// Its name as `SHOW ALL` prints it; found in any case.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// Its value at first, in canonical text.
    pub default: &'static str,
    /// Who may change it.
    pub access: Access,
    /// Whether clients are told of each change.
    pub report: bool,
    /// What it is for.
    pub description: &'static str,
}
