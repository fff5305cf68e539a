//! What a function is, and what a call sees.

use std::net::SocketAddr;

use braid_types::sql_type::AnyType;
use braid_types::{Datum, Error, FormatSettings, Result, Row, SqlType};

use super::traits::{IndexTraits, SequenceTraits};

/// What an argument may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// This type (modifiers do not matter).
    Is(SqlType),
    /// Any type (`"any"`).
    Any,
    /// Any enum, the same type as [`Arg::Element`] (`anyenum`).
    Enum,
    /// Any type, the same for each such argument (`anyelement`).
    Element,
    /// An array of what [`Arg::Element`] is (`anyarray`).
    Array,
    /// Any type that is not an array (`anynonarray`).
    NonArray,
    /// The range of what [`Arg::Element`] is (`anyrange`).
    Range,
    /// The multirange of what [`Arg::Element`] is (`anymultirange`).
    Multirange,
    /// Any type that casts to what all such arguments have in common (`anycompatible`).
    Compatible,
    /// An array of what [`Arg::Compatible`] is (`anycompatiblearray`).
    CompatibleArray,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returns {
    /// This type.
    Is(SqlType),
    /// What [`Arg::Element`] was bound to.
    Element,
    /// An array of what [`Arg::Element`] was bound to.
    Array,
    /// The range of what [`Arg::Element`] was bound to.
    Range,
    /// The multirange of what [`Arg::Element`] was bound to.
    Multirange,
    /// What [`Arg::Compatible`] was bound to.
    Compatible,
    /// An array of what [`Arg::Compatible`] was bound to.
    CompatibleArray,
}

impl Arg {
    /// What the type of a function's parameter takes.
    pub fn of(ty: &SqlType) -> Arg {
        match ty {
            SqlType::Any(AnyType::Element) => Arg::Element,
            SqlType::Any(AnyType::Array) => Arg::Array,
            SqlType::Any(AnyType::NonArray) => Arg::NonArray,
            SqlType::Any(AnyType::Enum) => Arg::Enum,
            SqlType::Any(AnyType::Range) => Arg::Range,
            SqlType::Any(AnyType::Multirange) => Arg::Multirange,
            SqlType::Any(AnyType::Compatible | AnyType::CompatibleNonArray) => Arg::Compatible,
            SqlType::Any(AnyType::CompatibleArray) => Arg::CompatibleArray,
            ty => Arg::Is(ty.clone()),
        }
    }
}

impl Returns {
    /// What the type of a function's result stands for.
    pub fn of(ty: &SqlType) -> Returns {
        match ty {
            SqlType::Any(AnyType::Element | AnyType::NonArray | AnyType::Enum) => Returns::Element,
            SqlType::Any(AnyType::Array) => Returns::Array,
            SqlType::Any(AnyType::Range) => Returns::Range,
            SqlType::Any(AnyType::Multirange) => Returns::Multirange,
            SqlType::Any(AnyType::Compatible | AnyType::CompatibleNonArray) => Returns::Compatible,
            SqlType::Any(AnyType::CompatibleArray) => Returns::CompatibleArray,
            ty => Returns::Is(ty.clone()),
        }
    }
}

/// How far a result may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// Depends on its arguments only: folded when they are constants.
    Immutable,
    /// The same within one statement.
    Stable,
    /// Differs from call to call.
    Volatile,
}

/// Functions that wait for the store or the clock; `exec` carries them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `nextval(regclass)`
    Nextval,
    /// `currval(regclass)`
    Currval,
    /// `setval(regclass, bigint [, boolean])`
    Setval,
    /// `lastval()`
    Lastval,
    /// `pg_sequence_last_value(regclass)`
    SequenceLastValue,
    /// `braid_sequence_state(regclass)`: the last value, and whether it was called (1 or 0).
    SequenceState,
    /// `pg_sleep(double precision)`
    Sleep,
    /// `pg_export_snapshot()`
    ExportSnapshot,
    /// `set_config(text, text, boolean)`
    SetConfig,
    /// `pg_cancel_backend(integer)`
    CancelBackend,
    /// `pg_terminate_backend(integer)`
    TerminateBackend,
    /// `pg_blocking_pids`
    BlockingPids,
    /// `braid_commit_status(uuid)`
    CommitStatus,
    /// `pg_current_wal_lsn()`: the number of the newest commit.
    CommitNumber,
    /// `pg_current_snapshot()`
    CurrentSnapshot,
    /// `pg_current_xact_id_if_assigned()` and `txid_current_if_assigned()`
    AssignedXactId {
        /// The result is an `xid8`.
        is_xid8: bool,
    },
    /// `pg_stat_get_numscans(oid)` and others of one relation.
    RelationCounter(RelationCounter),
    /// `pg_stat_reset()`, and that of one relation.
    ResetCounters,
    /// `pg_stat_statements_reset(oid, oid, bigint)`
    ResetStatements,
    /// `pg_notify(text, text)`
    Notify,
    /// `lo_open` and the other functions of large objects
    LargeObject(LargeObjectCall),
    /// `pg_trigger_depth()`
    TriggerDepth,
    /// `pg_advisory_lock` and the others of its family.
    Advisory(Advisory),
}

/// What is counted of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelationCounter {
    /// Scans.
    Scans,
    /// Entries or rows read.
    Read,
    /// Rows that an index has led to.
    Fetched,
    /// Rows inserted.
    Inserted,
    /// Rows updated.
    Updated,
    /// Rows deleted.
    Deleted,
    /// Rows that are there, by estimate.
    Live,
}

/// What a function of advisory locks does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advisory {
    /// Takes a lock.
    Take {
        /// Others may hold it shared, too.
        shared: bool,
        /// It ends with the transaction.
        in_transaction: bool,
        /// The answer is false instead of a wait.
        no_wait: bool,
    },
    /// Gives back one lock of the session.
    Release {
        /// One that was taken shared.
        shared: bool,
    },
    /// Gives back all locks of the session.
    ReleaseAll,
}

/// What a function of large objects does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LargeObjectCall {
    /// Makes an object of that number.
    Create,
    /// Makes an object.
    Creat,
    /// Removes an object.
    Unlink,
    /// Makes an object of these bytes.
    FromBytes,
    /// The bytes of an object.
    Get,
    /// Writes bytes into an object.
    Put,
    /// Opens an object.
    Open,
    /// Closes a descriptor.
    Close,
    /// Reads from a descriptor.
    Read,
    /// Writes to a descriptor.
    Write,
    /// Moves a descriptor.
    Seek {
        /// The result is a `bigint`.
        is_wide: bool,
    },
    /// Where a descriptor is.
    Tell {
        /// The result is a `bigint`.
        is_wide: bool,
    },
    /// Makes an object shorter or longer.
    Truncate,
}

/// How a call is carried out.
#[derive(Clone, Copy)]
pub enum Eval {
    /// On datums, at once.
    Pure(fn(&Call<'_>) -> Result<Datum>),
    /// By `exec`.
    Special(Special),
}

/// A function or operator of one signature.
pub struct Function {
    /// Its name; operators carry theirs (`+`, `->>`).
    pub name: &'static str,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// Whether the last argument repeats.
    pub variadic: bool,
    /// What it returns.
    pub returns: Returns,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    /// How far its result may be reused.
    pub volatility: Volatility,
    /// How it is carried out.
    pub eval: Eval,
}

/// What one call sees.
pub struct Call<'a> {
    /// The session around it.
    pub env: &'a dyn Environment,
    /// The types of the arguments, after the casts that resolution asked for.
    pub types: &'a [SqlType],
    /// The type of the result.
    pub returns: &'a SqlType,
    /// The arguments.
    pub args: &'a [Datum],
}

/// The rows of a set-returning function.
pub type Rows = Box<dyn Iterator<Item = Result<Row>> + Send>;

/// A set-returning function of one signature (`generate_series`, `unnest`).
pub struct SetFunction {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// Whether the last argument repeats.
    pub variadic: bool,
    /// Its columns: default names and types; one unnamed column takes the function's name. None:
    /// it returns `record`, and the call has a column definition list.
    pub columns: Vec<(&'static str, Returns)>,
    /// NULL in, no rows.
    pub strict: bool,
    /// The rows of a call.
    pub eval: fn(&Call<'_>) -> Result<Rows>,
}

/// The session as functions see it.
pub trait Environment: Send + Sync {
    /// Formats and the time zone.
    fn settings(&self) -> &FormatSettings;
    /// The transaction's timestamp: microseconds since 2000-01-01 UTC.
    fn transaction_micros(&self) -> i64;
    /// The statement's timestamp.
    fn statement_micros(&self) -> i64;
    /// The user whose privileges count.
    fn current_user(&self) -> &str;
    /// The user who logged in.
    fn session_user(&self) -> &str;
    /// The database.
    fn database(&self) -> &str;
    /// The schemas of the search path that exist; `implicit` adds `pg_catalog`.
    fn search_path(&self, implicit: bool) -> Vec<String>;
    /// A setting's value by lower-case name.
    fn setting(&self, name: &str) -> Option<String>;
    /// The number of this session (`pg_backend_pid`).
    fn backend_pid(&self) -> i32;
    /// The client's address, if it has one.
    fn client_addr(&self) -> Option<String>;
    /// The client's port, if it has one.
    fn client_port(&self) -> Option<u16> {
        None
    }
    /// The address and port that the client came in by.
    fn server_addr(&self) -> Option<SocketAddr> {
        None
    }
    /// The channels that this session listens to, in the order of its LISTENs.
    fn listening_channels(&self) -> Vec<String> {
        Vec::new()
    }
    /// The filled part of the fullest queue of notifications, from 0 to 1.
    fn notification_queue_usage(&self) -> f64 {
        0.0
    }
    /// Names and definitions by oid.
    fn lookup(&self) -> &dyn Lookup;
}

/// The place of a relation among partitioned ones.
#[derive(Clone, Debug, Default)]
pub struct PartitionTree {
    /// The relation, its parent, its parent's parent and so on.
    pub above: Vec<u32>,
    /// The relation and all partitions below it: number, parent, whether it has no partitions, and
    /// how far it is below.
    pub below: Vec<(u32, Option<u32>, bool, i64)>,
}

/// Names and definitions of catalog objects; implemented by `catalog`.
pub trait Lookup: Send + Sync {
    /// The oid of a relation by its (possibly qualified, possibly quoted) name. 42501 for a schema
    /// that the user may not use.
    fn relation_oid(&self, name: &str) -> Result<Option<u32>>;
    /// A relation's name as `regclass` prints it: qualified only if not on the search path.
    fn relation_name(&self, oid: u32) -> Option<String>;
    /// The type of users with that name, which may be qualified; its arrays have one, too.
    fn type_by_name(&self, _name: &[String]) -> Option<u32> {
        None
    }
    /// The schema that the name of a type of an extension needs, in quotes where needed.
    fn type_schema(&self, _ty: &SqlType) -> Option<String> {
        None
    }
    /// The domain of that oid, as the session writes its name.
    fn domain_name(&self, _oid: u32) -> Option<String> {
        None
    }

    /// The type of users of that number, and its name as a session has to write it.
    fn type_by_oid(&self, _oid: u32) -> Option<(SqlType, String)> {
        None
    }
    /// Whether a relation's rows are a type: a table, a view or a catalog.
    fn has_row_type(&self, oid: u32) -> bool;
    /// Whether an unqualified name finds this relation.
    fn relation_is_visible(&self, oid: u32) -> bool;
    /// A schema's name and oid.
    fn schema_oid(&self, name: &str) -> Option<u32>;
    /// A schema's name.
    fn schema_name(&self, oid: u32) -> Option<String>;
    /// A role's oid.
    fn role_oid(&self, name: &str) -> Option<u32>;
    /// A role's name.
    fn role_name(&self, oid: u32) -> Option<String>;
    /// `CREATE INDEX …` of an index; a column number above 0 gives that column only.
    fn index_definition(&self, oid: u32, column: i32, pretty: bool) -> Option<String>;
    /// The text of an expression that the catalogs have as a tree of nodes; `relation` is the table
    /// whose columns it reads.
    fn expression(&self, node: &str, relation: u32, pretty: bool) -> Option<String>;
    /// The definition of a constraint.
    fn constraint_definition(&self, oid: u32, pretty: bool) -> Option<String>;
    /// The keys of a partitioned table: `RANGE (a)`.
    fn partition_key(&self, _oid: u32) -> Option<String> {
        None
    }
    /// The condition that every row of a partition meets.
    fn partition_condition(&self, _oid: u32) -> Option<String> {
        None
    }
    /// The place of a table or index among partitions; `None` for any other relation.
    fn partition_tree(&self, _oid: u32) -> Option<PartitionTree> {
        None
    }
    /// Whether a role is a superuser.
    fn is_superuser(&self, _role: &str) -> bool {
        false
    }
    /// What an index has.
    fn index_traits(&self, _oid: u32) -> Option<IndexTraits> {
        None
    }
    /// What a sequence counts by.
    fn sequence_traits(&self, _oid: u32) -> Option<SequenceTraits> {
        None
    }
    /// The numbers of all databases, if the oid is that of the tablespace that they are in.
    fn databases_in(&self, _tablespace: u32) -> Vec<u32> {
        Vec::new()
    }
    /// `CREATE TRIGGER …` of a trigger.
    fn trigger_definition(&self, _oid: u32, _pretty: bool) -> Option<String> {
        None
    }
    /// The query of a view with today's names. `pretty` leaves out parentheses that are not needed;
    /// lines longer than `wrap` are broken between items.
    fn view_definition(&self, oid: u32, pretty: bool, wrap: i32) -> Option<String>;
    /// What may be changed in a relation, with `triggers` also through `INSTEAD OF` triggers;
    /// `None` for a relation that is not there or cannot be changed.
    fn writable(&self, _oid: u32, _triggers: bool) -> Option<Writable> {
        None
    }
    /// Whether a relation has storage of its own.
    fn has_storage(&self, _oid: u32) -> bool {
        false
    }
    /// A comment: object, catalog (`pg_class` …) and column number (0: the object itself).
    fn comment(&self, oid: u32, catalog: &str, column: i32) -> Option<String>;
    /// The sequence that a serial or identity column owns, as a qualified name.
    fn serial_sequence(&self, table: &str, column: &str) -> Result<Option<String>>;
    /// Whether a role has a privilege on a relation, or, with ` WITH GRANT OPTION` after it, may
    /// grant it on; an unknown relation or privilege is an error.
    fn has_table_privilege(&self, role: &str, relation: u32, privilege: &str) -> Result<bool>;
    /// Whether a role has a privilege on a column of a relation, or, without one, on any column of
    /// it; `None` if there is no such column.
    fn has_column_privilege(
        &self,
        role: &str,
        (relation, _column): (u32, Option<i16>),
        privilege: &str,
    ) -> Result<Option<bool>> {
        self.has_table_privilege(role, relation, privilege).map(Some)
    }
    /// Whether a relation is a sequence.
    fn is_sequence(&self, _relation: u32) -> bool {
        false
    }
    /// The number of a relation's column.
    fn column_number(&self, _relation: u32, _name: &str) -> Option<i16> {
        None
    }
    /// Whether a role (or `public`) has one of these privileges, with commas between them, on an
    /// object that is no relation; `None` if there is none. 22023 for an unknown privilege.
    fn has_object_privilege(
        &self,
        _role: &str,
        _object: (PrivilegedKind, u32),
        _privileges: &str,
    ) -> Result<Option<bool>> {
        Ok(Some(true))
    }
    /// An estimate of the size of a table or index in bytes.
    fn relation_size(&self, oid: u32) -> i64;
    /// An estimate of the bytes of a table's indexes.
    fn indexes_size(&self, oid: u32) -> i64;
    /// An estimate of the bytes of a database; `None` if there is none with that number.
    fn database_size(&self, oid: u32) -> Option<i64>;
    /// The number of a database.
    fn database_oid(&self, name: &str) -> Option<u32>;
    /// Whether the policies of a table hold for a role.
    fn are_policies_for(&self, _role: &str, _relation: u32) -> bool {
        false
    }
    /// Whether a role has the privileges of another one: it is a superuser, that role, or a member
    /// of it that inherits.
    fn acts_as(&self, role: &str, other: &str) -> bool;
    /// Whether a role may become another one: it is a superuser, that role, or a member of it.
    fn is_member(&self, role: &str, other: &str) -> bool {
        self.acts_as(role, other)
    }
    /// Whether a role may change the members of another one.
    fn is_admin(&self, role: &str, other: &str) -> bool {
        self.is_member(role, other)
    }
    /// A database's name.
    fn database_name(&self, oid: u32) -> Option<String>;
    /// A function or procedure of a user, as definitions and `regprocedure` show it.
    fn routine(&self, _oid: u32) -> Option<RoutineText> {
        None
    }
    /// The functions and procedures of users that a name may mean: their numbers, and those of
    /// their arguments' types.
    fn routines_named(&self, _name: &[String]) -> Vec<(u32, Vec<u32>)> {
        Vec::new()
    }
    /// An object of CREATE STATISTICS.
    fn statistics_object(&self, _oid: u32) -> Option<StatisticsText> {
        None
    }
    /// The address of an object with this kind and these names: catalog, object and column.
    fn object_address(&self, kind: &str, _names: &[String]) -> Result<(u32, u32, i32)> {
        Err(Error::unsupported(format_args!("pg_get_object_address of a {kind}")))
    }
    /// What an object is called: the number of its catalog, its own, and a column number (0: the
    /// object itself).
    fn object_identity(&self, _catalog: u32, _oid: u32, _column: i32) -> Option<ObjectIdentity> {
        None
    }
}

/// What may be changed in a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writable {
    /// Rows may be inserted.
    pub insert: bool,
    /// Rows may be updated.
    pub update: bool,
    /// Rows may be deleted.
    pub delete: bool,
    /// The numbers of the columns of a view that can be written to. A table has none here: all
    /// of its columns can.
    pub columns: Vec<i16>,
}

impl Writable {
    /// Everything, as in a table.
    pub const ALL: Writable =
        Writable { insert: true, update: true, delete: true, columns: Vec::new() };

    /// The bits of `pg_relation_is_updatable`.
    pub(crate) fn bits(&self) -> i64 {
        i64::from(self.update) << 2 | i64::from(self.insert) << 3 | i64::from(self.delete) << 4
    }
}

/// The kinds of objects beside relations that have privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivilegedKind {
    /// A schema.
    Schema,
    /// A database.
    Database,
    /// A function or procedure.
    Routine,
    /// A type.
    Type,
}

/// A function or procedure of a user in words.
pub struct RoutineText {
    /// Its name as the session has to write it.
    pub name: String,
    /// The name with the types of the arguments.
    pub signature: String,
    /// Its arguments with names and defaults.
    pub arguments: String,
    /// The same without defaults.
    pub identity_arguments: String,
    /// Its result; `None` for a procedure.
    pub result: Option<String>,
    /// Its definition; an aggregate has none.
    pub definition: Option<String>,
    /// The defaults of its arguments.
    pub defaults: Vec<Option<String>>,
    /// Whether an unqualified name finds it.
    pub is_visible: bool,
}

/// An object of CREATE STATISTICS, as the functions about its definition give it.
pub struct StatisticsText {
    /// `CREATE STATISTICS …`
    pub definition: String,
    /// Its columns and expressions.
    pub columns: String,
    /// Its expressions.
    pub expressions: Vec<String>,
    /// Whether an unqualified name finds it.
    pub is_visible: bool,
}

/// The names of an object, as `pg_identify_object` and `pg_describe_object` give them.
pub struct ObjectIdentity {
    /// Its kind: `table`, `table column`, `schema` …
    pub kind: String,
    /// Its schema as SQL text, if it is in one.
    pub schema: Option<String>,
    /// Its name as SQL text, if that with the schema names no other object.
    pub name: Option<String>,
    /// Its qualified name as SQL text.
    pub identity: String,
    /// Its kind and name for people.
    pub description: String,
}
