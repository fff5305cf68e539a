//! What COPY reads or fills: a table and the columns listed.

use std::sync::Arc;

use braid_catalog::{Column, Object, Relation, Table};
use braid_sql::ast::{Copy, CopySource, Expr, Ident, ObjectName};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::session::Session;
use crate::statement::context::statement_environment;
use crate::statement::portal::Run;
use crate::statement::prepared::Prepared;
use crate::transaction::open::{catalog_at, ensure_open};

/// What is copied into.
pub(super) struct Target {
    /// The table's number.
    pub id: u32,
    /// Its bare name, for messages.
    pub table: String,
    pub columns: Vec<(String, SqlType)>,
    pub force_not_null: Vec<bool>,
    pub force_null: Vec<bool>,
    /// The INSERT of one row.
    pub insert: String,
}

impl Target {
    pub(super) fn hints(&self) -> Vec<SqlType> {
        self.columns.iter().map(|(_, ty)| ty.bare()).collect()
    }
}

/// The relation of a name.
pub(super) async fn copy_relation(session: &mut Session, name: &ObjectName) -> Result<Relation> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let parts: Vec<String> =
        name.0.iter().filter_map(|part| part.as_ident().map(braid_sql::fold)).collect();
    let path = session.derived().path.clone();
    let found = catalog.names().resolve(&path, &parts)?;
    found.ok_or_else(|| braid_catalog::undefined_relation(&parts))
}

/// What COPY FROM fills.
pub(super) async fn copy_target(
    session: &mut Session,
    copy: &Copy,
    outer: &Prepared,
) -> Result<Target> {
    let CopySource::Table { name, columns } = &copy.source else {
        return Err(Error::new(SqlState::SyntaxError, "COPY FROM needs a table"));
    };
    let table = match copy_relation(session, name).await? {
        Relation::Table(table) if table.materialized.is_none() => table,
        other => {
            let message = format!("cannot copy to {} \"{}\"", other.kind(), other.name());
            let error = Error::new(SqlState::WrongObjectType, message);
            return Err(match other {
                Relation::View(_) => {
                    error.hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
                }
                _ => error,
            });
        }
    };
    refuse_policies(session, &table).await?;
    let columns = table_columns(&table, columns)?;
    let marked = |option, names: &Option<Vec<Ident>>| {
        let of = Some(&*table);
        marked_columns(option, names.as_deref().unwrap_or_default(), &columns, of)
    };
    let force_not_null = marked("FORCE_NOT_NULL", &copy.options.force_not_null)?;
    let force_null = marked("FORCE_NULL", &copy.options.force_null)?;
    if let Some(condition) = &copy.selection {
        check_condition(session, &table, condition, outer).await?;
    }
    let insert = match &copy.selection {
        None => insert_of(&name.to_string(), &columns),
        Some(condition) => insert_where(&name.to_string(), &table, &columns, condition)?,
    };
    let (id, table) = (table.id, table.name.clone());
    Ok(Target { id, table, columns, force_not_null, force_null, insert })
}

/// Binds a condition as the client has written it, so that an error has its place.
async fn check_condition(
    session: &mut Session,
    table: &Table,
    condition: &Expr,
    outer: &Prepared,
) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let cx = env.plan_context(&catalog, &outer.parsed.text, &[]);
    let clause = ("COPY FROM WHERE conditions", Some("WHERE"));
    braid_plan::check_written_expr(&cx, Some(table), condition, clause)
}

/// 0A000 for a table whose policies hold for the session's user, 42501 if `row_security` is off.
async fn refuse_policies(session: &mut Session, table: &Arc<Table>) -> Result<()> {
    if !table.security.enabled {
        return Ok(());
    }
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let user = session.derived().user.clone();
    let role = catalog.names().role(&user).map_or(0, |role| role.id);
    let privileges = catalog.privileges();
    privileges.check(role, Object::Table(table), "INSERT")?;
    if !privileges.are_policies_for(role, table) {
        return Ok(());
    }
    if session.shared.setting("row_security").as_deref() == Some("off") {
        let name = &table.name;
        let message =
            format!("query would be affected by row-level security policy for table \"{name}\"");
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    let message = "COPY FROM not supported with row-level security";
    Err(Error::new(SqlState::FeatureNotSupported, message).hint("Use INSERT statements instead."))
}

/// 55000 or 25000 unless the table was made or emptied since the last savepoint, so that
/// nobody else can see its rows.
pub(super) fn check_freeze(session: &Session, target: &Target) -> Result<()> {
    if session.portals.values().any(|portal| matches!(portal.run, Run::Open(_))) {
        let message = "cannot perform COPY FREEZE because of prior transaction activity";
        return Err(Error::new(SqlState::InvalidTransactionState, message));
    }
    let draft = session.open.as_ref().and_then(|open| open.draft.get());
    let is_new = draft.is_some_and(|draft| draft.is_emptied(target.id));
    let before = session.block_state.savepoints.last().and_then(|savepoint| savepoint.draft());
    if is_new && before.is_none_or(|draft| !draft.is_emptied(target.id)) {
        return Ok(());
    }
    Err(Error::new(
        SqlState::ObjectNotInPrerequisiteState,
        "cannot perform COPY FREEZE because the table was not created or truncated in the \
         current subtransaction",
    ))
}

fn quoted(columns: &[(String, SqlType)]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| braid_sql::quote_ident(name)).collect();
    names.join(", ")
}

fn places(columns: &[(String, SqlType)]) -> String {
    let places: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
    places.join(", ")
}

/// COPY always stores the given values of an identity column, as PostgreSQL does. Rows without
/// columns have no values: the parameter is their number.
fn insert_of(name: &str, columns: &[(String, SqlType)]) -> String {
    if columns.is_empty() {
        return format!("INSERT INTO {name} SELECT FROM generate_series(1, $1::int8)");
    }
    let (names, places) = (quoted(columns), places(columns));
    format!("INSERT INTO {name} ({names}) OVERRIDING SYSTEM VALUE VALUES ({places})")
}

/// The same for rows that satisfy a condition, which also sees the defaults of columns that are
/// not listed.
fn insert_where(
    name: &str,
    table: &Table,
    columns: &[(String, SqlType)],
    condition: &Expr,
) -> Result<String> {
    let mut filled = String::new();
    let mut all = columns.to_vec();
    let used = braid_sql::column_names(condition);
    for column in table.columns.iter().filter(|column| used.contains(&column.name)) {
        if column.generated.is_some() {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            return Err(Error::new(SqlState::InvalidColumnReference, message)
                .detail(format!("Column \"{}\" is a generated column.", column.name)));
        }
        if all.iter().all(|(other, _)| *other != column.name) {
            let name = braid_sql::quote_ident(&column.name);
            filled += &format!(", CAST({} AS {}) AS {name}", default_of(column), column.ty);
            all.push((column.name.clone(), column.ty.clone()));
        }
    }
    let (names, places, all) = (quoted(columns), places(columns), quoted(&all));
    let alias = braid_sql::quote_ident(&table.name);
    Ok(format!(
        "INSERT INTO {name} ({all}) OVERRIDING SYSTEM VALUE SELECT {all} FROM \
         (SELECT \"values\".*{filled} FROM (VALUES ({places})) AS \"values\" ({names})) AS {alias} \
         WHERE {condition}"
    ))
}

fn default_of(column: &Column) -> String {
    match (&column.default, column.owned_sequence) {
        (Some(default), _) => format!("({})", default.sql()),
        (None, Some(sequence)) => format!("nextval({sequence}::regclass)"),
        (None, None) => "NULL".to_owned(),
    }
}

fn missing_column(name: &str, table: Option<&Table>) -> Error {
    let of = table.map_or(String::new(), |table| format!(" of relation \"{}\"", table.name));
    let message = format!("column \"{name}\"{of} does not exist");
    Error::new(SqlState::UndefinedColumn, message)
}

fn twice(name: &str) -> Error {
    let message = format!("column \"{name}\" specified more than once");
    Error::new(SqlState::DuplicateColumn, message)
}

/// The columns listed, or all that are not generated.
pub(super) fn table_columns(
    table: &Arc<Table>,
    listed: &[Ident],
) -> Result<Vec<(String, SqlType)>> {
    if listed.is_empty() {
        let plain = table.columns.iter().filter(|c| !c.hidden && c.generated.is_none());
        return Ok(plain.map(|column| (column.name.clone(), column.ty.clone())).collect());
    }
    let mut columns: Vec<(String, SqlType)> = Vec::with_capacity(listed.len());
    for name in listed.iter().map(braid_sql::fold) {
        let place =
            table.column_by_name(&name).ok_or_else(|| missing_column(&name, Some(table)))?;
        let column = &table.columns[place];
        if column.generated.is_some() {
            return Err(Error::new(
                SqlState::InvalidColumnReference,
                format!("column \"{name}\" is a generated column"),
            )
            .detail("Generated columns cannot be used in COPY."));
        }
        if columns.iter().any(|(other, _)| *other == name) {
            return Err(twice(&name));
        }
        columns.push((name, column.ty.clone()));
    }
    Ok(columns)
}

/// Which of the copied columns an option names. 42703 for a column that the table (or the query)
/// does not have, 42701 for one that comes twice, 42P10 for one that is not copied.
pub(super) fn marked_columns(
    option: &str,
    names: &[Ident],
    columns: &[(String, SqlType)],
    table: Option<&Table>,
) -> Result<Vec<bool>> {
    let mut marked = vec![false; columns.len()];
    let mut seen: Vec<String> = Vec::new();
    for name in names.iter().map(braid_sql::fold) {
        let exists = match table {
            Some(table) => table.column_by_name(&name).is_some(),
            None => columns.iter().any(|(column, _)| *column == name),
        };
        if !exists {
            return Err(missing_column(&name, table));
        }
        if seen.contains(&name) {
            return Err(twice(&name));
        }
        seen.push(name);
    }
    for name in seen {
        let Some(place) = columns.iter().position(|(column, _)| *column == name) else {
            let message = format!("{option} column \"{name}\" not referenced by COPY");
            return Err(Error::new(SqlState::InvalidColumnReference, message));
        };
        marked[place] = true;
    }
    Ok(marked)
}
