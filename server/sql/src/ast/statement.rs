//! The statement: one variant per kind that the engine knows.

use super::{
    AlterDatabase, AlterIndex, AlterSequence, AlterTable, AlterType, AlterUser, Comment, Copy,
    CreateDatabase, CreateExtension, CreateIndex, CreateSchema, CreateSequence, CreateTable,
    CreateType, CreateUser, CreateView, CursorTarget, DeclareCursor, Delete, DiscardKind, Drop,
    DropOther, DropUser, Execute, Explain, FetchCursor, GrantPrivileges, Ident, Insert, LockTable,
    ObjectName, OwnedBy, Prepare, Query, Rename, Reset, RoleGrant, Set, ShowTarget,
    TransactionModes, Truncate, Update, With,
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
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `CREATE TABLE`, also `CREATE TABLE … AS`.
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE`, except the renaming and moving forms ([`Statement::Rename`]).
    AlterTable(Box<AlterTable>),
    /// `CREATE TYPE … AS ENUM`.
    CreateType(CreateType),
    /// `ALTER TYPE … ADD VALUE` and `RENAME VALUE`; other forms are [`Statement::Rename`].
    AlterType(AlterType),
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
    /// `CREATE SEQUENCE`.
    CreateSequence(CreateSequence),
    /// `ALTER SEQUENCE`.
    AlterSequence(AlterSequence),
    /// `CREATE SCHEMA`.
    CreateSchema(CreateSchema),
    /// `CREATE DATABASE`.
    CreateDatabase(CreateDatabase),
    /// `CREATE EXTENSION`.
    CreateExtension(CreateExtension),
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
    /// `PREPARE TRANSACTION`.
    PrepareTransaction,
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
    /// `GRANT role TO role`.
    GrantRole(RoleGrant),
    /// `REVOKE role FROM role`.
    RevokeRole(RoleGrant),
    /// `ANALYZE`, with the tables named (all when empty).
    Analyze(Vec<ObjectName>),
    /// `VACUUM`: accepted, does nothing. With `ANALYZE` inside it means that as well.
    Vacuum {
        /// `VACUUM ANALYZE`.
        analyze: bool,
        /// The tables named; all when empty.
        tables: Vec<ObjectName>,
    },
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
