//! Statements that change rows, their `WITH` lists, and row locks of queries.

use super::{
    AccessExpr, CteAsMaterialized, Expr, Ident, IndexKey, NonBlock, ObjectName, Query, SelectItem,
    Span, Statement, TableAlias, TableWithJoins,
};

/// `INSERT` or `UPSERT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The `WITH` list before the statement.
    pub with: Option<With>,
    /// `UPSERT INTO` instead of `INSERT INTO`.
    pub upsert: bool,
    /// The table.
    pub table: ObjectName,
    /// `AS alias`.
    pub alias: Option<Ident>,
    /// The columns named; empty means all of the table's.
    pub columns: Vec<TargetColumn>,
    /// `OVERRIDING … VALUE`.
    pub overriding: Option<Overriding>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `ON CONFLICT`.
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`.
    pub returning: Returning,
}

/// Where the rows of an `INSERT` come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES …` or a query. A `DEFAULT` in a `VALUES` row is told by [`crate::is_default`].
    Query(Box<Query>),
    /// `DEFAULT VALUES`.
    DefaultValues,
}

/// `OVERRIDING … VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overriding {
    /// `OVERRIDING SYSTEM VALUE`.
    System,
    /// `OVERRIDING USER VALUE`.
    User,
}

/// `ON CONFLICT`.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// What conflict is meant.
    pub target: ConflictTarget,
    /// What to do about it.
    pub action: ConflictAction,
    /// Where the clause stands.
    pub span: Span,
}

/// The conflict that `ON CONFLICT` names.
#[expect(clippy::large_enum_variant, reason = "few live at a time, and matching stays plain")]
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictTarget {
    /// None: any conflict.
    Any,
    /// `(columns) [WHERE …]`: a unique index with these keys.
    Columns {
        /// Column names or expressions, in the order given.
        keys: Vec<IndexKey>,
        /// The predicate of a partial index.
        predicate: Option<Expr>,
    },
    /// `ON CONSTRAINT name`.
    Constraint(Ident),
}

/// What `ON CONFLICT` does.
#[expect(clippy::large_enum_variant, reason = "few live at a time, and matching stays plain")]
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictAction {
    /// `DO NOTHING`.
    Nothing,
    /// `DO UPDATE SET …`.
    Update {
        /// The assignments.
        assignments: Vec<Assignment>,
        /// `WHERE`.
        selection: Option<Expr>,
    },
}

/// `UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The `WITH` list before the statement.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// `AS alias`.
    pub alias: Option<Ident>,
    /// `SET`.
    pub assignments: Vec<Assignment>,
    /// `FROM`.
    pub from: Vec<TableWithJoins>,
    /// `WHERE`.
    pub selection: Option<Expr>,
    /// `RETURNING`.
    pub returning: Returning,
}

/// One assignment of `SET`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column or columns assigned.
    pub target: AssignmentTarget,
    /// What they are assigned.
    pub value: AssignmentValue,
}

/// The left side of an assignment.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignmentTarget {
    /// One column.
    Column(TargetColumn),
    /// `(a, b) = …`.
    Columns(Vec<TargetColumn>),
}

/// A column that is assigned, or a part of it: `a`, `a[1]`, `a[2:3]`, `j['key']`.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetColumn {
    /// The column.
    pub name: Ident,
    /// The subscripts and fields; none for the whole column.
    pub part: Vec<AccessExpr>,
}

/// The right side of an assignment.
#[expect(clippy::large_enum_variant, reason = "few live at a time, and matching stays plain")]
#[derive(Debug, Clone, PartialEq)]
pub enum AssignmentValue {
    /// One expression. For several columns it is a subquery that returns one row.
    /// `DEFAULT` is told by [`crate::is_default`].
    Expr(Expr),
    /// `(x, y)` or `ROW (x, y)` for several columns.
    Row(Vec<Expr>),
}

/// `DELETE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The `WITH` list before the statement.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// `AS alias`.
    pub alias: Option<Ident>,
    /// `USING`.
    pub using: Vec<TableWithJoins>,
    /// `WHERE`.
    pub selection: Option<Expr>,
    /// `RETURNING`.
    pub returning: Returning,
}

/// The `RETURNING` clause.
#[derive(Debug, Clone, PartialEq)]
pub enum Returning {
    /// No clause.
    None,
    /// `RETURNING NOTHING`: inside a transaction the statement may be acknowledged before it ran.
    Nothing,
    /// `RETURNING` columns or expressions.
    Items(Vec<SelectItem>),
}

impl Returning {
    /// The items to return; empty for no clause and for `NOTHING`.
    pub fn items(&self) -> &[SelectItem] {
        match self {
            Returning::None | Returning::Nothing => &[],
            Returning::Items(items) => items,
        }
    }
}

/// A `WITH` list that may hold statements that change data.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// `WITH RECURSIVE`.
    pub recursive: bool,
    /// The entries, in order.
    pub ctes: Vec<Cte>,
    /// Where `WITH` stands.
    pub span: Span,
}

/// One entry of a `WITH` list.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// The name and the column names.
    pub alias: TableAlias,
    /// `[NOT] MATERIALIZED`.
    pub materialized: Option<CteAsMaterialized>,
    /// The body.
    pub body: CteBody,
}

/// The body of a `WITH` entry.
#[derive(Debug, Clone, PartialEq)]
pub enum CteBody {
    /// A query.
    Query(Box<Query>),
    /// An [`Insert`], [`Update`] or [`Delete`].
    Statement(Box<Statement>),
}

/// The strength of a locking clause such as `FOR UPDATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// `FOR KEY SHARE`.
    KeyShare,
    /// `FOR SHARE`.
    Share,
    /// `FOR NO KEY UPDATE`.
    NoKeyUpdate,
    /// `FOR UPDATE`.
    Update,
}

impl LockStrength {
    /// The clause as text, for messages such as `FOR UPDATE is not allowed with …`.
    pub fn clause(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

/// A row-locking clause, decoded from sqlparser's form by [`crate::row_locks`].
#[derive(Debug, Clone, PartialEq)]
pub struct RowLock {
    /// The strength.
    pub strength: LockStrength,
    /// `OF` these relations; empty means all.
    pub of: Vec<Ident>,
    /// `NOWAIT` or `SKIP LOCKED`.
    pub wait: Option<NonBlock>,
}
