//! The statement: one variant per kind that the engine knows. Here are also the statements that
//! contain statements: changes of rows through their `WITH` lists, EXPLAIN, COPY and PREPARE.

use super::{
    AccessExpr, AlterDatabase, AlterDefaultPrivileges, AlterDomain, AlterIndex, AlterPolicy,
    AlterRoutine, AlterSequence, AlterStatistics, AlterTable, AlterType, AlterUser, AlterView,
    Call, Comment, CopyDirection, CopyOptions, CreateAggregate, CreateCollation, CreateDatabase,
    CreateDomain, CreateIndex, CreatePolicy, CreateRoutine, CreateSequence, CreateStatistics,
    CreateTable, CreateTrigger, CreateType, CreateUser, CreateView, CteAsMaterialized,
    CursorTarget, DataType, DeclareCursor, DiscardKind, DoBlock, Drop, DropOther, DropUser,
    Execute, ExplainFormat, Expr, ExtensionStatement, FetchCursor, GrantPrivileges, Ident,
    IndexKey, LockTable, MaintainedTable, ObjectName, OwnedBy, Query, RefreshView, Reindex, Rename,
    Reset, RoleGrant, SelectItem, Set, ShowTarget, Span, TableAlias, TableWithJoins,
    TransactionModes, Truncate,
};

/// One statement of a text, with its place in that text.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedStatement {
    /// What the statement says.
    pub statement: Statement,
    /// Byte range of the statement in the text, without surrounding blanks, comments or semicolon.
    pub text: std::ops::Range<usize>,
    /// The highest `$n` that occurs, 0 without parameters.
    pub parameters: usize,
}

/// A statement of the dialect.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `SELECT`, `VALUES`, `TABLE t`, set operations, `WITH` of queries only.
    Query(Box<Query>),
    /// A query whose `WITH` list changes data; `query.with` is `None`.
    QueryWithChanges {
        /// The `WITH` list, at least one entry of which is a statement.
        with: With,
        /// The query that follows the list.
        query: Box<Query>,
    },
    /// `INSERT` or `UPSERT`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `UPDATE pg_class SET reltuples = …, relpages = …`, and nothing else.
    SetSizes(Box<SetSizes>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `MERGE`.
    Merge(Box<Merge>),
    /// `CREATE TABLE`, also `CREATE TABLE … AS`.
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE`, except the renaming and moving forms ([`Statement::Rename`]).
    AlterTable(Box<AlterTable>),
    /// `CREATE TYPE … AS ENUM`.
    CreateType(CreateType),
    /// `ALTER TYPE … ADD VALUE` and `RENAME VALUE`; other forms are [`Statement::Rename`].
    AlterType(AlterType),
    /// `CREATE COLLATION`.
    CreateCollation(Box<CreateCollation>),
    /// `CREATE STATISTICS`.
    CreateStatistics(Box<CreateStatistics>),
    /// `ALTER STATISTICS … SET STATISTICS`; other forms are [`Statement::Rename`].
    AlterStatistics(AlterStatistics),
    /// `CREATE DOMAIN`.
    CreateDomain(Box<CreateDomain>),
    /// `ALTER DOMAIN`, except the renaming and moving forms ([`Statement::Rename`]).
    AlterDomain(Box<AlterDomain>),
    /// `CREATE FUNCTION` or `CREATE PROCEDURE`.
    CreateRoutine(Box<CreateRoutine>),
    /// `ALTER LARGE OBJECT … OWNER TO`.
    AlterLargeObject {
        /// Its number.
        object: u32,
        /// The new owner.
        owner: Ident,
    },
    /// `CREATE AGGREGATE`.
    CreateAggregate(Box<CreateAggregate>),
    /// `ALTER FUNCTION` and its like, except the renaming and moving forms
    /// ([`Statement::Rename`]).
    AlterRoutine(Box<AlterRoutine>),
    /// `CREATE TRIGGER`.
    CreateTrigger(Box<CreateTrigger>),
    /// `CREATE POLICY`.
    CreatePolicy(Box<CreatePolicy>),
    /// `ALTER POLICY`; renaming is [`Statement::Rename`].
    AlterPolicy(Box<AlterPolicy>),
    /// `DO`.
    Do(DoBlock),
    /// `CALL`.
    Call(Box<Call>),
    /// `DROP` of tables, indexes, views, sequences, schemas, databases and other objects.
    Drop(Drop),
    /// `DROP` of kinds that have no objects of users: functions, triggers, types and others.
    DropOther(DropOther),
    /// `DROP OWNED BY`.
    DropOwned(OwnedBy),
    /// `REASSIGN OWNED BY`.
    ReassignOwned(OwnedBy),
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndex>),
    /// `ALTER INDEX … SET/RESET (…)` and the like; renaming is [`Statement::Rename`].
    AlterIndex(AlterIndex),
    /// `CREATE VIEW`.
    CreateView(Box<CreateView>),
    /// `ALTER VIEW … SET (…)` and the like; renaming is [`Statement::Rename`].
    AlterView(Box<AlterView>),
    /// `REFRESH MATERIALIZED VIEW`.
    RefreshView(RefreshView),
    /// `CREATE SEQUENCE`.
    CreateSequence(CreateSequence),
    /// `ALTER SEQUENCE`.
    AlterSequence(AlterSequence),
    /// `CREATE SCHEMA`.
    CreateSchema(CreateSchema),
    /// `CREATE DATABASE`.
    CreateDatabase(CreateDatabase),
    /// `CREATE EXTENSION`, `ALTER EXTENSION`, `CREATE LANGUAGE`, `ALTER LANGUAGE`.
    Extension(ExtensionStatement),
    /// `ALTER DATABASE … SET` and `ALTER ROLE … IN DATABASE … SET`, also `RESET`.
    AlterDatabase(Box<AlterDatabase>),
    /// `ALTER … RENAME TO`, `RENAME COLUMN`, `RENAME CONSTRAINT`, `SET SCHEMA`, `OWNER TO`.
    Rename(Rename),
    /// `TRUNCATE`.
    Truncate(Truncate),
    /// `COMMENT ON`.
    Comment(Comment),
    /// `BEGIN` or `START TRANSACTION`.
    Begin(TransactionModes),
    /// `COMMIT` or `END`.
    Commit {
        /// `AND CHAIN`.
        and_chain: bool,
    },
    /// `ROLLBACK` or `ABORT`, also `ROLLBACK TO SAVEPOINT`.
    Rollback {
        /// `AND CHAIN`.
        and_chain: bool,
        /// The savepoint of `ROLLBACK TO`.
        to_savepoint: Option<Ident>,
    },
    /// `PREPARE TRANSACTION`, with the transaction's identifier.
    PrepareTransaction(String),
    /// `COMMIT PREPARED` or `ROLLBACK PREPARED`.
    FinishPrepared {
        /// Whether to commit.
        commit: bool,
        /// The transaction's identifier.
        name: String,
    },
    /// `SAVEPOINT`.
    Savepoint(Ident),
    /// `RELEASE [SAVEPOINT]`.
    Release(Ident),
    /// `SET TRANSACTION`.
    SetTransaction(TransactionModes),
    /// `SET TRANSACTION SNAPSHOT`: the identifier.
    SetTransactionSnapshot(String),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION`.
    SetSessionCharacteristics(TransactionModes),
    /// `SET CONSTRAINTS ALL | names DEFERRED | IMMEDIATE`.
    SetConstraints {
        /// The constraints; `None` is `ALL`.
        names: Option<Vec<ObjectName>>,
        /// `DEFERRED`, else `IMMEDIATE`.
        deferred: bool,
    },
    /// `SET name = value`, `SET TIME ZONE`, `SET NAMES`, `SET ROLE`, ….
    Set(Set),
    /// `RESET`.
    Reset(Reset),
    /// `SHOW`.
    Show(ShowTarget),
    /// `EXPLAIN`.
    Explain(Box<Explain>),
    /// `COPY`.
    Copy(Box<Copy>),
    /// `PREPARE`.
    Prepare(Box<Prepare>),
    /// `EXECUTE`.
    Execute(Execute),
    /// `DEALLOCATE`; `None` is `ALL`.
    Deallocate(Option<Ident>),
    /// `DISCARD`.
    Discard(DiscardKind),
    /// `DECLARE … CURSOR`.
    DeclareCursor(Box<DeclareCursor>),
    /// `FETCH` or `MOVE`.
    Fetch(FetchCursor),
    /// `CLOSE`.
    Close(CursorTarget),
    /// `CREATE USER` or `CREATE ROLE`.
    CreateUser(CreateUser),
    /// `ALTER USER` or `ALTER ROLE`.
    AlterUser(AlterUser),
    /// `DROP USER` or `DROP ROLE`.
    DropUser(DropUser),
    /// `GRANT` of privileges on objects.
    Grant(GrantPrivileges),
    /// `REVOKE` of privileges on objects.
    Revoke(GrantPrivileges),
    /// `ALTER DEFAULT PRIVILEGES`.
    AlterDefaultPrivileges(AlterDefaultPrivileges),
    /// `GRANT role TO role`.
    GrantRole(RoleGrant),
    /// `REVOKE role FROM role`.
    RevokeRole(RoleGrant),
    /// `ANALYZE`, with the tables named (all when empty).
    Analyze(Vec<MaintainedTable>),
    /// `VACUUM`: accepted, does nothing. With `ANALYZE` inside it means that as well.
    Vacuum {
        /// `VACUUM ANALYZE`.
        analyze: bool,
        /// The tables named; all when empty.
        tables: Vec<MaintainedTable>,
    },
    /// `REINDEX`.
    Reindex(Reindex),
    /// `LOCK TABLE`.
    LockTable(LockTable),
    /// `CHECK TABLE name`: compares a table with its indexes.
    CheckTable(ObjectName),
    /// `LISTEN`.
    Listen(Ident),
    /// `UNLISTEN`; `None` is `*`.
    Unlisten(Option<Ident>),
    /// `NOTIFY`.
    Notify {
        /// The channel.
        channel: Ident,
        /// The payload.
        payload: Option<String>,
    },
    /// `REINDEX`, `CLUSTER`, `CHECKPOINT` and others that need no work here: the command's name.
    NoOp(&'static str),
}

/// `EXPLAIN`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// `ANALYZE`: run the statement as well.
    pub analyze: bool,
    /// `VERBOSE`.
    pub verbose: bool,
    /// `COSTS`, on unless switched off.
    pub costs: bool,
    /// `TIMING`, `SUMMARY` and others: names in lower case with their switch.
    pub options: Vec<(String, bool)>,
    /// `FORMAT`.
    pub format: ExplainFormat,
    /// What to explain.
    pub statement: Statement,
}

/// `COPY`.
#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    /// What is copied.
    pub source: CopySource,
    /// Which way.
    pub direction: CopyDirection,
    /// The file of the server, in the place of the client.
    pub file: Option<String>,
    /// The options.
    pub options: CopyOptions,
    /// `WHERE` of `COPY FROM`.
    pub selection: Option<Expr>,
}

/// What `COPY` copies.
#[derive(Debug, Clone, PartialEq)]
pub enum CopySource {
    /// A table, with the columns named (all when empty).
    Table {
        /// The table.
        name: ObjectName,
        /// The columns.
        columns: Vec<Ident>,
    },
    /// A query, or a changing statement with `RETURNING`.
    Query(Box<Statement>),
}

/// `PREPARE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    /// The name.
    pub name: Ident,
    /// The parameter types given.
    pub types: Vec<DataType>,
    /// The statement.
    pub statement: Statement,
    /// Byte range of the statement in the text.
    pub text: std::ops::Range<usize>,
}

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
    /// `WHERE CURRENT OF`: the row of a cursor.
    pub current_of: Option<Ident>,
    /// `RETURNING`.
    pub returning: Returning,
}

/// `UPDATE pg_class` of the sizes of relations.
#[derive(Debug, Clone, PartialEq)]
pub struct SetSizes {
    /// `AS alias`.
    pub alias: Option<Ident>,
    /// The new `reltuples`.
    pub rows: Option<Expr>,
    /// The new `relpages`.
    pub pages: Option<Expr>,
    /// `WHERE`.
    pub selection: Option<Expr>,
}

/// `MERGE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// The `WITH` list before the statement.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// `AS alias`.
    pub alias: Option<Ident>,
    /// `USING`.
    pub source: TableWithJoins,
    /// `ON`.
    pub on: Expr,
    /// The `WHEN` clauses, in order.
    pub whens: Vec<MergeWhen>,
}

/// A `WHEN` clause of `MERGE`.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeWhen {
    /// `MATCHED`, else `NOT MATCHED`.
    pub matched: bool,
    /// `AND condition`.
    pub condition: Option<Expr>,
    /// `THEN`.
    pub action: MergeAction,
}

/// What a `WHEN` clause of `MERGE` does.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// `UPDATE SET …`.
    Update(Vec<Assignment>),
    /// `DELETE`.
    Delete,
    /// `INSERT`.
    Insert {
        /// The columns named; empty means all of the table's.
        columns: Vec<TargetColumn>,
        /// `OVERRIDING … VALUE`.
        overriding: Option<Overriding>,
        /// `VALUES (…)`; `None` is `DEFAULT VALUES`.
        values: Option<Vec<Expr>>,
    },
    /// `DO NOTHING`.
    Nothing,
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
    /// `WHERE CURRENT OF`: the row of a cursor.
    pub current_of: Option<Ident>,
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
    /// SEARCH and CYCLE: see [`crate::RecursionClauses`].
    pub from: Option<Ident>,
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

/// `CREATE SCHEMA`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSchema {
    /// The schema; absent when only `AUTHORIZATION` names it.
    pub name: Option<ObjectName>,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `AUTHORIZATION`.
    pub authorization: Option<Ident>,
    /// The statements that create its first objects or grant privileges on them.
    pub elements: Vec<Statement>,
}

impl Statement {
    /// Whether it reads or changes rows, so that it has a plan.
    pub fn is_of_rows(&self) -> bool {
        matches!(
            self,
            Statement::Query(_)
                | Statement::QueryWithChanges { .. }
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
        )
    }
}
