//! Domains and collations.

use super::{DataType, DropBehavior, Expr, Ident, ObjectName};

/// `CREATE DOMAIN name AS type …`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateDomain {
    /// The domain.
    pub name: ObjectName,
    /// The type that it limits.
    pub data_type: DataType,
    /// `COLLATE`.
    pub collation: Option<ObjectName>,
    /// Its default and its constraints, as they were written.
    pub constraints: Vec<DomainConstraint>,
}

/// A constraint of a domain, or its default.
#[derive(Debug, Clone, PartialEq)]
pub struct DomainConstraint {
    /// `CONSTRAINT name`.
    pub name: Option<Ident>,
    /// What it says.
    pub kind: DomainConstraintKind,
}

/// What a constraint of a domain says.
#[derive(Debug, Clone, PartialEq)]
pub enum DomainConstraintKind {
    /// `NOT NULL`.
    NotNull,
    /// `NULL`.
    Null,
    /// `DEFAULT expr`.
    Default(Expr),
    /// `CHECK (expr)`.
    Check(Expr),
}

/// `ALTER DOMAIN`, except the renaming and moving forms ([`super::Rename`]).
#[derive(Debug, Clone, PartialEq)]
pub struct AlterDomain {
    /// The domain.
    pub name: ObjectName,
    /// What to change.
    pub action: AlterDomainAction,
}

/// What `ALTER DOMAIN` changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterDomainAction {
    /// `SET DEFAULT expr`, or `DROP DEFAULT`.
    Default(Option<Expr>),
    /// `SET NOT NULL`, or `DROP NOT NULL`.
    NotNull(bool),
    /// `ADD constraint [NOT VALID]`.
    Add {
        /// The constraint.
        constraint: DomainConstraint,
        /// `NOT VALID`.
        not_valid: bool,
    },
    /// `DROP CONSTRAINT`.
    Drop {
        /// The constraint.
        name: Ident,
        /// `IF EXISTS`.
        if_exists: bool,
        /// `CASCADE` or `RESTRICT`.
        behavior: DropBehavior,
    },
    /// `VALIDATE CONSTRAINT`.
    Validate(Ident),
}

/// `CREATE COLLATION`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateCollation {
    /// The collation.
    pub name: ObjectName,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// What it is made from.
    pub source: CollationSource,
}

/// What `CREATE COLLATION` makes a collation from.
#[derive(Debug, Clone, PartialEq)]
pub enum CollationSource {
    /// `(provider = icu, locale = 'de', …)`.
    Options(Vec<(Ident, Option<Expr>)>),
    /// `FROM collation`.
    Existing(ObjectName),
}
