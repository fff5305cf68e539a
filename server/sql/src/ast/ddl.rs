//! Statements that define objects.

use super::{DataType, Expr, Ident, ObjectName, Query, Span};

/// `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: ObjectName,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `UNLOGGED`.
    pub unlogged: bool,
    /// The columns, in order.
    pub columns: Vec<ColumnDef>,
    /// Constraints written beside the columns.
    pub constraints: Vec<TableConstraint>,
    /// `INDEX i (…)` and `UNIQUE INDEX i (…)` beside the columns.
    pub indexes: Vec<InlineIndex>,
    /// `FAMILY f (…)`.
    pub families: Vec<Family>,
    /// `INTERLEAVE IN …` behind the list.
    pub interleave: Option<Interleave>,
    /// `LIKE source …` inside the list.
    pub like: Vec<CreateTableLike>,
    /// `AS query`.
    pub as_query: Option<Box<Query>>,
    /// The column names of `CREATE TABLE t (a, b) AS …`.
    pub as_columns: Vec<Ident>,
    /// `WITH NO DATA`.
    pub with_no_data: bool,
    /// Storage parameters of `WITH (…)`.
    pub options: Vec<(Ident, Option<Expr>)>,
    /// `ON COMMIT DROP`, `DELETE ROWS` or `PRESERVE ROWS`, as written.
    pub on_commit: Option<&'static str>,
}

/// `LIKE source [INCLUDING …]` in a `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTableLike {
    /// The table copied.
    pub source: ObjectName,
    /// `INCLUDING` (true) or `EXCLUDING` (false) with what, in lower case (`all`, `defaults`, …).
    pub options: Vec<(bool, String)>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// The name.
    pub name: Ident,
    /// The type.
    pub data_type: DataType,
    /// `COLLATE`.
    pub collation: Option<ObjectName>,
    /// Everything behind the type, in order.
    pub constraints: Vec<ColumnConstraint>,
}

/// A constraint or property written behind a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnConstraint {
    /// `CONSTRAINT name`.
    pub name: Option<Ident>,
    /// What it says.
    pub kind: ColumnConstraintKind,
    /// Where it starts.
    pub span: Span,
}

/// What a [`ColumnConstraint`] says.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnConstraintKind {
    /// `NOT NULL`.
    NotNull,
    /// `NULL`.
    Null,
    /// `DEFAULT expr`.
    Default(Expr),
    /// `PRIMARY KEY`.
    PrimaryKey,
    /// `UNIQUE`.
    Unique {
        /// `NULLS NOT DISTINCT`.
        nulls_not_distinct: bool,
    },
    /// `CHECK (expr)`.
    Check(Expr),
    /// `REFERENCES …`; its `columns` are empty.
    References(ForeignKey),
    /// `GENERATED ALWAYS AS (expr) STORED`.
    Generated {
        /// The expression.
        expr: Expr,
        /// `STORED`, else virtual.
        stored: bool,
    },
    /// `GENERATED … AS IDENTITY`.
    Identity {
        /// `ALWAYS` or `BY DEFAULT`.
        mode: IdentityMode,
        /// The options of the sequence behind it.
        options: Vec<SequenceOption>,
    },
    /// `[CREATE [IF NOT EXISTS]] FAMILY name`: the family that keeps the column.
    Family {
        /// The family; `None` is a new one with a name of the server's choice.
        name: Option<Ident>,
        /// `CREATE`.
        create: bool,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
}

/// `GENERATED ALWAYS` or `BY DEFAULT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityMode {
    /// `ALWAYS`.
    Always,
    /// `BY DEFAULT`.
    ByDefault,
}

/// A constraint written beside the columns or behind `ADD`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableConstraint {
    /// `CONSTRAINT name`.
    pub name: Option<Ident>,
    /// What it says.
    pub kind: TableConstraintKind,
    /// `NOT VALID`.
    pub not_valid: bool,
    /// Where it starts.
    pub span: Span,
}

/// What a [`TableConstraint`] says.
#[derive(Debug, Clone, PartialEq)]
pub enum TableConstraintKind {
    /// `PRIMARY KEY (…)`.
    PrimaryKey {
        /// The key's columns.
        columns: Vec<KeyColumn>,
        /// `INCLUDE` or `STORING`.
        storing: Vec<Ident>,
    },
    /// `UNIQUE (…)`.
    Unique {
        /// The key's columns.
        columns: Vec<KeyColumn>,
        /// `INCLUDE` or `STORING`.
        storing: Vec<Ident>,
        /// `NULLS NOT DISTINCT`.
        nulls_not_distinct: bool,
    },
    /// `PRIMARY KEY USING INDEX i` or `UNIQUE USING INDEX i`.
    UsingIndex {
        /// The index that becomes the constraint.
        index: Ident,
        /// `PRIMARY KEY`, else `UNIQUE`.
        primary: bool,
    },
    /// `CHECK (expr)`.
    Check(Expr),
    /// `FOREIGN KEY (…) REFERENCES …`.
    ForeignKey(ForeignKey),
}

/// A column of a primary key or unique constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyColumn {
    /// The column.
    pub name: Ident,
    /// `DESC`.
    pub descending: bool,
}

/// `FOREIGN KEY … REFERENCES …`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    /// The referring columns; empty on a column's own `REFERENCES`.
    pub columns: Vec<Ident>,
    /// The table referred to.
    pub table: ObjectName,
    /// The columns referred to; empty means its primary key.
    pub ref_columns: Vec<Ident>,
    /// `MATCH`.
    pub match_kind: MatchKind,
    /// `ON DELETE`.
    pub on_delete: ReferenceAction,
    /// `ON UPDATE`.
    pub on_update: ReferenceAction,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub initially_deferred: bool,
}

/// `MATCH` of a foreign key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// `MATCH SIMPLE`, the default.
    Simple,
    /// `MATCH FULL`.
    Full,
    /// `MATCH PARTIAL`.
    Partial,
}

/// What a foreign key does when its target changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceAction {
    /// `NO ACTION`, the default.
    NoAction,
    /// `RESTRICT`.
    Restrict,
    /// `CASCADE`.
    Cascade,
    /// `SET NULL`.
    SetNull,
    /// `SET DEFAULT`.
    SetDefault,
}

/// An index defined inside `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct InlineIndex {
    /// The name, chosen by the server when absent.
    pub name: Option<Ident>,
    /// `UNIQUE INDEX`.
    pub unique: bool,
    /// The keys.
    pub keys: Vec<IndexKey>,
    /// `STORING`, `COVERING` or `INCLUDE`.
    pub storing: Vec<Ident>,
    /// `WHERE`.
    pub predicate: Option<Expr>,
    /// `INTERLEAVE IN …`.
    pub interleave: Option<Interleave>,
    /// Where it starts.
    pub span: Span,
}

/// A column family.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name, chosen by the server when absent.
    pub name: Option<Ident>,
    /// The columns kept in one value.
    pub columns: Vec<Ident>,
    /// Where it starts.
    pub span: Span,
}

/// `INTERLEAVE IN [PARENT] parent (columns) [ON DELETE …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Interleave {
    /// Enforced or placement only.
    pub kind: InterleaveKind,
    /// The parent table.
    pub parent: ObjectName,
    /// The child's columns that are the parent's primary key.
    pub columns: Vec<Ident>,
    /// `ON DELETE CASCADE` or `NO ACTION`, where written.
    pub on_delete: Option<ReferenceAction>,
    /// Where the clause starts.
    pub span: Span,
}

/// The two strengths of interleaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterleaveKind {
    /// `INTERLEAVE IN PARENT`: a child row needs its parent row.
    InParent,
    /// `INTERLEAVE IN`: placement only.
    In,
}

/// `CREATE INDEX`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// The name, chosen by the server when absent.
    pub name: Option<Ident>,
    /// `UNIQUE`.
    pub unique: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `CONCURRENTLY`.
    pub concurrently: bool,
    /// The table.
    pub table: ObjectName,
    /// `USING method`.
    pub method: Option<Ident>,
    /// The keys.
    pub keys: Vec<IndexKey>,
    /// `STORING`, `COVERING` or `INCLUDE`.
    pub storing: Vec<Ident>,
    /// `NULLS NOT DISTINCT`.
    pub nulls_not_distinct: bool,
    /// `WHERE`.
    pub predicate: Option<Expr>,
    /// `INTERLEAVE IN …`.
    pub interleave: Option<Interleave>,
    /// Storage parameters of `WITH (…)`.
    pub options: Vec<(Ident, Option<Expr>)>,
}

/// One key of an index or of a conflict target.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexKey {
    /// The column (as [`Expr::Identifier`]) or expression.
    pub expr: Expr,
    /// `COLLATE`.
    pub collation: Option<ObjectName>,
    /// The operator class.
    pub opclass: Option<ObjectName>,
    /// `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` (true) or `NULLS LAST` (false), where written.
    pub nulls_first: Option<bool>,
    /// Where the key starts.
    pub span: Span,
}

impl IndexKey {
    /// The column, when the key is one and not an expression.
    pub fn column(&self) -> Option<&Ident> {
        match &self.expr {
            Expr::Identifier(ident) => Some(ident),
            _ => None,
        }
    }
}

/// `ALTER TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: ObjectName,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// What to change, in order.
    pub actions: Vec<AlterAction>,
}

/// One action of `ALTER TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `ADD [COLUMN]`.
    AddColumn {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The column.
        column: ColumnDef,
    },
    /// `DROP [COLUMN]`.
    DropColumn {
        /// The column.
        name: Ident,
        /// `IF EXISTS`.
        if_exists: bool,
        /// `CASCADE` or `RESTRICT`.
        behavior: DropBehavior,
    },
    /// `ALTER [COLUMN] name …`.
    AlterColumn {
        /// The column.
        name: Ident,
        /// What to change.
        action: AlterColumnAction,
    },
    /// `ADD [CONSTRAINT …]`.
    AddConstraint(TableConstraint),
    /// `DROP CONSTRAINT`.
    DropConstraint {
        /// The constraint.
        name: Ident,
        /// `IF EXISTS`.
        if_exists: bool,
        /// `CASCADE` or `RESTRICT`.
        behavior: DropBehavior,
    },
    /// `VALIDATE CONSTRAINT`.
    ValidateConstraint(Ident),
    /// `ALTER CONSTRAINT name [NOT] DEFERRABLE …`.
    AlterConstraint {
        /// The constraint.
        name: Ident,
        /// `DEFERRABLE`.
        deferrable: bool,
        /// `INITIALLY DEFERRED`.
        initially_deferred: bool,
    },
    /// `ALTER PRIMARY KEY USING COLUMNS (…)`.
    AlterPrimaryKey(Vec<KeyColumn>),
    /// `SET (…)` (true) or `RESET (…)` (false): storage parameters.
    Options(bool, Vec<(Ident, Option<Expr>)>),
    /// `OWNER TO role`.
    Owner(Ident),
    /// An action that PostgreSQL knows and we do not, by name (`ENABLE ROW LEVEL SECURITY`, …).
    Unsupported(String),
}

/// One action of `ALTER COLUMN`.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterColumnAction {
    /// `SET DEFAULT expr`.
    SetDefault(Expr),
    /// `DROP DEFAULT`.
    DropDefault,
    /// `SET NOT NULL`.
    SetNotNull,
    /// `DROP NOT NULL`.
    DropNotNull,
    /// `[SET DATA] TYPE type [COLLATE c] [USING expr]`.
    SetType {
        /// The type.
        data_type: DataType,
        /// `COLLATE`.
        collation: Option<ObjectName>,
        /// `USING`.
        using: Option<Expr>,
    },
    /// `ADD GENERATED … AS IDENTITY`.
    AddIdentity {
        /// `ALWAYS` or `BY DEFAULT`.
        mode: IdentityMode,
        /// The options of the sequence behind it.
        options: Vec<SequenceOption>,
    },
    /// `SET GENERATED …` and `SET sequence_option`.
    SetIdentity {
        /// The mode, when it is to change.
        mode: Option<IdentityMode>,
        /// The sequence options to change.
        options: Vec<SequenceOption>,
    },
    /// `DROP IDENTITY`.
    DropIdentity {
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `DROP EXPRESSION`.
    DropExpression {
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `SET STATISTICS n`, `SET STORAGE …`, `SET (…)`: accepted, no effect.
    Tuning,
}

/// `CASCADE` or `RESTRICT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropBehavior {
    /// `RESTRICT`, the default.
    Restrict,
    /// `CASCADE`.
    Cascade,
}

/// The kind of object that `DROP` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropKind {
    /// `TABLE`.
    Table,
    /// `INDEX`; a name may be `table@index`, given as `[table, index]` with [`Drop::at_names`].
    Index,
    /// `VIEW`.
    View,
    /// `MATERIALIZED VIEW`.
    MaterializedView,
    /// `SEQUENCE`.
    Sequence,
    /// `SCHEMA`.
    Schema,
    /// `DATABASE`.
    Database,
    /// `TYPE`.
    Type,
    /// `EXTENSION`.
    Extension,
}

/// `DROP`.
#[derive(Debug, Clone, PartialEq)]
pub struct Drop {
    /// What kind of object.
    pub kind: DropKind,
    /// The names.
    pub names: Vec<ObjectName>,
    /// For an index written `table@index`: the index, at the place of the table's name.
    pub at_names: Vec<Option<Ident>>,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `CASCADE` or `RESTRICT`.
    pub behavior: DropBehavior,
    /// `CONCURRENTLY`.
    pub concurrently: bool,
}

/// `CREATE VIEW`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// The view.
    pub name: ObjectName,
    /// The column names; empty means the query's.
    pub columns: Vec<Ident>,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `MATERIALIZED`.
    pub materialized: bool,
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The query.
    pub query: Box<Query>,
    /// Byte range of the query in the text, to store it as written.
    pub query_text: std::ops::Range<usize>,
    /// `WITH [CASCADED | LOCAL] CHECK OPTION`.
    pub check_option: bool,
    /// `WITH NO DATA`.
    pub with_no_data: bool,
}

/// `CREATE SEQUENCE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSequence {
    /// The sequence.
    pub name: ObjectName,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// The options, in order.
    pub options: Vec<SequenceOption>,
}

/// `ALTER SEQUENCE`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterSequence {
    /// The sequence.
    pub name: ObjectName,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The options, in order.
    pub options: Vec<SequenceOption>,
}

/// An option of a sequence. A number out of the range of `i64` is refused by the parser.
#[derive(Debug, Clone, PartialEq)]
pub enum SequenceOption {
    /// `AS type`.
    As(DataType),
    /// `INCREMENT [BY]`.
    IncrementBy(i64),
    /// `MINVALUE`, or `NO MINVALUE`.
    MinValue(Option<i64>),
    /// `MAXVALUE`, or `NO MAXVALUE`.
    MaxValue(Option<i64>),
    /// `START [WITH]`.
    StartWith(i64),
    /// `RESTART [WITH n]`.
    Restart(Option<i64>),
    /// `CACHE`.
    Cache(i64),
    /// `CYCLE` or `NO CYCLE`.
    Cycle(bool),
    /// `OWNED BY table.column`, or `OWNED BY NONE`.
    OwnedBy(Option<ObjectName>),
    /// `SEQUENCE NAME name`, of identity columns.
    Name(ObjectName),
}

/// `CREATE SCHEMA`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSchema {
    /// The schema; absent when only `AUTHORIZATION` names it.
    pub name: Option<ObjectName>,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `AUTHORIZATION`.
    pub authorization: Option<Ident>,
}

/// `CREATE DATABASE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabase {
    /// The database.
    pub name: Ident,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `[WITH] OWNER = x ENCODING = 'UTF8' …`: names in lower case, values as text.
    pub options: Vec<(String, String)>,
}

/// `CREATE EXTENSION`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateExtension {
    /// The extension.
    pub name: Ident,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `SCHEMA`.
    pub schema: Option<Ident>,
}

/// What an `ALTER` that renames or moves speaks about.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTarget {
    /// `ALTER TABLE`.
    Table(ObjectName),
    /// `ALTER INDEX`.
    Index(ObjectName),
    /// `ALTER VIEW`.
    View(ObjectName),
    /// `ALTER SEQUENCE`.
    Sequence(ObjectName),
    /// `ALTER SCHEMA`.
    Schema(ObjectName),
    /// `ALTER DATABASE`.
    Database(ObjectName),
}

impl AlterTarget {
    /// The name of the object.
    pub fn name(&self) -> &ObjectName {
        match self {
            AlterTarget::Table(name)
            | AlterTarget::Index(name)
            | AlterTarget::View(name)
            | AlterTarget::Sequence(name)
            | AlterTarget::Schema(name)
            | AlterTarget::Database(name) => name,
        }
    }
}

/// `ALTER … RENAME …`, `SET SCHEMA`, `OWNER TO`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rename {
    /// The object.
    pub target: AlterTarget,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// What becomes of it.
    pub kind: RenameKind,
}

/// What a [`Rename`] does.
#[derive(Debug, Clone, PartialEq)]
pub enum RenameKind {
    /// `RENAME TO name`.
    To(Ident),
    /// `RENAME [COLUMN] a TO b`.
    Column {
        /// The old name.
        from: Ident,
        /// The new name.
        to: Ident,
    },
    /// `RENAME CONSTRAINT a TO b`.
    Constraint {
        /// The old name.
        from: Ident,
        /// The new name.
        to: Ident,
    },
    /// `SET SCHEMA name`.
    SetSchema(Ident),
    /// `OWNER TO role`, of anything but a table.
    OwnerTo(Ident),
}

/// `ALTER INDEX … SET (…)`, `RESET (…)`, `ALTER COLUMN n SET STATISTICS`: accepted, no effect.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterIndex {
    /// The index.
    pub name: ObjectName,
    /// `IF EXISTS`.
    pub if_exists: bool,
}

/// `TRUNCATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Truncate {
    /// The tables.
    pub tables: Vec<ObjectName>,
    /// `RESTART IDENTITY`.
    pub restart_identity: bool,
    /// `CASCADE` or `RESTRICT`.
    pub behavior: DropBehavior,
}

/// `COMMENT ON`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comment {
    /// The object.
    pub target: CommentTarget,
    /// The text; `None` removes it.
    pub text: Option<String>,
}

/// What a comment is on.
#[derive(Debug, Clone, PartialEq)]
pub enum CommentTarget {
    /// `TABLE`.
    Table(ObjectName),
    /// `COLUMN table.column`; the last part is the column.
    Column(ObjectName),
    /// `INDEX`.
    Index(ObjectName),
    /// `VIEW`.
    View(ObjectName),
    /// `SEQUENCE`.
    Sequence(ObjectName),
    /// `SCHEMA`.
    Schema(ObjectName),
    /// `DATABASE`.
    Database(ObjectName),
    /// `CONSTRAINT name ON table`.
    Constraint {
        /// The constraint.
        name: Ident,
        /// Its table.
        table: ObjectName,
    },
    /// `EXTENSION`.
    Extension(ObjectName),
    /// `ROLE`.
    Role(ObjectName),
}
