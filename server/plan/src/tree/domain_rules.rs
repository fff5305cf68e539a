//! What makes a value one of a domain.

use super::expr::Expr;

/// What the values of a domain have to satisfy.
pub struct DomainRules {
    /// The domain.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its name as messages show it.
    pub shown: String,
    /// The name of its schema.
    pub schema: String,
    /// Whether NULL is no value.
    pub not_null: bool,
    /// Names and conditions, over the value as [`Expr::Input`].
    pub checks: Vec<(String, Expr)>,
}
