//! Temporary objects: where new ones go, which statements concern nothing else, and what a commit
//! does to them.
//!
//! A statement about temporary objects only does not lock the catalog: nobody else knows them.

use std::sync::Arc;

use braid_catalog::{
    Catalog, Object, OnCommit, Relation, Schema, Table, is_temporary, table_span, temporary_span,
};
use braid_sql::ast::{
    AlterTarget, CommentTarget, DropBehavior, DropKind, Ident, ObjectName, ObjectNamePart,
    Statement,
};
use braid_types::{Error, Result, SqlState};

use super::DdlContext;
use super::drop::drop_relations;
use super::lookup::parts;
use crate::from_kv;

/// PostgreSQL's warning of `GLOBAL TEMPORARY`, which means the same as TEMPORARY.
const GLOBAL_IS_DEPRECATED: &str = "GLOBAL is deprecated in temporary table creation";

impl DdlContext<'_> {
    /// Where a new relation goes that may be temporary. 42P16 for a temporary one in another
    /// schema, 42501 if the user may make none.
    pub(super) fn target_of(
        &mut self,
        name: &ObjectName,
        temporary: bool,
    ) -> Result<(Arc<Schema>, String)> {
        let parts = parts(name);
        let catalog = self.catalog();
        let unqualified = temporary && parts.len() == 1;
        let (true, Some(name)) =
            (unqualified || catalog.creates_temporary(self.path(), &parts), parts.last())
        else {
            let found = self.target(name)?;
            return if temporary { Err(not_temporary()) } else { Ok(found) };
        };
        let database = self.path().database;
        if let Some(database) = catalog.database(database)
            && !catalog.has_privilege(self.user(), Object::Database(database), "TEMPORARY")
        {
            let message = format!(
                "permission denied to create temporary tables in database \"{}\"",
                database.name
            );
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
        let session = self.exec.env.backend_pid();
        Ok((self.draft()?.temporary_schema(database, session), name.clone()))
    }

    /// The WARNING of `GLOBAL TEMPORARY`.
    pub(super) fn warn_of_global(&mut self, is_global: bool) {
        if is_global {
            self.notice(SqlState::Warning, GLOBAL_IS_DEPRECATED.to_owned());
        }
    }

    /// Whether a statement can change temporary objects only.
    pub(super) fn is_of_temporary(&self, statement: &Statement) -> bool {
        let catalog = self.catalog();
        let creates = |temporary: bool, name: &ObjectName| {
            temporary || catalog.creates_temporary(self.path(), &parts(name))
        };
        let all = |names: &[ObjectName]| {
            !names.is_empty() && names.iter().all(|name| self.names_temporary(name))
        };
        match statement {
            Statement::CreateTable(create) => creates(create.temporary, &create.name),
            Statement::CreateView(create) => creates(create.temporary, &create.name),
            Statement::CreateSequence(create) => creates(create.temporary, &create.name),
            Statement::CreateIndex(create) => self.names_temporary(&create.table),
            Statement::AlterTable(alter) => self.names_temporary(&alter.name),
            Statement::AlterIndex(alter) => self.names_temporary(&alter.name),
            Statement::AlterSequence(alter) => self.names_temporary(&alter.name),
            Statement::Drop(drop) => is_relation(drop.kind) && all(&drop.names),
            Statement::Truncate(truncate) => all(&truncate.tables),
            Statement::Rename(rename) => match &rename.target {
                AlterTarget::Table(name)
                | AlterTarget::Index(name)
                | AlterTarget::View(name)
                | AlterTarget::Sequence(name) => self.names_temporary(name),
                AlterTarget::Type(_) | AlterTarget::Schema(_) | AlterTarget::Database(_) => false,
            },
            Statement::Comment(comment) => match &comment.target {
                CommentTarget::Table(name)
                | CommentTarget::Index(name)
                | CommentTarget::View(name)
                | CommentTarget::Sequence(name)
                | CommentTarget::Constraint { table: name, .. } => self.names_temporary(name),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a name means a temporary relation.
    pub(super) fn names_temporary(&self, name: &ObjectName) -> bool {
        match self.find(name) {
            Ok(Some(Relation::Index(table, _))) => is_temporary(table.id),
            Ok(Some(found)) => is_temporary(found.oid()),
            Ok(None) | Err(_) => false,
        }
    }

    /// A relation's name with its schema.
    pub(super) fn qualified_name(&self, schema: braid_catalog::Id, name: &str) -> ObjectName {
        let part = |name: &str| ObjectNamePart::Identifier(Ident::with_quote('"', name));
        ObjectName(vec![part(&self.catalog().schema_name(schema)), part(name)])
    }

    /// DISCARD TEMP: drops every temporary object.
    pub fn discard_temporary(&mut self) -> Result<()> {
        if self.catalog().temporary_schema().is_none() {
            return Ok(());
        }
        self.open_temporary();
        let catalog = self.catalog();
        for table in catalog.temporary_objects().tables() {
            self.refuse_if_owed(table, "DROP TABLE")?;
        }
        self.draft()?.drop_temporary();
        self.txn().delete_span(self.seq(), temporary_span()).map_err(from_kv)
    }

    /// Carries out ON COMMIT of the temporary tables, right before the commit.
    pub fn end_temporary(&mut self) -> Result<()> {
        let catalog = self.catalog();
        let objects = catalog.temporary_objects();
        let of = |wanted: OnCommit| objects.tables().iter().filter(move |t| t.on_commit == wanted);
        for table in of(OnCommit::Delete) {
            refuse_mixed(&catalog, table)?;
            let span = table_span(table.data_id);
            self.txn().delete_span(self.seq(), span).map_err(from_kv)?;
        }
        let dropped: std::collections::BTreeSet<_> =
            of(OnCommit::Drop).map(|table| table.id).collect();
        if dropped.is_empty() {
            return Ok(());
        }
        self.open_temporary();
        let noted = self.notices.len();
        let result = drop_relations(self, dropped, DropBehavior::Cascade);
        self.notices.truncate(noted);
        result
    }
}

/// Whether a commit has something to do for temporary tables.
pub fn has_on_commit<'t>(tables: impl IntoIterator<Item = &'t Arc<Table>>) -> bool {
    tables.into_iter().any(|table| table.on_commit != OnCommit::Preserve)
}

/// 0A000 if rows would go that rows of a table point at which stays.
fn refuse_mixed(catalog: &Catalog, table: &Table) -> Result<()> {
    let children = table.referenced_by.iter().filter_map(|id| catalog.table(*id));
    let Some(child) = children.into_iter().find(|child| child.on_commit != OnCommit::Delete) else {
        return Ok(());
    };
    let (child, parent) = (&child.name, &table.name);
    let detail = format!(
        "Table \"{child}\" references \"{parent}\", but they do not have the same ON COMMIT setting."
    );
    let message = "unsupported ON COMMIT and foreign key combination";
    Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail))
}

/// 42P16: TEMPORARY together with the name of another schema.
pub(super) fn not_temporary() -> Error {
    let message = "cannot create temporary relation in non-temporary schema";
    Error::new(SqlState::InvalidTableDefinition, message)
}

/// 42P16 if a foreign key would join a temporary table and one that is not.
pub(super) fn check_same_lifetime(child: &Table, parent: &Table) -> Result<()> {
    let refused = |kind: &str, allowed: &str| {
        let message = format!("constraints on {kind} tables may reference only {allowed} tables");
        Err(Error::new(SqlState::InvalidTableDefinition, message))
    };
    match (is_temporary(child.id), is_temporary(parent.id)) {
        (true, false) => refused("temporary", "temporary"),
        (false, true) if child.unlogged => refused("unlogged", "permanent or unlogged"),
        (false, true) => refused("permanent", "permanent"),
        _ => Ok(()),
    }
}

/// Whether the names of a DROP of this kind are names of relations.
fn is_relation(kind: DropKind) -> bool {
    matches!(kind, DropKind::Table | DropKind::Index | DropKind::View | DropKind::Sequence)
}
