//! Row-level security: `CREATE POLICY`, `ALTER POLICY`, and how `ALTER TABLE` turns it on.

use super::{Expr, Grantee, Ident, ObjectName};

/// `CREATE POLICY`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatePolicy {
    /// The policy's name.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// `AS PERMISSIVE`, else `AS RESTRICTIVE`.
    pub permissive: bool,
    /// `FOR`.
    pub command: PolicyCommand,
    /// `TO`; without it everybody.
    pub roles: Vec<Grantee>,
    /// `USING`.
    pub using: Option<Expr>,
    /// `WITH CHECK`.
    pub check: Option<Expr>,
}

/// `ALTER POLICY`, except renaming ([`super::Statement::Rename`]).
#[derive(Debug, Clone, PartialEq)]
pub struct AlterPolicy {
    /// The policy's name.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// `TO`.
    pub roles: Option<Vec<Grantee>>,
    /// `USING`.
    pub using: Option<Expr>,
    /// `WITH CHECK`.
    pub check: Option<Expr>,
}

/// The statements that a policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyCommand {
    /// `ALL`.
    All,
    /// `SELECT`.
    Select,
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
}

/// `… ROW LEVEL SECURITY` of `ALTER TABLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSecurityChange {
    /// `ENABLE`.
    Enable,
    /// `DISABLE`.
    Disable,
    /// `FORCE`.
    Force,
    /// `NO FORCE`.
    NoForce,
}
