//! CREATE MATERIALIZED VIEW and REFRESH.
//!
//! A materialized view is a table that keeps the rows of its query. REFRESH empties it as TRUNCATE
//! does, by one range delete, and runs the query into the table's new place. Readers of an older
//! snapshot see the old rows, and a failure leaves them. CONCURRENTLY runs the query into a
//! table of its own and then changes only what differs:
//!
//! ```text
//!   REFRESH               empty ── INSERT INTO v (query)
//!   REFRESH CONCURRENTLY  INSERT INTO new (query) ── DELETE FROM v ── INSERT INTO v ── drop new
//! ```
//!
//! Rules: the query runs with the privileges of the view's owner; a view without rows cannot be
//! read.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{DefaultKind, Materialized, Object, Relation, Table, is_temporary};
use braid_exec::ExecContext;
use braid_kv::Seq;
use braid_plan::{PlannedStatement, Refresh, plan, plan_refresh};
use braid_sql::ast::{CreateView, ObjectName, RefreshView, Statement};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{duplicate, folded, parts, undefined};
use crate::names::temporary::target_of;
use crate::names::types::check_free_type;
use crate::roles::default_privileges::new_grants;
use crate::rows::delete::{delete_rows, empty_table};
use crate::statement::object::differences::{Differences, compared_columns};
use crate::statement::object::view::define_query;
use crate::table::columns::{check_column_name, check_column_type, push_result_column};
use crate::table::descriptor::{change_table, new_table};
use crate::table::moving::refuse_moving;
use crate::table::rowid::add_rowid;

const CREATED: &str = "CREATE MATERIALIZED VIEW";

pub(crate) async fn create(cx: &mut DdlContext<'_>, create: &CreateView) -> Result<String> {
    let (schema, name) = target_of(cx, &create.name, false)?;
    if is_temporary(schema.id) {
        let message = "only temporary relations may be created in temporary schemas";
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    if cx.catalog().names().find(schema.id, &name).is_some() {
        if !create.if_not_exists {
            return Err(duplicate(&name));
        }
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        return Ok(CREATED.to_owned());
    }
    check_free_type(cx, schema.id, &name)?;
    let statement = Statement::Query(create.query.clone());
    let planned = cx.plan(|context| plan(&statement, context))?;
    let defined = define_query(cx, create, &planned)?;
    if defined.depends_on.iter().any(|id| is_temporary(*id)) {
        let message = "materialized views must not use temporary tables or views";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let id = cx.draft()?.allocate_id(schema.id);
    let mut table = new_table(id, (schema.database, schema.id), &name, cx.user());
    table.grants = new_grants(cx, cx.user(), Some(schema.id), DefaultKind::Tables);
    add_columns(&mut table, create, &planned)?;
    add_rowid(cx, &mut table)?;
    table.materialized = Some(Box::new(Materialized {
        query: defined.query,
        search_path: cx.path().names(false).map(str::to_owned).collect(),
        stored: defined.stored,
        depends_on: defined.depends_on,
        populated: !create.with_no_data,
    }));
    let made = Arc::new(table.clone());
    cx.draft()?.put(table);
    if create.with_no_data {
        return Ok(CREATED.to_owned());
    }
    let rows = fill(cx, &made, &made).await?;
    Ok(format!("SELECT {rows}"))
}

/// The columns of the query, with the names that the statement gives.
fn add_columns(table: &mut Table, create: &CreateView, planned: &PlannedStatement) -> Result<()> {
    let names = folded(&create.columns);
    if names.len() > planned.columns.len() {
        let message = "too many column names were specified";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    for (place, column) in planned.columns.iter().enumerate() {
        let name = names.get(place).unwrap_or(&column.name);
        // A literal of no type is text, as in PostgreSQL.
        let ty = if column.ty == SqlType::Unknown { SqlType::Text } else { column.ty.clone() };
        check_column_name(table, name)?;
        check_column_type(name, &ty)?;
        push_result_column(table, name, ty, column)?;
    }
    Ok(())
}

pub(crate) async fn refresh(cx: &mut DdlContext<'_>, statement: &RefreshView) -> Result<()> {
    let table = materialized(cx, &statement.name)?;
    cx.check_owner(Object::Table(&table))?;
    if statement.concurrently {
        check_concurrently(cx, &table, statement)?;
        return replace_differences(cx, &table).await;
    }
    refuse_moving(&cx.catalog(), &table)?;
    empty_table(cx, table.id, &[table.id])?;
    change_table(cx, table.id, |table| {
        if let Some(materialized) = &mut table.materialized {
            materialized.populated = !statement.with_no_data;
        }
    })?;
    cx.draft()?.note_emptied(table.id);
    if statement.with_no_data {
        return Ok(());
    }
    fill(cx, &table, &table).await?;
    Ok(())
}

fn materialized(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Table>> {
    match cx.find(name)? {
        Some(Relation::Table(table)) if table.materialized.is_some() => Ok(table),
        Some(other) => {
            let message = format!("\"{}\" is not a materialized view", other.name());
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        None => Err(undefined("relation", &parts(name))),
    }
}

/// Runs the view's query into a table: the view's own, or a new one of the same columns.
async fn fill(cx: &DdlContext<'_>, view: &Table, into: &Table) -> Result<u64> {
    let (target, name) = (shown(cx, into), shown(cx, view));
    let sql = format!("INSERT INTO {target} SELECT * FROM {name}");
    let (_, tag) = execute(cx, &sql, (view, Refresh::Compute(view.id)), cx.seq()).await?;
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    count.ok_or_else(|| Error::broken(format!("command tag \"{tag}\" has no number of rows")))
}

/// A table's name in a statement, whatever the search path is.
fn shown(cx: &DdlContext<'_>, table: &Table) -> String {
    let schema = cx.catalog().schema_name(table.schema);
    format!("{}.{}", braid_sql::quote_ident(&schema), braid_sql::quote_ident(&table.name))
}

/// Runs a statement of REFRESH with the transaction's own catalog: its rows and its tag.
async fn execute(
    cx: &DdlContext<'_>,
    sql: &str,
    (view, refresh): (&Table, Refresh),
    seq: Seq,
) -> Result<(Vec<Row>, String)> {
    let mut parsed = braid_sql::parse(sql)?;
    let Some(parsed) = parsed.pop() else { return Err(Error::broken("nothing to run")) };
    let planned =
        cx.plan_own(|context| plan_refresh(&parsed.statement, context, refresh, view.owner))?;
    let mut own: ExecContext = cx.exec.in_transaction(cx.txn().clone(), seq);
    own.catalog = cx.catalog();
    let params = Arc::new(Vec::new());
    let mut execution = braid_dml::start(Arc::new(planned), params, Arc::new(own))?;
    let mut rows = Vec::new();
    loop {
        let next = execution.next(usize::MAX).await?;
        if next.is_empty() {
            return Ok((rows, execution.tag()));
        }
        rows.extend(next);
    }
}

/// 55000 if the view has no unique index by which its rows are told apart.
fn check_concurrently(cx: &DdlContext<'_>, table: &Table, statement: &RefreshView) -> Result<()> {
    if statement.with_no_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    if table.materialized.as_ref().is_some_and(|materialized| !materialized.populated) {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    if compared_columns(table).is_none() {
        let schema = cx.catalog().schema_name(table.schema);
        let name = braid_catalog::names::qualified(&schema, &table.name);
        let message = format!("cannot refresh materialized view \"{name}\" concurrently");
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message).hint(
            "Create a unique index with no WHERE clause on one or more columns of the \
             materialized view.",
        ));
    }
    Ok(())
}

/// The query's rows go to a table of their own; then the view's rows become the same ones.
async fn replace_differences(cx: &mut DdlContext<'_>, view: &Arc<Table>) -> Result<()> {
    let Some(keys) = compared_columns(view) else { return Ok(()) };
    let new = new_rows(cx, view)?;
    fill(cx, view, &new).await?;
    let statements = Differences::new(view, &shown(cx, view), &shown(cx, &new), &keys);
    let step = (&**view, Refresh::Change(view.id));
    // These read what the statement has written so far.
    let seq = cx.seq().after();
    let (repeated, _) = execute(cx, &statements.repeated, step, seq).await?;
    if let Some(row) = repeated.first() {
        let message = format!(
            "new data for materialized view \"{}\" contains duplicate rows without any null columns",
            view.name
        );
        let values: Vec<&str> = row.iter().filter_map(Datum::as_str).collect();
        return Err(Error::new(SqlState::CardinalityViolation, message)
            .detail(format!("Row: ({})", values.join(","))));
    }
    execute(cx, &statements.delete, step, seq).await?;
    execute(cx, &statements.insert, step, seq).await?;
    delete_rows(cx, &new, |_| false)?;
    cx.draft()?.remove(new.id);
    Ok(())
}

/// A table of the view's columns, without indexes. It is gone before the statement ends.
fn new_rows(cx: &mut DdlContext<'_>, view: &Table) -> Result<Arc<Table>> {
    let catalog = cx.catalog();
    let taken = |name: &str| catalog.names().find(view.schema, name).is_some();
    let name = braid_catalog::names::choose_name(&view.name, None, "new", |name| taken(name));
    let id = cx.draft()?.allocate_id(view.schema);
    let mut table = new_table(id, (view.database, view.schema), &name, view.owner);
    let kept: BTreeSet<u16> = view.visible_columns().map(|column| column.id).collect();
    table.columns = view.columns.iter().filter(|c| kept.contains(&c.id)).cloned().collect();
    table.next_column = view.next_column;
    add_rowid(cx, &mut table)?;
    cx.draft()?.put(table.clone());
    Ok(Arc::new(table))
}
