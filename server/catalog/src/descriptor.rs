//! What the database knows of its objects. Plain data, serialised as JSON into the system keys.
//!
//! Every object has an id from one counter; it is also its oid in the catalog views, so ids start
//! at 16384 like PostgreSQL's. Expressions are kept as SQL text and bound when they are used
//! ([`StoredExpr`]).

use braid_types::datetime::typmod::{apply_typmod, type_name};
use braid_types::{Datum, SqlType};
use serde::{Deserialize, Serialize};

use crate::{ForeignKey, StoredExpr};

/// The number of a database, schema, table, view, sequence, role, constraint or index.
pub type Id = u32;
/// The number of a column within its table; never used twice, starts at 1 (`attnum`).
pub type ColumnId = u16;
/// The number of an index within its table's keys; the primary key is 1; never used twice.
pub type IndexNumber = u16;
/// The number of a column family within its table; 0 always exists.
pub type FamilyId = u16;

/// A table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Its id, which also starts its keys; TRUNCATE gives the data a new one (`data_id`).
    pub id: Id,
    /// What its keys start with.
    pub data_id: Id,
    /// The version of the catalog that stored this descriptor. So none comes twice, and who proves
    /// that it is unchanged proves that it has not been another one meanwhile, also where the store
    /// compares values.
    #[serde(default)]
    pub version: u64,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// UNLOGGED. Its rows are as durable as all others; only the catalog shows the difference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// What a commit does to a temporary table.
    #[serde(default, skip_serializing_if = "OnCommit::is_preserve")]
    pub on_commit: OnCommit,
    /// Columns in the order they were added, without dropped ones.
    pub columns: Vec<Column>,
    /// The next column number.
    pub next_column: ColumnId,
    /// The primary key; tables without one get a hidden column `rowid`.
    pub primary: Index,
    /// Secondary indexes.
    pub indexes: Vec<Index>,
    /// The next index number.
    pub next_index: IndexNumber,
    /// Column families; at least one.
    pub families: Vec<Family>,
    /// The next family number.
    pub next_family: FamilyId,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// Foreign keys of this table.
    pub foreign_keys: Vec<ForeignKey>,
    /// Ids of tables whose foreign keys point here.
    pub referenced_by: Vec<Id>,
    /// Where its rows are being moved to; until they are there they are read where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Moving>,
    /// Whether the range of its own, from which its rows have moved away, still has to be emptied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vacated: bool,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON TABLE.
    pub comment: Option<String>,
}

/// ON COMMIT of a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnCommit {
    /// PRESERVE ROWS.
    #[default]
    Preserve,
    /// DELETE ROWS.
    Delete,
    /// DROP.
    Drop,
}

impl OnCommit {
    fn is_preserve(&self) -> bool {
        *self == OnCommit::Preserve
    }
}

/// A column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its number.
    pub id: ColumnId,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// What its type keeps of a time, a timestamp or an interval, by
    /// [`braid_types::datetime::typmod`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifier: Option<i32>,
    /// How many dimensions the declaration of an array has beyond the first. They limit nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_dimensions: u8,
    /// `COLLATE "C"` or `"POSIX"`, which both compare bytes as the default collation does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// The DEFAULT expression.
    pub default: Option<StoredExpr>,
    /// `GENERATED ALWAYS AS (expr) STORED`.
    pub generated: Option<StoredExpr>,
    /// `GENERATED … AS IDENTITY`.
    pub identity: Option<Identity>,
    /// The sequence that this column owns (SERIAL, IDENTITY).
    pub owned_sequence: Option<Id>,
    /// The family that holds it (key columns have one too, for `SHOW CREATE TABLE`).
    pub family: FamilyId,
    /// Not shown by `*` (`rowid`).
    pub hidden: bool,
    /// The value of `generated` is the key of an index and nothing else: it is computed when an
    /// entry is made, and no row has it. Such a column is hidden, no name means it, and it goes
    /// with its index.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_key_expr: bool,
    /// For rows stored before the column was added: its value there.
    pub missing: Option<StoredDatum>,
    /// COMMENT ON COLUMN.
    pub comment: Option<String>,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Column {
    /// The name of the column for the key of an index that is an expression. No client can write
    /// it. `label` is what the index shows for it.
    pub fn key_expr_name(id: ColumnId, label: &str) -> String {
        format!("\0{id}\0{label}")
    }

    /// Its name as an index shows it.
    pub fn label(&self) -> &str {
        self.name.rsplit('\0').next().unwrap_or_default()
    }

    /// The modifier of its type as `pg_attribute.atttypmod` has it; -1 without one.
    pub fn typmod(&self) -> i32 {
        self.modifier.unwrap_or_else(|| self.ty.typmod())
    }

    /// Its type with modifiers, as `format_type` prints it.
    pub fn type_name(&self) -> String {
        self.modifier.map_or_else(|| self.ty.display_name(), |typmod| type_name(&self.ty, typmod))
    }

    /// A value of its type as the type's modifier has it.
    pub fn modified(&self, value: Datum) -> Datum {
        match self.modifier {
            Some(typmod) => apply_typmod(&value, typmod),
            None => value,
        }
    }
}

/// A datum kept in a descriptor as its type's text form; `None` is NULL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDatum(pub Option<String>);

/// The two kinds of identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// A value may not be given without OVERRIDING SYSTEM VALUE.
    Always,
    /// A value may be given.
    ByDefault,
}

/// A column family: one key/value pair per row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Family {
    /// Its number: the last part of a key.
    pub id: FamilyId,
    /// Its name.
    pub name: String,
}

/// An index; the primary key is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Index {
    /// Its oid.
    pub id: Id,
    /// Its place in the table's keys.
    pub number: IndexNumber,
    /// Its name, which is also its constraint's.
    pub name: String,
    /// No two rows with equal keys (NULLs are not equal).
    pub unique: bool,
    /// Whether it came from a UNIQUE or PRIMARY KEY constraint; that constraint's oid.
    pub constraint: Option<Id>,
    /// The key columns.
    pub keys: Vec<IndexKey>,
    /// STORING / INCLUDE columns.
    pub storing: Vec<ColumnId>,
    /// `WHERE` of a partial index.
    pub predicate: Option<StoredExpr>,
    /// How far its building got.
    pub state: IndexState,
    /// The gateway that is building it, if there may be others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder: Option<u64>,
    /// The index whose name and part it takes when it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<IndexNumber>,
    /// Where its entries lie, if that is below the rows of another table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaving: Option<Interleaving>,
    /// The indexes whose entries lie right below this one's rows: table and number. Only a primary
    /// key has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<(Id, IndexNumber)>,
    /// Keys below this one's rows that nobody reads: on their way in, or left behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passing: Vec<Passing>,
    /// COMMENT ON INDEX / CONSTRAINT.
    pub comment: Option<String>,
}

/// The rows below which an index's entries lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleaving {
    /// The primary keys above, the root's first, the parent's last.
    pub above: Vec<Ancestor>,
    /// The foreign key that ON DELETE made, if it was written.
    #[serde(default)]
    pub foreign_key: Option<Id>,
}

/// A primary key above an interleaved index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Its table.
    pub table: Id,
    /// What stands for the table in keys.
    pub data_id: Id,
    /// How many key columns it adds to those of the one above it.
    pub columns: usize,
}

/// A table's rows on their way to another place: whoever writes one writes it to both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    /// Where they will lie.
    pub to: Option<Interleaving>,
    /// The gateway that moves them, if there may be others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mover: Option<u64>,
}

/// Keys of an index that is not, or no longer, read where they are: while the table is moving
/// they are being put there, else they are left over and removed in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// What stands for the table in them.
    pub data_id: Id,
    /// What stands for the index in them.
    pub number: IndexNumber,
    /// The primary keys above, the root's first.
    pub above: Vec<Ancestor>,
    /// For each key column: whether it descends.
    pub descending: Vec<bool>,
}

/// A part of an index key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexKey {
    /// The column.
    pub column: ColumnId,
    /// Descending.
    pub descending: bool,
    /// NULLS FIRST of an ascending key, or NULLS LAST of a descending one. Such a key is stored in
    /// its direction's own order, so that the planner never takes it for the declared one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nulls_opposed: bool,
}

impl IndexKey {
    /// Whether NULLs were declared to come first.
    pub fn declares_nulls_first(&self) -> bool {
        self.descending != self.nulls_opposed
    }
}

/// How far the building of an index got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexState {
    /// Writers keep it; nobody reads it; older rows are being filled in.
    Building,
    /// Complete.
    Public,
}

/// A CHECK constraint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Its oid.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The condition.
    pub expr: StoredExpr,
    /// The columns it names.
    pub columns: Vec<ColumnId>,
    /// COMMENT ON CONSTRAINT.
    pub comment: Option<String>,
}

/// A view.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    /// Its id.
    pub id: Id,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// Its columns.
    pub columns: Vec<(String, SqlType)>,
    /// Its query as it was written, with names; what it means if it has no stored form.
    pub query: String,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// Its query with ids in place of names. Views of older databases have none, nor have those
    /// whose query has a form that cannot be stored so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredQuery>,
    /// The tables, views and sequences it reads.
    pub depends_on: Vec<Id>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON VIEW.
    pub comment: Option<String>,
}

/// A view's query with ids in place of names: no renaming changes what it means.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredQuery {
    /// The text, in the form that `braid_sql::stored_text` prints.
    pub query: String,
    /// The columns that it reads, by relation; a relation may be there without columns.
    pub uses: Vec<(Id, Vec<ColumnId>)>,
}

/// A sequence; its counter is kept apart, outside of transactions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sequence {
    /// Its id.
    pub id: Id,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// The type of its values.
    pub ty: SqlType,
    /// START
    pub start: i64,
    /// INCREMENT
    pub increment: i64,
    /// MINVALUE
    pub min: i64,
    /// MAXVALUE
    pub max: i64,
    /// CACHE
    pub cache: i64,
    /// CYCLE
    pub cycle: bool,
    /// Names its counter; a restart takes a new one, so that it takes part in the transaction.
    #[serde(default)]
    pub counter: u64,
    /// What the counter begins with: START, or what RESTART WITH said.
    #[serde(default)]
    pub first: i64,
    /// OWNED BY table and column.
    pub owned_by: Option<(Id, ColumnId)>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON SEQUENCE.
    pub comment: Option<String>,
}

/// A schema.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schema {
    /// Its id.
    pub id: Id,
    /// Its database.
    pub database: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON SCHEMA.
    pub comment: Option<String>,
}

/// A database.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Database {
    /// Its id.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// ALTER DATABASE … SET and ALTER ROLE … IN DATABASE … SET.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<DatabaseSetting>,
    /// COMMENT ON DATABASE.
    pub comment: Option<String>,
}

/// A setting of the sessions in a database, of one role or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseSetting {
    /// The role; 0 stands for all of them.
    pub role: Id,
    /// The variable's name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A user or role.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    /// Its id; `root` is 10 like PostgreSQL's first superuser.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// May do everything.
    pub superuser: bool,
    /// May connect.
    pub login: bool,
    /// May create databases.
    pub create_db: bool,
    /// May create roles.
    pub create_role: bool,
    /// The SCRAM-SHA-256 secret in PostgreSQL's form; none: no password.
    pub password: Option<String>,
    /// The roles it is a member of.
    pub member_of: Vec<Id>,
    /// The roles whose membership it may grant on (WITH ADMIN OPTION).
    #[serde(default)]
    pub admin_of: Vec<Id>,
    /// At most so many sessions; none: no limit of its own.
    #[serde(default)]
    pub connection_limit: Option<i64>,
    /// REPLICATION, which only the catalog shows: there is nothing to replicate by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replication: bool,
    /// The password is good until then, as text.
    #[serde(default)]
    pub valid_until: Option<String>,
    /// Settings of its sessions (ALTER ROLE … SET).
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// COMMENT ON ROLE.
    #[serde(default)]
    pub comment: Option<String>,
}

/// Privileges granted to one role on one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The grantee; 0 is PUBLIC.
    pub role: Id,
    /// Upper-case names: SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, USAGE, CREATE, …
    pub privileges: Vec<String>,
    /// WITH GRANT OPTION.
    pub grant_option: bool,
}

/// Simple statistics of a table, kept apart from its descriptor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Estimated rows.
    pub rows: u64,
    /// Average bytes a row.
    pub row_bytes: u64,
    /// Distinct values by column.
    pub distinct: Vec<(ColumnId, u64)>,
}

impl Table {
    /// The column of this number.
    pub fn column(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// The columns for the keys of indexes that are expressions.
    pub fn key_exprs(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(|(_, column)| column.is_key_expr)
    }

    /// Whether a column is the key of an index that is an expression.
    pub fn is_key_expr(&self, id: ColumnId) -> bool {
        self.column(id).is_some_and(|column| column.is_key_expr)
    }

    /// Removes the columns for the expressions of indexes that are gone.
    pub fn forget_key_exprs(&mut self) {
        let indexes = std::iter::once(&self.primary).chain(&self.indexes);
        let used: Vec<ColumnId> =
            indexes.flat_map(|index| index.keys.iter().map(|key| key.column)).collect();
        self.columns.retain(|column| !column.is_key_expr || used.contains(&column.id));
    }

    /// The place of a column among `columns` by name.
    pub fn column_by_name(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The primary key and the secondary indexes.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Index> {
        std::iter::once(&self.primary).chain(&self.indexes)
    }
}
