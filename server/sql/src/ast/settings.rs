//! `SET` and `RESET`.

use super::Span;

/// `SET`.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// `SESSION` or `LOCAL`.
    pub scope: SetScope,
    /// The variable, in lower case, parts joined with a dot. `SET TIME ZONE` is `timezone`,
    /// `SET NAMES` is `client_encoding`, `SET ROLE` is `role`, `SET SESSION AUTHORIZATION` is
    /// `session_authorization`, `SET SCHEMA` is `search_path`.
    pub name: String,
    /// The new value.
    pub value: SetValue,
    /// Where the name stands.
    pub span: Span,
}

/// How long a `SET` lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetScope {
    /// Until the session ends (or the transaction fails).
    Session,
    /// Until the transaction ends.
    Local,
}

/// The value of a `SET`.
#[derive(Debug, Clone, PartialEq)]
pub enum SetValue {
    /// `DEFAULT`.
    Default,
    /// One or more values as text: strings without quotes, numbers as written, words in lower
    /// case, an interval as its text.
    Values(Vec<String>),
}

/// `RESET`.
#[derive(Debug, Clone, PartialEq)]
pub enum Reset {
    /// `RESET ALL`.
    All,
    /// `RESET name`, in lower case.
    Name(String),
}
