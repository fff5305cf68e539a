//! Statements about the session, users, cursors, bulk data and plans.

use super::{DropBehavior, Expr, Ident, ObjectName, Query, Reset, RoutineName, Set};

/// The modes of `BEGIN` and `SET TRANSACTION`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// `ISOLATION LEVEL`.
    pub isolation: Option<IsolationLevel>,
    /// `READ ONLY` (true) or `READ WRITE` (false).
    pub read_only: Option<bool>,
    /// `DEFERRABLE` (true) or `NOT DEFERRABLE` (false).
    pub deferrable: Option<bool>,
}

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// `READ UNCOMMITTED`.
    ReadUncommitted,
    /// `READ COMMITTED`.
    ReadCommitted,
    /// `REPEATABLE READ`.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
}

/// `SHOW`.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowTarget {
    /// `SHOW ALL`.
    All,
    /// `SHOW name`: a variable, in lower case (`transaction_isolation` for the spelt-out
    /// `TRANSACTION ISOLATION LEVEL`, `last_transaction_round_trips` among ours).
    Variable(String),
    /// `SHOW TABLES [FROM schema]`.
    Tables(Option<ObjectName>),
    /// `SHOW DATABASES`.
    Databases,
    /// `SHOW SCHEMAS`.
    Schemas,
    /// `SHOW SEQUENCES`.
    Sequences,
    /// `SHOW USERS` or `SHOW ROLES`.
    Users,
    /// `SHOW COLUMNS FROM table`.
    Columns(ObjectName),
    /// `SHOW INDEXES FROM table` (also `INDEX`, `KEYS`).
    Indexes(ObjectName),
    /// `SHOW CONSTRAINTS FROM table`.
    Constraints(ObjectName),
    /// `SHOW CREATE [TABLE | VIEW] name`.
    CreateTable(ObjectName),
    /// `SHOW TRANSACTION TIMELINE`.
    TransactionTimeline,
    /// `SHOW TRANSACTION STATUS`.
    TransactionStatus,
}

/// The form of an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    /// `TEXT`, the default.
    Text,
    /// `JSON`.
    Json,
    /// `XML`.
    Xml,
    /// `YAML`.
    Yaml,
}

/// Which way `COPY` goes. Programs are refused by the parser (0A000).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyDirection {
    /// `FROM STDIN` or a file.
    FromStdin,
    /// `TO STDOUT` or a file.
    ToStdout,
}

/// The options of `COPY`; `None` leaves the format's default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CopyOptions {
    /// `FORMAT`.
    pub format: CopyFormat,
    /// `DELIMITER`.
    pub delimiter: Option<String>,
    /// `NULL`.
    pub null: Option<String>,
    /// `HEADER`.
    pub header: bool,
    /// `HEADER MATCH`.
    pub header_match: bool,
    /// `QUOTE`.
    pub quote: Option<String>,
    /// `ESCAPE`.
    pub escape: Option<String>,
    /// `FORCE_QUOTE`: the columns; an empty list means all (`*`).
    pub force_quote: Option<Vec<Ident>>,
    /// `FORCE_NOT_NULL`.
    pub force_not_null: Option<Vec<Ident>>,
    /// `FORCE_NULL`.
    pub force_null: Option<Vec<Ident>>,
    /// `ENCODING`.
    pub encoding: Option<String>,
    /// `FREEZE`.
    pub freeze: bool,
}

/// The format of `COPY`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CopyFormat {
    /// `text`, the default.
    #[default]
    Text,
    /// `csv`.
    Csv,
    /// `binary`.
    Binary,
}

/// `EXECUTE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The prepared statement.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
}

/// What `DISCARD` throws away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscardKind {
    /// `ALL`.
    All,
    /// `PLANS`.
    Plans,
    /// `SEQUENCES`.
    Sequences,
    /// `TEMP`.
    Temp,
}

/// `DECLARE … CURSOR`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclareCursor {
    /// The name.
    pub name: Ident,
    /// `BINARY`.
    pub binary: bool,
    /// `INSENSITIVE` (true) or `ASENSITIVE` (false).
    pub insensitive: Option<bool>,
    /// `SCROLL` (true) or `NO SCROLL` (false).
    pub scroll: Option<bool>,
    /// `WITH HOLD`.
    pub hold: bool,
    /// The query.
    pub query: Box<Query>,
    /// Byte range of the query in the text.
    pub text: std::ops::Range<usize>,
}

/// `FETCH` or `MOVE`.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchCursor {
    /// `MOVE`: no rows are sent.
    pub is_move: bool,
    /// Which rows.
    pub direction: FetchDirection,
    /// The cursor.
    pub name: Ident,
}

/// Which rows `FETCH` wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchDirection {
    /// The next `n` rows; `NEXT` is 1, zero is the current row, `ALL` is `i64::MAX`.
    Forward(i64),
    /// The `n` rows before; `PRIOR` is 1, `ALL` is `i64::MAX`.
    Backward(i64),
    /// `FIRST`.
    First,
    /// `LAST`.
    Last,
    /// `ABSOLUTE n`.
    Absolute(i64),
    /// `RELATIVE n`.
    Relative(i64),
}

/// What `CLOSE` closes.
#[derive(Debug, Clone, PartialEq)]
pub enum CursorTarget {
    /// `CLOSE ALL`.
    All,
    /// `CLOSE name`.
    Name(Ident),
}

/// `CREATE USER` or `CREATE ROLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateUser {
    /// The name.
    pub name: Ident,
    /// `CREATE USER` (may log in by default), else `CREATE ROLE` or `GROUP`.
    pub is_user: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The options, in order.
    pub options: Vec<UserOption>,
}

/// `ALTER USER` or `ALTER ROLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterUser {
    /// The name; also `current_user` and the like, in lower case and unquoted.
    pub name: Ident,
    /// `ALL`: the settings of all roles.
    pub everyone: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The options, in order.
    pub options: Vec<UserOption>,
    /// `RENAME TO`.
    pub rename_to: Option<Ident>,
    /// `SET variable`, a default of that user's sessions.
    pub set: Option<Set>,
    /// `RESET variable`.
    pub reset: Option<Reset>,
}

/// `ALTER DATABASE … SET` and `ALTER ROLE … IN DATABASE … SET`, also `RESET`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterDatabase {
    /// The command tag.
    pub tag: &'static str,
    /// The database.
    pub database: Ident,
    /// The role whose sessions are meant; `None` means all.
    pub role: Option<Ident>,
    /// What changes.
    pub change: SettingChange,
}

/// A change of a setting that is kept for later sessions.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingChange {
    /// `SET variable`.
    Set(Set),
    /// `RESET variable`.
    Reset(Reset),
    /// `CONNECTION LIMIT n`, `ALLOW_CONNECTIONS b`, `IS_TEMPLATE b`, each with its value.
    Options(Vec<(String, String)>),
}

/// An option of a user.
#[derive(Debug, Clone, PartialEq)]
pub enum UserOption {
    /// `[ENCRYPTED] PASSWORD 'text'`, or `PASSWORD NULL`.
    Password(Option<String>),
    /// `LOGIN` or `NOLOGIN`.
    Login(bool),
    /// `SUPERUSER` or `NOSUPERUSER`.
    Superuser(bool),
    /// `CREATEDB` or `NOCREATEDB`.
    CreateDb(bool),
    /// `CREATEROLE` or `NOCREATEROLE`.
    CreateRole(bool),
    /// `INHERIT` or `NOINHERIT`.
    Inherit(bool),
    /// `REPLICATION` or `NOREPLICATION`.
    Replication(bool),
    /// `BYPASSRLS` or `NOBYPASSRLS`.
    BypassRls(bool),
    /// `CONNECTION LIMIT n`.
    ConnectionLimit(i64),
    /// `VALID UNTIL 'time'`.
    ValidUntil(String),
    /// `IN ROLE`.
    InRole(Vec<Ident>),
    /// `ROLE` or `USER`: members.
    Role(Vec<Ident>),
    /// `ADMIN`: members that may grant it.
    Admin(Vec<Ident>),
}

/// `DROP OWNED BY` or `REASSIGN OWNED BY`.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedBy {
    /// The roles whose objects are meant.
    pub roles: Vec<Ident>,
    /// The new owner of `REASSIGN OWNED`.
    pub to: Option<Ident>,
    /// `CASCADE` or `RESTRICT` of `DROP OWNED`.
    pub behavior: DropBehavior,
}

/// `DROP USER` or `DROP ROLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropUser {
    /// The names.
    pub names: Vec<Ident>,
    /// `IF EXISTS`.
    pub if_exists: bool,
}

/// `GRANT` or `REVOKE` of privileges.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantPrivileges {
    /// The privileges; empty means `ALL`.
    pub privileges: Vec<PrivilegeGrant>,
    /// On what.
    pub objects: GrantObjects,
    /// To or from whom.
    pub grantees: Vec<Grantee>,
    /// `WITH GRANT OPTION`, or `GRANT OPTION FOR`.
    pub grant_option: bool,
    /// `GRANTED BY`.
    pub granted_by: Option<Ident>,
    /// `CASCADE` of a `REVOKE`.
    pub behavior: DropBehavior,
}

/// A privilege, perhaps on some columns only.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivilegeGrant {
    /// Which.
    pub privilege: Privilege,
    /// The columns named; empty means the whole object.
    pub columns: Vec<Ident>,
}

/// A privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Privilege {
    /// `SELECT`.
    Select,
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `TRUNCATE`.
    Truncate,
    /// `REFERENCES`.
    References,
    /// `TRIGGER`.
    Trigger,
    /// `USAGE`.
    Usage,
    /// `CREATE`.
    Create,
    /// `CONNECT`.
    Connect,
    /// `TEMPORARY`.
    Temporary,
    /// `EXECUTE`.
    Execute,
}

/// The objects of a `GRANT`.
#[derive(Debug, Clone, PartialEq)]
pub enum GrantObjects {
    /// `[TABLE] names`.
    Tables(Vec<ObjectName>),
    /// `SEQUENCE names`.
    Sequences(Vec<ObjectName>),
    /// `DATABASE names`.
    Databases(Vec<ObjectName>),
    /// `SCHEMA names`.
    Schemas(Vec<ObjectName>),
    /// `TYPE names`.
    Types(Vec<ObjectName>),
    /// `ON DOMAIN …`.
    Domains(Vec<ObjectName>),
    /// `ALL TABLES IN SCHEMA names`.
    AllTablesInSchema(Vec<ObjectName>),
    /// `ALL SEQUENCES IN SCHEMA names`.
    AllSequencesInSchema(Vec<ObjectName>),
    /// `ALL FUNCTIONS IN SCHEMA names`: accepted, no effect.
    AllFunctionsInSchema(Vec<ObjectName>),
    /// `FUNCTION names`: accepted, no effect.
    Functions(Vec<RoutineName>),
    /// `LARGE OBJECT numbers`.
    LargeObjects(Vec<u32>),
    /// `LANGUAGE names`.
    Languages(Vec<Ident>),
}

/// `ALTER DEFAULT PRIVILEGES`: a `GRANT` or `REVOKE` for objects that are made later.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterDefaultPrivileges {
    /// The roles that will make the objects; empty means the user.
    pub roles: Vec<Ident>,
    /// The schemas of the objects; empty means all.
    pub schemas: Vec<Ident>,
    /// The kind of the objects.
    pub kind: ObjectKind,
    /// `REVOKE` instead of `GRANT`.
    pub revokes: bool,
    /// The privileges; empty means `ALL`.
    pub privileges: Vec<PrivilegeGrant>,
    /// To or from whom.
    pub grantees: Vec<Grantee>,
    /// `WITH GRANT OPTION`, or `GRANT OPTION FOR`.
    pub grant_option: bool,
    /// `CASCADE` of a `REVOKE`.
    pub behavior: DropBehavior,
}

/// A kind of objects that default privileges are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// `TABLES`, with views.
    Tables,
    /// `SEQUENCES`.
    Sequences,
    /// `FUNCTIONS` or `ROUTINES`.
    Functions,
    /// `TYPES`.
    Types,
    /// `SCHEMAS`.
    Schemas,
}

/// Who gets or loses a privilege.
#[derive(Debug, Clone, PartialEq)]
pub enum Grantee {
    /// `PUBLIC`.
    Public,
    /// A user; also `current_user`, `session_user` and `current_role`, unquoted.
    User(Ident),
}

/// `GRANT role TO role` or its `REVOKE`, and the form of both that `ALTER GROUP` has.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleGrant {
    /// The command tag.
    pub tag: &'static str,
    /// The roles granted.
    pub roles: Vec<Ident>,
    /// The members.
    pub grantees: Vec<Grantee>,
    /// `WITH ADMIN OPTION`, or `ADMIN OPTION FOR`.
    pub admin_option: bool,
    /// `GRANTED BY`.
    pub granted_by: Option<Ident>,
}

/// What `REINDEX` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReindexTarget {
    /// `INDEX`.
    Index,
    /// `TABLE`.
    Table,
    /// `SCHEMA`.
    Schema,
    /// `DATABASE`.
    Database,
    /// `SYSTEM`.
    System,
}

/// A table of `ANALYZE` or `VACUUM`.
#[derive(Debug, Clone, PartialEq)]
pub struct MaintainedTable {
    /// The table.
    pub name: ObjectName,
    /// The columns named, which change nothing.
    pub columns: Vec<Ident>,
}

/// `REINDEX`, which has nothing to do: names and rights are checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Reindex {
    /// The kind of object.
    pub target: ReindexTarget,
    /// The object.
    pub name: ObjectName,
    /// `CONCURRENTLY`.
    pub concurrently: bool,
}

/// `LOCK TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct LockTable {
    /// The tables.
    pub tables: Vec<ObjectName>,
    /// The mode.
    pub mode: TableLockMode,
    /// `NOWAIT`.
    pub nowait: bool,
}

/// The modes of `LOCK TABLE`, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLockMode {
    /// `ACCESS SHARE`
    AccessShare,
    /// `ROW SHARE`
    RowShare,
    /// `ROW EXCLUSIVE`
    RowExclusive,
    /// `SHARE UPDATE EXCLUSIVE`
    ShareUpdateExclusive,
    /// `SHARE`
    Share,
    /// `SHARE ROW EXCLUSIVE`
    ShareRowExclusive,
    /// `EXCLUSIVE`
    Exclusive,
    /// `ACCESS EXCLUSIVE`, the mode when none is written.
    AccessExclusive,
}
