//! `WHERE CURRENT OF`: the row of a cursor, as a condition on the primary key.
//!
//! ```text
//!   DECLARE c CURSOR FOR SELECT name FROM city   is read as   SELECT name, city.id FROM city
//!   DELETE FROM city WHERE CURRENT OF c          is read as   DELETE FROM city WHERE city.id = $1
//! ```
//!
//! Rules: the client never sees the columns that are added to the cursor. The second statement is
//! made when it runs, because the cursor moves. A cursor over anything but one table has no row
//! to change. If a statement changes the row's primary key, the cursor has lost its row.

use std::sync::Arc;

use braid_catalog::Table;
use braid_kv::Seq;
use braid_plan::{at_key, current_of, keyed_query, target_table, with_selection};
use braid_sql::ast::{Expr, ParsedStatement, Statement};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::session::Session;
use crate::statement::context::statement_environment;
use crate::statement::plans::cache::ParsedText;
use crate::statement::portal::RowKey;
use crate::statement::prepared::Prepared;
use crate::transaction::open::{catalog_at, ensure_open};

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidCursorState, message)
}

/// The query of a cursor with the key of its row behind its columns; `None` for a query in which
/// a row does not stand for one row of one table.
pub(crate) async fn with_row_key(
    session: &mut Session,
    parsed: &ParsedText,
) -> Result<Option<(ParsedText, RowKey)>> {
    let [ParsedStatement { statement: Statement::Query(query), text, parameters }] =
        &parsed.statements[..]
    else {
        return Ok(None);
    };
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let Some((query, table)) = keyed_query(&catalog, &env.lookup.path, query)? else {
        return Ok(None);
    };
    let columns = table.primary.keys.iter().map(|part| part.column).collect();
    let statement = Statement::Query(Box::new(query));
    let keyed = ParsedStatement { statement, text: text.clone(), parameters: *parameters };
    let key = RowKey { table: table.id, columns };
    Ok(Some((ParsedText::of_statement(&parsed.text, keyed), key)))
}

/// The statement as it is planned ahead of its execution, when the cursor may not be there yet:
/// its types are those of the statement that will run. `None` if it names no cursor.
pub(crate) fn ahead(statement: &Statement) -> Option<Statement> {
    current_of(statement)?;
    let no_row = Expr::value(braid_sql::ast::Value::Boolean(false));
    Some(with_selection(statement, no_row))
}

/// The cursor that a statement names by `WHERE CURRENT OF`.
pub(crate) fn cursor_of(prepared: &Prepared) -> Option<String> {
    prepared.statement().and_then(current_of).map(braid_sql::fold)
}

/// A statement with `WHERE CURRENT OF` as one about the row on which the cursor stands, and its
/// parameters.
pub(crate) async fn at_row(
    session: &mut Session,
    cursor: &str,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    seq: Seq,
) -> Result<(Prepared, Arc<Vec<Datum>>)> {
    let whole = match &prepared.given {
        Some(_) => Some(prepared.without_skeleton(&session.engine.plans)?),
        None => None,
    };
    let whole = whole.as_ref().unwrap_or(prepared);
    let statement =
        whole.statement().ok_or_else(|| Error::internal("an empty statement names a cursor"))?;
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let Some(table) = target_table(&catalog, &env.lookup.path, statement)? else {
        // Its plan is the error.
        let ahead = ahead(statement).unwrap_or_else(|| statement.clone());
        return Ok((read_as(whole, ahead, whole.hints.clone()), params.clone()));
    };
    let key = row_key(session, cursor, &table)?;
    let mut types = prepared.params.clone();
    let statement = at_key(statement, &table, &mut types)?;
    let params = params.iter().chain(&key).cloned().collect();
    Ok((read_as(whole, statement, types), Arc::new(params)))
}

/// Another statement in the place of a prepared one.
fn read_as(prepared: &Prepared, statement: Statement, hints: Vec<SqlType>) -> Prepared {
    let parameters = hints.len();
    let text = 0..prepared.parsed.text.len();
    let parsed = ParsedStatement { statement, text, parameters };
    let parsed = ParsedText::of_statement(&prepared.parsed.text, parsed);
    Prepared::new(&prepared.name, Arc::new(parsed), Some(0), hints)
}

/// The key of the row on which a cursor over the table stands.
fn row_key(session: &Session, cursor: &str, table: &Table) -> Result<Vec<Datum>> {
    let name = &table.name;
    let portal = session.portals.get(cursor).ok_or_else(|| {
        let message = format!("cursor \"{cursor}\" does not exist");
        Error::new(SqlState::InvalidCursorName, message)
    })?;
    let Some(Statement::Query(query)) = portal.prepared.statement() else {
        return Err(invalid(format!("cursor \"{cursor}\" is not a SELECT query")));
    };
    if portal.is_held() {
        return Err(invalid(format!("cursor \"{cursor}\" is held from a previous transaction")));
    }
    let state = portal.cursor.as_deref();
    let key = state.and_then(|state| state.row_key.as_ref());
    let (Some(state), Some(key)) = (state, key.filter(|key| key.is_of(table))) else {
        return Err(invalid(match query.locks.is_empty() {
            true => {
                format!("cursor \"{cursor}\" is not a simply updatable scan of table \"{name}\"")
            }
            false => format!(
                "cursor \"{cursor}\" does not have a FOR UPDATE/SHARE reference to table \"{name}\""
            ),
        }));
    };
    match state.row(state.position)? {
        Some(row) => Ok(row.iter().skip(row.len() - key.columns.len()).cloned().collect()),
        None => Err(invalid(format!("cursor \"{cursor}\" is not positioned on a row"))),
    }
}
