//! Changes of table descriptors in the draft, and the checks that several statements share.

use std::sync::Arc;

use braid_catalog::{
    Catalog, Id, Index, OnCommit, ReplicaIdentity, RowSecurity, Table, TriggerState,
};
use braid_sql::ast::{self, DropBehavior};
use braid_sql::{fold, quote_ident};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;

/// Changes a table's descriptor in the draft.
pub(crate) fn change_table(
    cx: &mut DdlContext<'_>,
    id: Id,
    change: impl FnOnce(&mut Table),
) -> Result<()> {
    if let Some(table) = cx.catalog().table(id) {
        let mut table = Table::clone(table);
        change(&mut table);
        cx.draft()?.put(table);
    }
    Ok(())
}

/// A table whose foreign key refers to this one, or that is interleaved in it.
pub(crate) fn child_of<'c>(
    catalog: &'c Catalog,
    parent: &Table,
    child: Id,
) -> Result<&'c Arc<Table>> {
    let missing = || format!("table {child}, which depends on \"{}\", is missing", parent.name);
    catalog.table(child).ok_or_else(|| Error::broken(missing()))
}

/// The foreign keys that point at a table and fit, the oldest first: `constraint k on table c`.
pub(crate) fn referring_to(
    catalog: &Catalog,
    table: &Table,
    fits: impl Fn(&braid_catalog::ForeignKey) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for child in table.referenced_by.iter().filter_map(|id| catalog.table(*id)) {
        for key in child.foreign_keys.iter().filter(|key| key.parent == table.id && fits(key)) {
            found.push((
                key.id,
                format!("constraint {} on table {}", key.name, quote_ident(&child.name)),
            ));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, text)| text).collect()
}

/// 2BP01 if a foreign key needs this index.
pub(crate) fn refuse_if_referenced(
    cx: &DdlContext<'_>,
    table: &Table,
    index: &Index,
) -> Result<()> {
    let refers = |key: &braid_catalog::ForeignKey| key.parent_index == index.number;
    let lines = referring_to(&cx.catalog(), table, refers);
    if lines.is_empty() {
        return Ok(());
    }
    let (name, relation) = (&index.name, quote_ident(&table.name));
    let message = format!(
        "cannot drop constraint {name} on table {relation} because other objects depend on it"
    );
    let name = quote_ident(name);
    let detail: Vec<String> =
        lines.iter().map(|line| format!("{line} depends on index {name}")).collect();
    Err(Error::new(SqlState::DependentObjectsStillExist, message)
        .detail(detail.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// 42704 for a constraint of a table.
pub(crate) fn undefined_constraint(table: &Table, name: &str) -> Error {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    Error::new(SqlState::UndefinedObject, message)
}

/// 25001 for what works in several transactions of its own.
pub(crate) fn not_in_block(command: &str) -> Error {
    let message = format!("{command} cannot run inside a transaction block");
    Error::new(SqlState::ActiveSqlTransaction, message)
}

/// Makes sure that no foreign key needs an index of `table`: 2BP01, or with CASCADE drops them.
pub(crate) fn free_index(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    index: &Index,
    behavior: DropBehavior,
) -> Result<()> {
    if behavior == DropBehavior::Restrict {
        return refuse_if_referenced(cx, table, index);
    }
    let (id, number) = (table.id, index.number);
    let catalog = cx.catalog();
    let needs = |key: &braid_catalog::ForeignKey| key.parent == id && key.parent_index == number;
    for child in table.referenced_by.clone().iter().filter_map(|child| catalog.table(*child)) {
        for key in child.foreign_keys.iter().filter(|key| needs(key)) {
            let message = format!(
                "drop cascades to constraint {} on table {}",
                key.name,
                quote_ident(&child.name)
            );
            cx.notice(SqlState::SuccessfulCompletion, message);
        }
        if child.id != id {
            change_table(cx, child.id, |child| child.foreign_keys.retain(|key| !needs(key)))?;
        }
    }
    table.foreign_keys.retain(|key| !needs(key));
    let catalog = cx.catalog();
    let own_refers = table.foreign_keys.iter().any(|key| key.parent == id);
    table.referenced_by.retain(|child| {
        let refers = catalog.table(*child);
        let refers = refers.is_some_and(|child| child.foreign_keys.iter().any(|k| k.parent == id));
        if *child == id { own_refers } else { refers }
    });
    Ok(())
}

/// The name that a CREATE wants, without its schema.
pub(crate) fn wanted_name(name: Option<&ast::Ident>) -> Option<String> {
    name.map(fold)
}

/// 0A000 for rewriting a table that is the parent of interleaved tables.
pub(crate) fn refuse_rewrite(table: &Table) -> Result<()> {
    if table.primary.below.is_empty() {
        return Ok(());
    }
    let message =
        format!("cannot rewrite table \"{}\" while others are interleaved in it", table.name);
    Err(Error::new(SqlState::FeatureNotSupported, message))
}

/// Takes a table off the list of those that refer to a parent, unless it still does.
pub(crate) fn forget_reference(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    parent: braid_catalog::Id,
) -> Result<()> {
    if table.foreign_keys.iter().any(|key| key.parent == parent) {
        return Ok(());
    }
    if parent == table.id {
        let id = table.id;
        table.referenced_by.retain(|child| *child != id);
        return Ok(());
    }
    if let Some(found) = cx.catalog().table(parent) {
        let mut found = Table::clone(found);
        found.referenced_by.retain(|child| *child != table.id);
        cx.draft()?.put(found);
    }
    Ok(())
}

/// A table without columns, in a database and its schema; its primary key is to be set.
pub(crate) fn new_table(id: Id, (database, schema): (Id, Id), name: &str, owner: Id) -> Table {
    let family = braid_catalog::Family { id: 0, name: "primary".to_owned() };
    Table {
        id,
        data_id: id,
        version: 0,
        database,
        schema,
        name: name.to_owned(),
        owner,
        unlogged: false,
        replica_identity: ReplicaIdentity::Default,
        clustered_on: None,
        on_commit: OnCommit::Preserve,
        columns: Vec::new(),
        next_column: 1,
        primary: Index { unique: true, ..Index::plain(1, "") },
        indexes: Vec::new(),
        next_index: 2,
        families: vec![family],
        next_family: 1,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        moving: None,
        vacated: false,
        closed_by: None,
        materialized: None,
        partitioning: None,
        partition_of: None,
        triggers: Vec::new(),
        key_triggers: TriggerState::Origin,
        security: RowSecurity::default(),
        options: Vec::new(),
        statistics: Vec::new(),
        grants: Vec::new(),
        comment: None,
    }
}
