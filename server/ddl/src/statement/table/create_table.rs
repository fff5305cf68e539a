//! CREATE TABLE, with LIKE and AS.

use std::sync::Arc;

use braid_catalog::{ColumnId, DefaultKind, OnCommit, Table, is_temporary};
use braid_exec::{NewKeys, TransactionDraft};
use braid_sql::ast::{
    self, CheckClause, CreateTable, CreateTableLike, Insert, InsertSource, ObjectName, Query,
    Returning, Statement, TableConstraintKind, UniqueRules,
};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{duplicate, folded};
use crate::names::temporary::{qualified_name, target_of, warn_of_global};
use crate::names::types::check_free_type;
use crate::partitions::create::define_partition;
use crate::partitions::indexes::spec_like;
use crate::partitions::keys::partitioning;
use crate::roles::default_privileges::new_grants;
use crate::statement::object::statistics;
use crate::statement::table::storage_options::{self, Owner};
use crate::table::columns::{
    Behind, add_column, add_owned_sequence, check_column_name, check_column_type, finish_column,
    push_column, push_result_column,
};
use crate::table::constraint_names::multiple_primary_keys;
use crate::table::constraints::{
    add_check_constraint, add_key, add_table_constraint, add_unique_constraint, set_families,
    set_family,
};
use crate::table::descriptor::new_table;
use crate::table::exprs::{CHECKS, check_written, restate_expr, stored_expr};
use crate::table::foreign_keys::define_foreign_key;
use crate::table::interleave::interleave_in_parent;
use crate::table::key_spec::{KeySpec, WrittenIndex, index_spec};
use crate::table::rowid::add_rowid;

pub(crate) async fn run(cx: &mut DdlContext<'_>, create: &CreateTable) -> Result<String> {
    check_supported(create)?;
    warn_of_global(cx, create.global);
    let start = create.name.0.first().and_then(|part| part.as_ident());
    let start = start.map_or(0, |ident| braid_sql::offset_of(ident.span));
    let target = target_of(cx, &create.name, create.temporary);
    let (schema, name) = target.map_err(|error| error.position(start))?;
    if create.unlogged && is_temporary(schema.id) {
        let message = "only temporary relations may be created in temporary schemas";
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    let on_commit = on_commit(create, is_temporary(schema.id))?;
    let is_partitioned = create.partition_by.is_some();
    let owner = if is_partitioned { Owner::Partitioned } else { Owner::Table };
    storage_options::check(owner, &create.options, false)?;
    if cx.catalog().names().find(schema.id, &name).is_some() {
        if !create.if_not_exists {
            return Err(duplicate(&name));
        }
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        let tag = if create.as_query.is_some() { "CREATE TABLE AS" } else { "CREATE TABLE" };
        return Ok(tag.to_owned());
    }
    check_free_type(cx, schema.id, &name)?;
    let owner = cx.user();
    let id = cx.draft()?.allocate_id(schema.id);
    let mut table = new_table(id, (schema.database, schema.id), &name, owner);
    table.grants = new_grants(cx, owner, Some(schema.id), DefaultKind::Tables);
    table.unlogged = create.unlogged;
    table.options = storage_options::changed(&[], &create.options, false);
    table.on_commit = on_commit;
    if let Some(query) = &create.as_query {
        return create_as(cx, create, table, query).await;
    }
    if let Some(clause) = &create.partition_of {
        define_partition(cx, table, create, clause).await?;
        return Ok("CREATE TABLE".to_owned());
    }
    define(cx, &mut table, create)?;
    cx.draft()?.put(table);
    Ok("CREATE TABLE".to_owned())
}

fn check_supported(create: &CreateTable) -> Result<()> {
    let not_yet = |what: &str| {
        Err(Error::new(SqlState::FeatureNotSupported, format!("{what} not supported yet")))
    };
    if create.as_execute.is_some() {
        return not_yet("CREATE TABLE AS EXECUTE is");
    }
    if create.interleave.is_some() && create.as_query.is_some() {
        return not_yet("INTERLEAVE in CREATE TABLE AS is");
    }
    let is_partitioned = create.partition_by.is_some() || create.partition_of.is_some();
    let interleaves = create.interleave.is_some()
        || create.indexes.iter().any(|index| index.interleave.is_some());
    if is_partitioned && interleaves {
        return not_yet("INTERLEAVE of partitioned tables is");
    }
    if is_partitioned && create.as_query.is_some() {
        return not_yet("PARTITION BY in CREATE TABLE AS is");
    }
    Ok(())
}

/// ON COMMIT; 42P16 for a permanent table.
fn on_commit(create: &CreateTable, is_temporary: bool) -> Result<OnCommit> {
    let Some(written) = create.on_commit else { return Ok(OnCommit::Preserve) };
    if !is_temporary {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    Ok(match written {
        "drop" => OnCommit::Drop,
        "delete rows" => OnCommit::Delete,
        _ => OnCommit::Preserve,
    })
}

/// Columns first, then keys, checks and foreign keys, as PostgreSQL names them.
fn define(cx: &mut DdlContext<'_>, table: &mut Table, create: &CreateTable) -> Result<()> {
    for like in &create.like {
        copy_columns(cx, table, like)?;
    }
    let mut behind: Vec<(ColumnId, Behind<'_>)> = Vec::with_capacity(create.columns.len());
    for def in &create.columns {
        behind.push(add_column(cx, table, def)?);
    }
    set_families(table, &create.families)?;
    for (id, column) in &behind {
        if let Some(family) = &column.family {
            set_family(table, *id, family)?;
        }
        finish_column(cx, table, *id, column)?;
    }
    if let Some(by) = &create.partition_by {
        table.partitioning = Some(Box::new(partitioning(cx, table, by)?));
    }
    let column_name =
        |table: &Table, id| Ok::<_, Error>(table.columns[table.place_of(id)?].name.clone());
    let is_primary =
        |kind: &TableConstraintKind| matches!(kind, TableConstraintKind::PrimaryKey { .. });
    for (id, column) in &behind {
        if let Some((name, rules)) = &column.primary {
            if table.primary_key().is_some() {
                return Err(multiple_primary_keys(&table.name).position(column.primary_place));
            }
            let spec = KeySpec::constraint(name.clone(), true, vec![column_name(table, *id)?]);
            add_key(cx, table, &KeySpec { rules: *rules, ..spec })?;
        }
    }
    for constraint in create.constraints.iter().filter(|c| is_primary(&c.kind)) {
        add_table_constraint(cx, table, constraint)?;
    }
    add_rowid(cx, table)?;
    for (id, column) in &behind {
        for (name, rules) in &column.unique {
            let spec = KeySpec::constraint(name.clone(), false, vec![column_name(table, *id)?]);
            add_unique_constraint(cx, table, &KeySpec { rules: *rules, ..spec })?;
        }
        for (name, expr) in &column.checks {
            let written_behind = column_name(table, *id)?;
            check_written(cx, Some(table), &expr.expr, CHECKS)?;
            add_check_constraint(cx, table, name.clone(), expr, Some(&written_behind))?;
        }
    }
    for constraint in create.constraints.iter().filter(|c| !is_primary(&c.kind)) {
        if !matches!(constraint.kind, TableConstraintKind::ForeignKey(_)) {
            add_table_constraint(cx, table, constraint)?;
        }
    }
    add_indexes(cx, table, create)?;
    for (id, column) in &behind {
        for (name, key) in &column.references {
            let columns = vec![column_name(table, *id)?];
            define_foreign_key(cx, table, name.clone(), key, columns)?;
        }
    }
    for constraint in &create.constraints {
        if let TableConstraintKind::ForeignKey(_) = constraint.kind {
            add_table_constraint(cx, table, constraint)?;
        }
    }
    match &create.interleave {
        Some(clause) => interleave_in_parent(cx, table, table.primary.number, clause),
        None => Ok(()),
    }
}

/// The indexes written beside the columns.
fn add_indexes(cx: &mut DdlContext<'_>, table: &mut Table, create: &CreateTable) -> Result<()> {
    for index in &create.indexes {
        let written = WrittenIndex {
            name: index.name.as_ref(),
            method: index.method.as_ref(),
            unique: index.unique,
            keys: &index.keys,
            storing: &index.storing,
            predicate: index.predicate.as_ref(),
            is_exclusion: false,
        };
        let spec = index_spec(cx, table, &written)?;
        let rules = UniqueRules::of_index(index.nulls_not_distinct);
        let number = add_key(cx, table, &KeySpec { rules, ..spec })?;
        if let Some(clause) = &index.interleave {
            interleave_in_parent(cx, table, number, clause)?;
        }
    }
    Ok(())
}

/// `LIKE source`: columns with NOT NULL, and what INCLUDING adds.
fn copy_columns(cx: &mut DdlContext<'_>, table: &mut Table, like: &CreateTableLike) -> Result<()> {
    let start = like.source.0.first().and_then(|part| part.as_ident());
    let start = start.map_or(0, |ident| braid_sql::offset_of(ident.span));
    let source = cx.table_or_materialized(&like.source);
    let source = source.map_err(|error| error.position(start))?;
    let included = |what: &str| {
        let fits = |name: &str| name == what || name == "all";
        like.options.iter().rev().find(|(_, name)| fits(name)).is_some_and(|(on, _)| *on)
    };
    for column in source.visible_columns() {
        check_column_name(table, &column.name)?;
        let id = push_column(table, &column.name, column.ty.clone(), column.nullable)?;
        let place = table.place_of(id)?;
        let copy = &mut table.columns[place];
        copy.modifier = column.modifier;
        copy.domain = column.domain;
        copy.collation.clone_from(&column.collation);
        if included("defaults") && column.identity.is_none() {
            copy.default.clone_from(&column.default);
        }
        if included("storage") {
            copy.storage = column.storage;
        }
        if included("comments") {
            copy.comment.clone_from(&column.comment);
        }
        if included("identity")
            && let Some(identity) = column.identity
        {
            add_owned_sequence(cx, table, id, Some((identity, &[])))?;
        }
    }
    if included("generated") {
        copy_generated(cx, table, &source)?;
    }
    if included("constraints") {
        for check in &source.checks {
            let expr = braid_sql::parse_expr(restate_expr(cx, &source, &check.expr).sql())?;
            let clause = CheckClause { expr, no_inherit: check.no_inherit };
            add_check_constraint(cx, table, Some(check.name.clone()), &clause, None)?;
        }
    }
    if included("indexes") {
        for index in source.all_indexes().filter(|index| !source.is_hidden_key(index)) {
            let spec = spec_like(cx, table, &source, index)?;
            add_key(cx, table, &spec)?;
        }
    }
    if included("statistics") {
        statistics::copy(cx, table, &source, included("comments"))?;
    }
    Ok(())
}

/// The expressions of generated columns, over the columns that were copied.
fn copy_generated(cx: &DdlContext<'_>, table: &mut Table, source: &Table) -> Result<()> {
    for column in source.visible_columns() {
        let Some(expr) = &column.generated else { continue };
        let place = table
            .column_by_name(&column.name)
            .ok_or_else(|| Error::broken(format!("column \"{}\" was not copied", column.name)))?;
        let expr = restate_expr(cx, source, expr);
        let stored = stored_expr(cx, expr.sql(), Some(table), Some(&column.ty))?;
        table.columns[place].generated = Some(stored);
    }
    Ok(())
}

/// CREATE TABLE … AS: the columns of the query, then its rows.
async fn create_as(
    cx: &mut DdlContext<'_>,
    create: &CreateTable,
    mut table: Table,
    query: &Query,
) -> Result<String> {
    let statement = Statement::Query(Box::new(query.clone()));
    let planned = cx.plan_query(&statement)?;
    let names = folded(&create.as_columns);
    if names.len() > planned.columns.len() {
        let message = "too many column names were specified";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    for (place, column) in planned.columns.iter().enumerate() {
        let name = names.get(place).unwrap_or(&column.name);
        // A literal of no type is text, as in PostgreSQL.
        let ty = if column.ty == SqlType::Unknown { SqlType::Text } else { column.ty.clone() };
        check_column_name(&table, name)?;
        check_column_type(name, &ty)?;
        if column.is_undecided {
            let ty = ty.display_name();
            let message =
                format!("no collation was derived for column \"{name}\" with collatable type {ty}");
            return Err(Error::new(SqlState::IndeterminateCollation, message)
                .hint("Use the COLLATE clause to set the collation explicitly."));
        }
        push_result_column(&mut table, name, ty, column)?;
    }
    add_rowid(cx, &mut table)?;
    let name = qualified_name(cx, table.schema, &table.name);
    cx.draft()?.put(table);
    if create.with_no_data {
        return Ok("CREATE TABLE AS".to_owned());
    }
    let rows = insert_query(cx, name, query).await?;
    Ok(format!("SELECT {rows}"))
}

/// Runs `INSERT INTO table query` with the transaction's own catalog.
async fn insert_query(cx: &mut DdlContext<'_>, table: ObjectName, query: &Query) -> Result<u64> {
    let insert = Insert {
        with: None,
        upsert: false,
        table,
        alias: None,
        columns: Vec::new(),
        overriding: None,
        source: InsertSource::Query(Box::new(query.clone())),
        on_conflict: None,
        returning: Returning::None,
    };
    let statement = ast::Statement::Insert(Box::new(insert));
    let planned = cx.plan_query(&statement)?;
    let mut own = cx.exec.in_transaction(cx.txn().clone(), cx.seq());
    own.catalog = cx.catalog();
    // The functions of the query may define something.
    let draft = Arc::new(TransactionDraft::of_definition(cx.draft.clone()));
    (own.draft, own.around) = (draft.clone(), cx.exec.around.clone());
    // The table is new, and each row gets a number of its own: no key is taken.
    own.new_keys = NewKeys::AtCommit;
    let mut execution = braid_dml::start(Arc::new(planned), cx.params.clone(), Arc::new(own))?;
    while !execution.next(usize::MAX).await?.is_empty() {}
    *cx.draft = draft.get();
    let tag = execution.tag();
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    count.ok_or_else(|| Error::broken(format!("command tag \"{tag}\" has no number of rows")))
}
