//! Views, sequences, schemas and databases; dropping, renaming and commenting on objects.

use super::{
    DropBehavior, Expr, Ident, Interleave, ObjectName, Query, RoutineName, SequenceOption,
};

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
    /// `WITH (FORCE)`: the sessions in the database are ended.
    pub force: bool,
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
    /// `GLOBAL TEMPORARY`.
    pub global: bool,
    /// `MATERIALIZED`.
    pub materialized: bool,
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The query.
    pub query: Box<Query>,
    /// Byte range of the query in the text, to store it as written.
    pub query_text: std::ops::Range<usize>,
    /// `WITH (…)` and `WITH [CASCADED | LOCAL] CHECK OPTION`.
    pub options: ViewOptions,
    /// `WITH NO DATA`.
    pub with_no_data: bool,
}

/// The options of a view that a statement sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewOptions {
    /// `check_option`, also as `WITH [CASCADED | LOCAL] CHECK OPTION`.
    pub check_option: Option<CheckOption>,
    /// `security_barrier`.
    pub barrier: Option<bool>,
    /// `security_invoker`.
    pub invoker: Option<bool>,
}

/// `ALTER VIEW`, except the renaming and moving forms ([`super::Statement::Rename`]).
#[derive(Debug, Clone, PartialEq)]
pub struct AlterView {
    /// The view.
    pub name: ObjectName,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// What changes.
    pub action: AlterViewAction,
}

/// What `ALTER VIEW` changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterViewAction {
    /// `SET (…)`.
    Set(ViewOptions),
    /// `RESET (…)`: the names of the options.
    Reset(Vec<String>),
    /// `ALTER COLUMN … SET DEFAULT`, or `DROP DEFAULT`.
    Default {
        /// The column.
        column: Ident,
        /// The default.
        default: Option<Box<super::Expr>>,
    },
}

/// How far `WITH CHECK OPTION` of a view reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// `LOCAL`: the view's own condition.
    Local,
    /// `CASCADED`: the conditions of the views below as well.
    Cascaded,
}

/// `REFRESH MATERIALIZED VIEW`.
#[derive(Debug, Clone, PartialEq)]
pub struct RefreshView {
    /// The materialized view.
    pub name: ObjectName,
    /// `CONCURRENTLY`: only the differences are written.
    pub concurrently: bool,
    /// `WITH NO DATA`: it is emptied.
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
    /// `GLOBAL TEMPORARY`.
    pub global: bool,
    /// `UNLOGGED`.
    pub unlogged: bool,
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

/// Statements about extensions, and about procedural languages, which are extensions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtensionStatement {
    /// `CREATE EXTENSION`, or `CREATE LANGUAGE` without a handler.
    Create(CreateExtension),
    /// `ALTER EXTENSION … UPDATE`.
    Update {
        /// The extension.
        name: Ident,
        /// `TO` a version.
        version: Option<String>,
    },
    /// `ALTER EXTENSION … SET SCHEMA`.
    SetSchema {
        /// The extension.
        name: Ident,
        /// Its new schema.
        schema: Ident,
    },
    /// `ALTER LANGUAGE … OWNER TO`.
    LanguageOwner {
        /// The language.
        language: Ident,
        /// Its new owner.
        owner: Ident,
    },
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
    /// `ALTER MATERIALIZED VIEW`.
    MaterializedView(ObjectName),
    /// `ALTER SEQUENCE`.
    Sequence(ObjectName),
    /// `ALTER SCHEMA`.
    Schema(ObjectName),
    /// `ALTER DATABASE`.
    Database(ObjectName),
    /// `ALTER TYPE`.
    Type(ObjectName),
    /// `ALTER DOMAIN`.
    Domain(ObjectName),
    /// `ALTER COLLATION`.
    Collation(ObjectName),
    /// `ALTER STATISTICS`.
    Statistics(ObjectName),
    /// `ALTER FUNCTION`, `PROCEDURE` or `ROUTINE`.
    Routine(Box<RoutineName>),
    /// `ALTER TRIGGER`.
    Trigger {
        /// The trigger.
        name: Ident,
        /// Its table.
        table: ObjectName,
    },
    /// `ALTER POLICY`.
    Policy {
        /// The policy.
        name: Ident,
        /// Its table.
        table: ObjectName,
    },
}

impl AlterTarget {
    /// The name of the object; of a trigger or a policy that of its table.
    pub fn name(&self) -> &ObjectName {
        match self {
            AlterTarget::Table(name)
            | AlterTarget::Index(name)
            | AlterTarget::View(name)
            | AlterTarget::MaterializedView(name)
            | AlterTarget::Sequence(name)
            | AlterTarget::Schema(name)
            | AlterTarget::Database(name)
            | AlterTarget::Type(name)
            | AlterTarget::Domain(name)
            | AlterTarget::Collation(name)
            | AlterTarget::Statistics(name)
            | AlterTarget::Trigger { table: name, .. }
            | AlterTarget::Policy { table: name, .. } => name,
            AlterTarget::Routine(routine) => &routine.name,
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

/// `CREATE STATISTICS`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStatistics {
    /// Its name.
    pub name: ObjectName,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The kinds in parentheses.
    pub kinds: Vec<Ident>,
    /// `ON`: columns and expressions.
    pub items: Vec<Expr>,
    /// `FROM`: the table; `None` for several relations, or something else than a table.
    pub table: Option<ObjectName>,
}

/// `ALTER STATISTICS … SET STATISTICS`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterStatistics {
    /// The object.
    pub name: ObjectName,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The new target.
    pub target: i64,
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

/// `ALTER INDEX`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterIndex {
    /// The index.
    pub name: ObjectName,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// What to change.
    pub action: AlterIndexAction,
}

/// What `ALTER INDEX` changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterIndexAction {
    /// `SET (…)` (true), `RESET (…)`: storage parameters, which have no effect. `SET TABLESPACE`
    /// sets none.
    Options(bool, Vec<(Ident, Option<Expr>)>),
    /// `ALTER COLUMN number SET STATISTICS …`: accepted for an expression, no effect.
    Statistics(i64),
    /// `INTERLEAVE IN …`.
    Interleave(Interleave),
    /// `UNINTERLEAVE`.
    Uninterleave,
    /// `ATTACH PARTITION index`.
    Attach(ObjectName),
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
    /// `MATERIALIZED VIEW`.
    MaterializedView(ObjectName),
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
    /// `LANGUAGE`.
    Language(ObjectName),
    /// `ROLE`.
    Role(ObjectName),
    /// `TYPE`.
    Type(ObjectName),
    /// `COMMENT ON COLLATION`.
    Collation(ObjectName),
    /// `COMMENT ON STATISTICS`.
    Statistics(ObjectName),
    /// `COMMENT ON DOMAIN`.
    Domain(ObjectName),
    /// `COMMENT ON FUNCTION`, `PROCEDURE` or `ROUTINE`.
    Routine(Box<RoutineName>),
    /// `COMMENT ON LARGE OBJECT`.
    LargeObject(u32),
    /// `COMMENT ON TRIGGER`.
    Trigger {
        /// The trigger.
        name: Ident,
        /// Its table.
        table: ObjectName,
    },
    /// `COMMENT ON POLICY`.
    Policy {
        /// The policy.
        name: Ident,
        /// Its table.
        table: ObjectName,
    },
    /// `COMMENT ON CONSTRAINT … ON DOMAIN`.
    DomainConstraint {
        /// The constraint.
        name: Ident,
        /// The domain.
        domain: ObjectName,
    },
}
