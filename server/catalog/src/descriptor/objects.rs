//! Views, sequences, schemas, databases, roles and grants.

use braid_types::SqlType;
use serde::{Deserialize, Serialize};

use super::collation::OwnCollation;
use super::{ColumnId, Id, StoredExpr, Trigger};
use crate::{DATABASE_OWNER, PUBLIC, ROOT};

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
    /// WITH CHECK OPTION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_option: Option<CheckOption>,
    /// Its other options.
    #[serde(default, skip_serializing_if = "ViewOptions::is_default")]
    pub options: ViewOptions,
    /// The domains of its columns, by their numbers from 1; the types are then those below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<(ColumnId, Id)>,
    /// The defaults of its columns, by their numbers from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<(ColumnId, StoredExpr)>,
    /// Its triggers, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// Privileges granted on single columns, by their numbers from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column_grants: Vec<(ColumnId, Vec<Grant>)>,
    /// COMMENT ON COLUMN, by their numbers from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column_comments: Vec<(ColumnId, String)>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON VIEW.
    pub comment: Option<String>,
}

/// Options of a view, as far as they were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewOptions {
    /// `security_barrier`: conditions of the query around that may reveal rows come later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<bool>,
    /// `security_invoker`: its tables are read with the privileges of its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoker: Option<bool>,
}

impl ViewOptions {
    /// Whether the view is a security barrier.
    pub fn is_barrier(self) -> bool {
        self.barrier == Some(true)
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl View {
    /// The role whose privileges count for what the view reads; `None` is the session's user, also
    /// inside of another view.
    pub fn reader(&self) -> Option<Id> {
        (self.options.invoker != Some(true)).then_some(self.owner)
    }
}

/// How far WITH CHECK OPTION of a view reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOption {
    /// The view's own condition.
    Local,
    /// The conditions of the views below as well.
    Cascaded,
}

impl CheckOption {
    /// `LOCAL` or `CASCADED`.
    pub fn name(self) -> &'static str {
        match self {
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}

/// A view's query with ids in place of names: no renaming changes what it means.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredQuery {
    /// The text, in the form that `braid_sql::stored_text` prints.
    pub query: String,
    /// The columns that it reads, by relation; a relation may be there without columns.
    pub uses: Vec<(Id, Vec<ColumnId>)>,
}

/// What a materialized view shows: its query, and whether its table has the query's rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Materialized {
    /// Its query as it was written.
    pub query: String,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// Its query with ids in place of names, as of a [`View`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredQuery>,
    /// The tables, views and sequences it reads.
    pub depends_on: Vec<Id>,
    /// Whether it may be read: WITH NO DATA leaves it without rows.
    pub populated: bool,
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
    /// `UNLOGGED`: shown, and stored like any other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
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
    /// Its collations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collations: Vec<OwnCollation>,
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
    /// ALTER DEFAULT PRIVILEGES.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_privileges: Vec<DefaultPrivileges>,
    /// The schemas of the extensions that were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ExtensionSchema>,
    /// `CONNECTION LIMIT`; superusers are not counted against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<i32>,
    /// `ALLOW_CONNECTIONS false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses_connections: bool,
    /// `IS_TEMPLATE`: it cannot be dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_template: bool,
    /// COMMENT ON DATABASE.
    pub comment: Option<String>,
}

/// The schema that `CREATE EXTENSION` named, or that was the first of the search path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionSchema {
    /// The extension's name.
    pub name: String,
    /// The id of the schema.
    pub schema: Id,
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

/// What is granted on the objects of a kind that a role makes from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultPrivileges {
    /// Its id.
    pub id: Id,
    /// The role that makes the objects.
    pub role: Id,
    /// The schema of the objects; none: every schema. Grants for one schema are added to these.
    pub schema: Option<Id>,
    /// The kind of the objects.
    pub kind: DefaultKind,
    /// The grants, without what the owner has anyway.
    pub grants: Vec<Grant>,
}

/// A kind of objects that default privileges are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefaultKind {
    /// Tables and views.
    Tables,
    /// Sequences.
    Sequences,
    /// Functions.
    Functions,
    /// Types and domains.
    Types,
    /// Schemas.
    Schemas,
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
    /// Who granted its memberships: role and grantor. The first superuser granted the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grantors: Vec<(Id, Id)>,
    /// The maximum of sessions; none: no limit of its own.
    #[serde(default)]
    pub connection_limit: Option<i64>,
    /// REPLICATION, which only the catalog shows: there is nothing to replicate by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replication: bool,
    /// BYPASSRLS: no policies hold for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bypass_policies: bool,
    /// NOINHERIT: it has no privileges of the roles that it is a member of until it becomes them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_inherit: bool,
    /// The password is good until then, as text.
    #[serde(default)]
    pub valid_until: Option<String>,
    /// Settings of its sessions (ALTER ROLE … SET).
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Settings of everybody's sessions (ALTER ROLE ALL SET); only the first superuser has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub everyone: Vec<(String, String)>,
    /// COMMENT ON ROLE.
    #[serde(default)]
    pub comment: Option<String>,
}

/// Privileges granted by one role to another on one object.
///
/// Grants among which the owner has granted something to itself say all that the owner has. Without
/// such a grant the owner has every privilege.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The grantee; 0 is PUBLIC.
    pub role: Id,
    /// Upper-case names: SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, USAGE, CREATE, …
    pub privileges: Vec<String>,
    /// WITH GRANT OPTION.
    pub grant_option: bool,
    /// The role that granted them; none: the owner of the object, also after a change of owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grantor: Option<Id>,
}

impl Grant {
    /// What an object's owner grants to a role.
    pub fn of_owner(role: Id, privileges: &[&str]) -> Self {
        let privileges = privileges.iter().map(|name| (*name).to_owned()).collect();
        Grant { role, privileges, grant_option: false, grantor: None }
    }
}

impl Role {
    /// A role that may do nothing yet.
    pub fn new(id: Id, name: &str) -> Self {
        Role {
            id,
            name: name.to_owned(),
            superuser: false,
            login: false,
            create_db: false,
            create_role: false,
            password: None,
            member_of: Vec::new(),
            admin_of: Vec::new(),
            grantors: Vec::new(),
            connection_limit: None,
            replication: false,
            bypass_policies: false,
            no_inherit: false,
            valid_until: None,
            settings: Vec::new(),
            everyone: Vec::new(),
            comment: None,
        }
    }

    /// Who granted its membership in a role.
    pub fn grantor_of(&self, role: Id) -> Id {
        let found = self.grantors.iter().find(|(known, _)| *known == role);
        found.map_or(ROOT, |(_, grantor)| *grantor)
    }
}

impl Database {
    /// What everybody may do with a new database.
    pub fn first_grants() -> Vec<Grant> {
        vec![Grant::of_owner(PUBLIC, &["TEMPORARY", "CONNECT"])]
    }
}

impl Schema {
    /// The schema `public` of a new database: everybody may use it, only its owner create in it.
    pub fn public(id: Id, database: Id) -> Self {
        Schema {
            id,
            database,
            name: "public".to_owned(),
            owner: DATABASE_OWNER,
            grants: vec![Grant::of_owner(PUBLIC, &["USAGE"])],
            comment: Some("standard public schema".to_owned()),
            collations: Vec::new(),
        }
    }
}
