//! `WHERE CURRENT OF`: the key of a cursor's row, and the statement about the row of a key.
//!
//! ```text
//!   SELECT name FROM city               is read as   SELECT name, city.id FROM city
//!   DELETE FROM city WHERE CURRENT OF c   is read as   DELETE FROM city WHERE city.id = $1
//! ```

use std::sync::Arc;

use braid_catalog::{Catalog, Relation, SearchPath, Table};
use braid_sql::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
};
use braid_sql::{parse_expr, quote_ident};
use braid_types::{Result, SqlType};

fn last_part(name: &ObjectName) -> Option<String> {
    name.0.last()?.as_ident().map(braid_sql::fold)
}

/// The table of that name.
fn table_of(catalog: &Catalog, path: &SearchPath, name: &ObjectName) -> Result<Option<Arc<Table>>> {
    let parts = name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold);
    let parts: Vec<String> = parts.collect();
    Ok(match catalog.names().resolve(path, &parts)? {
        Some(Relation::Table(table)) => Some(table),
        _ => None,
    })
}

/// The columns of the primary key, as they are written in a query over the table.
fn key_columns(table: &Table, called: &str) -> Result<Vec<String>> {
    let column = |part: &braid_catalog::IndexKey| {
        let place = table.place_of(part.column)?;
        Ok(format!("{}.{}", quote_ident(called), quote_ident(&table.columns[place].name)))
    };
    table.primary.keys.iter().map(column).collect()
}

/// The SELECT of a query in which each row stands for one row of one table.
fn simple_select(query: &mut Query) -> Option<&mut Select> {
    let SetExpr::Select(select) = &mut *query.body else { return None };
    let is_grouped = !matches!(&select.group_by, braid_sql::ast::GroupByExpr::Expressions(
        keys, more) if keys.is_empty() && more.is_empty());
    let is_simple = query.with.is_none()
        && select.distinct.is_none()
        && !is_grouped
        && select.having.is_none()
        && select.into.is_none();
    is_simple.then_some(&mut **select)
}

/// A query with the key of its row behind its columns, and the table; `None` for a query in which a
/// row does not stand for one row of one table.
pub fn keyed_query(
    catalog: &Catalog,
    path: &SearchPath,
    query: &Query,
) -> Result<Option<(Query, Arc<Table>)>> {
    let mut query = query.clone();
    let Some(select) = simple_select(&mut query) else { return Ok(None) };
    let [from] = &select.from[..] else { return Ok(None) };
    let TableFactor::Table { name, alias, args: None, sample: None, .. } = &from.relation else {
        return Ok(None);
    };
    if !from.joins.is_empty() || alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return Ok(None);
    }
    let Some(table) = table_of(catalog, path, name)? else { return Ok(None) };
    let called = match alias {
        Some(alias) => Some(braid_sql::fold(&alias.name)),
        None => last_part(name),
    };
    let Some(called) = called else { return Ok(None) };
    for column in key_columns(&table, &called)? {
        select.projection.push(SelectItem::UnnamedExpr(parse_expr(&column)?));
    }
    Ok(Some((query, table)))
}

/// The cursor that a statement names.
pub fn current_of(statement: &Statement) -> Option<&Ident> {
    match statement {
        Statement::Update(update) => update.current_of.as_ref(),
        Statement::Delete(delete) => delete.current_of.as_ref(),
        _ => None,
    }
}

/// The statement with a condition in the place of its cursor.
pub fn with_selection(statement: &Statement, condition: Expr) -> Statement {
    let mut statement = statement.clone();
    match &mut statement {
        Statement::Update(update) => {
            update.current_of = None;
            update.selection = Some(condition);
        }
        Statement::Delete(delete) => {
            delete.current_of = None;
            delete.selection = Some(condition);
        }
        _ => {}
    }
    statement
}

/// The table that a statement with a cursor changes.
pub fn target_table(
    catalog: &Catalog,
    path: &SearchPath,
    statement: &Statement,
) -> Result<Option<Arc<Table>>> {
    match statement {
        Statement::Update(update) => table_of(catalog, path, &update.table),
        Statement::Delete(delete) => table_of(catalog, path, &delete.table),
        _ => Ok(None),
    }
}

/// The statement about the row of a key, whose values are the parameters behind those in `types`;
/// their types are added.
pub fn at_key(statement: &Statement, table: &Table, types: &mut Vec<SqlType>) -> Result<Statement> {
    let (name, alias) = match statement {
        Statement::Update(update) => (&update.table, &update.alias),
        Statement::Delete(delete) => (&delete.table, &delete.alias),
        _ => return Ok(statement.clone()),
    };
    let called = alias.as_ref().map(braid_sql::fold).or_else(|| last_part(name));
    let columns = key_columns(table, called.as_deref().unwrap_or_default())?;
    let mut conditions = Vec::with_capacity(columns.len());
    for (column, part) in columns.iter().zip(&table.primary.keys) {
        types.push(table.columns[table.place_of(part.column)?].ty.clone());
        conditions.push(format!("{column} = ${}", types.len()));
    }
    let condition = parse_expr(&conditions.join(" AND "))?;
    Ok(with_selection(statement, condition))
}
