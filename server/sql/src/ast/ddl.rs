//! Tables, their constraints and indexes.

use super::{
    CheckClause, ColumnTuning, DataType, DropBehavior, Execute, Expr, Ident, MatchKind, ObjectName,
    Query, ReplicaIdentityClause, RowSecurityChange, SequenceOption, Span, TriggerChoice,
    TriggerState, UniqueRules,
};

/// `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: ObjectName,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `GLOBAL TEMPORARY`.
    pub global: bool,
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
    /// `AS EXECUTE name (…)`: the query is that of a prepared statement.
    pub as_execute: Option<Execute>,
    /// The column names of `CREATE TABLE t (a, b) AS …`.
    pub as_columns: Vec<Ident>,
    /// `WITH NO DATA`.
    pub with_no_data: bool,
    /// Storage parameters of `WITH (…)`.
    pub options: Vec<(Ident, Option<Expr>)>,
    /// `ON COMMIT DROP`, `DELETE ROWS` or `PRESERVE ROWS`, as written.
    pub on_commit: Option<&'static str>,
    /// `PARTITION BY …`.
    pub partition_by: Option<PartitionBy>,
    /// `PARTITION OF …`.
    pub partition_of: Option<PartitionOfClause>,
}

impl CreateTable {
    /// A table without columns and options.
    pub fn named(name: ObjectName) -> Self {
        Self {
            name,
            if_not_exists: false,
            temporary: false,
            global: false,
            unlogged: false,
            columns: Vec::new(),
            constraints: Vec::new(),
            indexes: Vec::new(),
            families: Vec::new(),
            interleave: None,
            like: Vec::new(),
            as_query: None,
            as_execute: None,
            as_columns: Vec::new(),
            with_no_data: false,
            options: Vec::new(),
            on_commit: None,
            partition_by: None,
            partition_of: None,
        }
    }
}

/// `PARTITION BY strategy (keys)`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionBy {
    /// `RANGE`, `LIST` or `HASH`, as written.
    pub strategy: Ident,
    /// The keys: columns and expressions.
    pub keys: Vec<IndexKey>,
}

/// `PARTITION OF parent (…) FOR VALUES …`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionOfClause {
    /// The partitioned table.
    pub parent: ObjectName,
    /// Constraints for columns of the parent.
    pub columns: Vec<ColumnOptions>,
    /// The keys of the partition.
    pub bound: BoundClause,
}

/// `column [WITH OPTIONS] constraints` of a partition.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnOptions {
    /// The column of the parent.
    pub name: Ident,
    /// What is written behind it.
    pub constraints: Vec<ColumnConstraint>,
}

/// The keys of a partition, as written.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundClause {
    /// What it says.
    pub kind: BoundKind,
    /// Where it starts.
    pub span: Span,
}

/// What a [`BoundClause`] says.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundKind {
    /// `FOR VALUES FROM (…) TO (…)`; MINVALUE and MAXVALUE are identifiers.
    Range(Vec<Expr>, Vec<Expr>),
    /// `FOR VALUES IN (…)`.
    List(Vec<Expr>),
    /// `FOR VALUES WITH (MODULUS m, REMAINDER r)`.
    Hash(i64, i64),
    /// `DEFAULT`.
    Default,
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
    /// `COMPRESSION`, which has no effect.
    pub is_compressed: bool,
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
    PrimaryKey(UniqueRules),
    /// `UNIQUE`.
    Unique(UniqueRules),
    /// `CHECK (expr)`.
    Check(CheckClause),
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
#[expect(clippy::large_enum_variant, reason = "few live at a time, and matching stays plain")]
#[derive(Debug, Clone, PartialEq)]
pub enum TableConstraintKind {
    /// `PRIMARY KEY (…)`.
    PrimaryKey {
        /// The key's columns.
        columns: Vec<KeyColumn>,
        /// `INCLUDE` or `STORING`.
        storing: Vec<Ident>,
        /// When equal keys are looked for.
        rules: UniqueRules,
    },
    /// `UNIQUE (…)`.
    Unique {
        /// The key's columns.
        columns: Vec<KeyColumn>,
        /// `INCLUDE` or `STORING`.
        storing: Vec<Ident>,
        /// What equal keys are, and when they are looked for.
        rules: UniqueRules,
    },
    /// `PRIMARY KEY USING INDEX i` or `UNIQUE USING INDEX i`.
    UsingIndex {
        /// The index that becomes the constraint.
        index: Ident,
        /// `PRIMARY KEY`, else `UNIQUE`.
        primary: bool,
        /// When equal keys are looked for.
        rules: UniqueRules,
    },
    /// `EXCLUDE …`.
    Exclude(Box<Exclusion>),
    /// `CHECK (expr)`.
    Check(CheckClause),
    /// `FOREIGN KEY (…) REFERENCES …`.
    ForeignKey(ForeignKey),
}

/// `EXCLUDE [USING method] (key WITH operator, …) [WHERE (predicate)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Exclusion {
    /// The access method; btree if none is named.
    pub method: Option<Ident>,
    /// The keys.
    pub keys: Vec<IndexKey>,
    /// The operator of each key.
    pub operators: Vec<String>,
    /// `INCLUDE`.
    pub storing: Vec<Ident>,
    /// The rows that the constraint is about.
    pub predicate: Option<Expr>,
    /// When it is checked.
    pub rules: UniqueRules,
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
    /// `ON DELETE SET NULL | SET DEFAULT (columns)`; empty means all of them.
    pub delete_columns: Vec<Ident>,
    /// `ON UPDATE`.
    pub on_update: ReferenceAction,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub initially_deferred: bool,
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
    /// `ON ONLY`: partitions get no index.
    pub only: bool,
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
    /// `DESC` (true) or `ASC` (false), where written.
    pub descending: Option<bool>,
    /// `NULLS FIRST` (true) or `NULLS LAST` (false), where written.
    pub nulls_first: Option<bool>,
    /// Where the key starts.
    pub span: Span,
}

impl IndexKey {
    /// Whether it says `DESC`.
    pub fn is_descending(&self) -> bool {
        self.descending == Some(true)
    }

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
    /// `ONLY`: not its partitions.
    pub only: bool,
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
    /// `SET LOGGED` (true) or `SET UNLOGGED` (false).
    SetLogged(bool),
    /// `REPLICA IDENTITY`.
    ReplicaIdentity(ReplicaIdentityClause),
    /// `CLUSTER ON index`; none is `SET WITHOUT CLUSTER`.
    ClusterOn(Option<Ident>),
    /// `OWNER TO role`.
    Owner(Ident),
    /// `INTERLEAVE IN …`.
    Interleave(Interleave),
    /// `UNINTERLEAVE`.
    Uninterleave,
    /// `ATTACH PARTITION`.
    AttachPartition(ObjectName, BoundClause),
    /// `DETACH PARTITION`.
    DetachPartition {
        /// The partition.
        name: ObjectName,
        /// `CONCURRENTLY`.
        concurrently: bool,
        /// `FINALIZE`.
        finalize: bool,
    },
    /// `ENABLE` and `DISABLE TRIGGER`.
    Trigger(TriggerChoice, TriggerState),
    /// `ENABLE`, `DISABLE`, `FORCE` and `NO FORCE ROW LEVEL SECURITY`.
    RowSecurity(RowSecurityChange),
    /// An action that PostgreSQL knows and we do not, by name (`ENABLE RULE`, …).
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
    /// `SET STATISTICS n`, `SET STORAGE …`, `SET (…)`.
    Tuning(ColumnTuning),
}
