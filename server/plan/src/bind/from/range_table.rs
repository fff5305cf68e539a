//! The tables that a name before a dot can mean, and what to say where it means none.

use braid_catalog::undefined_relation;
use braid_sql::ast::{Expr as Ast, Ident, ObjectName};
use braid_types::{Error, Result, SqlState, SqlType};

use super::items::name_parts;
use crate::bind::Binder;
use crate::bind::expr::scalar::{bind_expr, read_column};
use crate::bind::from::privileges::check_guarded;
use crate::bind::from::system_columns::{refuse_own_row, stored_system_column};
use crate::bind::note_taking::note_row_star;
use crate::bind::refusals::UnknownColumn;
use crate::bind::scope::columns::{RangeEntry, Scope, ScopeColumn, ScopeTable, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::notes::Reference;
use crate::bind::scope::places::first_part;
use crate::bind::scope::rows::whole_row;
use crate::bind::scope::variables::variable;
use crate::tree::expr::{Expr, Slot};

/// How many letters a suggested name may differ in.
const DISTANCE_MAX: usize = 3;

/// The columns that come nearest to a name: PostgreSQL suggests one or two.
#[derive(Default)]
struct Nearest<'r> {
    distance: usize,
    found: Vec<(&'r str, &'r str)>,
}

impl<'r> Nearest<'r> {
    fn look_at(&mut self, table: &'r str, column: &'r str, wanted: &str, penalty: usize) {
        let own = distance(column, wanted);
        // A name with more than half of its letters changed would be a ridiculous guess.
        if penalty > self.distance || own > wanted.len() / 2 {
            return;
        }
        let total = own + penalty;
        if total < self.distance {
            *self = Nearest { distance: total, found: vec![(table, column)] };
        } else if total == self.distance && total <= DISTANCE_MAX {
            match self.found.len() {
                2 => {
                    *self = Nearest { distance: total.saturating_sub(1), found: Vec::new() };
                }
                _ => self.found.push((table, column)),
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self.found[..] {
            [(table, column)] => {
                Some(format!("Perhaps you meant to reference the column \"{table}.{column}\"."))
            }
            [(table, column), (other, second)] => Some(format!(
                "Perhaps you meant to reference the column \"{table}.{column}\" or the column \
                 \"{other}.{second}\"."
            )),
            _ => None,
        }
    }
}

/// How many letters have to be put in, taken out or changed to make one name of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in b.iter().enumerate() {
            let changed = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// 42703 for a column that does not exist or cannot be named, with a guess at what was meant.
pub(crate) fn missing_column(binder: &Binder<'_>, table: Option<&str>, name: &str) -> Error {
    let message = match table {
        Some(table) => format!("column {table}.{name} does not exist"),
        None => format!("column \"{name}\" does not exist"),
    };
    let error = Error::new(SqlState::UndefinedColumn, message).caused_by(UnknownColumn);
    let mut nearest = Nearest { distance: DISTANCE_MAX + 1, ..Nearest::default() };
    for entry in binder.range.iter().rev().flatten() {
        let shown = &entry.table.name;
        let penalty = table.map_or(0, |table| distance(table, shown).min(DISTANCE_MAX + 2));
        if penalty == 0 && entry.columns.iter().any(|column| column == name) {
            return error.hint(format!(
                "There is a column named \"{name}\" in table \"{shown}\", but it cannot be \
                 referenced from this part of the query."
            ));
        }
        for column in &entry.columns {
            nearest.look_at(shown, column, name, penalty);
        }
    }
    match nearest.hint() {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Binds a query or a change at a level of its own.
pub(crate) fn in_range<T>(
    binder: &mut Binder<'_>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    binder.range.push(Vec::new());
    let result = bind(binder);
    binder.range.pop();
    result
}

/// Notes the tables of a scope for hints of this query level.
pub(crate) fn enter_range(binder: &mut Binder<'_>, scope: &Scope) {
    if binder.range.is_empty() {
        binder.range.push(Vec::new());
    }
    if let Some(level) = binder.range.last_mut() {
        level.extend(scope.tables.iter().map(|table| {
            let own = scope.columns.iter().filter(|c| c.table == table.name && !c.hidden);
            let columns = own.map(|column| column.name.clone()).collect();
            RangeEntry { table: table.clone(), columns }
        }));
    }
}

/// Schema and table of a qualifier such as `schema.table`. 0A000 if it names another database,
/// 42601 if it has too many parts. `column` is what stands after it in messages.
pub(crate) fn table_name<'n>(
    binder: &Binder<'_>,
    qualifier: &'n [String],
    column: Option<&str>,
) -> Result<(Option<&'n str>, &'n str)> {
    let shown = || {
        let parts = qualifier.iter().map(String::as_str);
        parts.chain([column.unwrap_or("*")]).collect::<Vec<_>>().join(".")
    };
    match qualifier {
        [table] => Ok((None, table)),
        [schema, table] => Ok((Some(schema), table)),
        [database, schema, table] => {
            if binder.context().path.database_name == *database {
                return Ok((Some(schema), table));
            }
            Err(Error::new(
                SqlState::FeatureNotSupported,
                format!("cross-database references are not implemented: {}", shown()),
            ))
        }
        _ => Err(Error::new(
            SqlState::SyntaxError,
            format!("improper qualified name (too many dotted names): {}", shown()),
        )),
    }
}

/// The variable that `name.*` means, if no table has the name.
pub(crate) fn variable_row(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    scopes: &Scopes<'_>,
) -> Result<Option<Expr>> {
    if binder.context().variables.is_none() {
        return Ok(None);
    }
    let parts = name_parts(name);
    if let Ok((schema, table)) = table_name(binder, &parts, None)
        && scope_of_table(binder, scopes, schema, table).is_ok()
    {
        return Ok(None);
    }
    variable(binder, &parts).transpose()
}

/// The row of `(column).*`; `None` if the name means an item of FROM, or no column that is a row.
pub(crate) fn column_row(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    cx: &mut ExprCx<'_, '_>,
) -> Option<Expr> {
    let [part] = name.0.as_slice() else { return None };
    let ident = part.as_ident()?;
    let parts = name_parts(name);
    let (schema, table) = table_name(binder, &parts, None).ok()?;
    if scope_of_table(binder, &cx.scopes, schema, table).is_ok() {
        return None;
    }
    // About a copy of the syntax nothing can be noted.
    let notes = binder.notes.take();
    let found = bind_expr(binder, &Ast::Identifier(ident.clone()), cx).ok();
    binder.notes = notes;
    found.filter(|row| matches!(row.ty(), SqlType::Record(_)))
}

/// Rows of VALUES in which `name.*` of a variable is written out as its fields; `None` if there is
/// no such item.
pub(crate) fn expand_rows(
    binder: &mut Binder<'_>,
    rows: &[&[Ast]],
    scopes: &Scopes<'_>,
) -> Result<Option<Vec<Vec<Ast>>>> {
    let is_star = |e: &Ast| matches!(e, Ast::QualifiedWildcard(..));
    if binder.context().variables.is_none() || !rows.iter().any(|row| row.iter().any(is_star)) {
        return Ok(None);
    }
    let mut expanded = Vec::with_capacity(rows.len());
    for row in rows {
        let mut items = Vec::with_capacity(row.len());
        for item in *row {
            let Ast::QualifiedWildcard(name, _) = item else {
                items.push(item.clone());
                continue;
            };
            let Some(record) = variable_row(binder, name, scopes)? else {
                items.push(item.clone());
                continue;
            };
            let parts: Vec<Ident> =
                name.0.iter().filter_map(|part| part.as_ident()).cloned().collect();
            for (field, _) in fields_of(&record)? {
                let field = Ident::with_quote('"', field);
                items.push(Ast::CompoundIdentifier([parts.as_slice(), &[field]].concat()));
            }
        }
        expanded.push(items);
    }
    Ok(Some(expanded))
}

/// The fields of a row.
pub(crate) fn fields_of(record: &Expr) -> Result<Vec<(String, Expr)>> {
    let SqlType::Record(fields) = record.ty() else {
        let message = "row expansion via \"*\" is not supported here";
        return Err(Error::new(SqlState::WrongObjectType, message));
    };
    let field = |(i, (name, ty)): (usize, (String, SqlType))| {
        (name, Expr::Field(Box::new(record.clone()), i, ty))
    };
    Ok(fields.into_iter().enumerate().map(field).collect())
}

/// `t.*` as one value: the whole row.
pub(crate) fn table_row(
    binder: &mut Binder<'_>,
    (ast, name): (&Ast, &ObjectName),
    cx: &ExprCx<'_, '_>,
) -> Result<Expr> {
    if let Some(record) = variable_row(binder, name, &cx.scopes)? {
        return Ok(record);
    }
    let parts = name_parts(name);
    let (schema, table) = table_name(binder, &parts, None)?;
    let scope = scope_of_table(binder, &cx.scopes, schema, table)?;
    if let Some(column) = scope.columns_of(schema, table).next() {
        binder.note_name(ast, Reference::Row(column.item.0));
    }
    refuse_own_row(cx.clause)?;
    whole_row(binder, scope, (schema, table))
}

/// `t.*` as the columns of the table.
pub(crate) fn columns_of(
    binder: &mut Binder<'_>,
    (ast, name): (&Ast, &ObjectName),
    cx: &ExprCx<'_, '_>,
) -> Result<Vec<Expr>> {
    if let Some(record) = variable_row(binder, name, &cx.scopes)? {
        return Ok(fields_of(&record)?.into_iter().map(|(_, field)| field).collect());
    }
    let columns = named_columns(binder, name, &cx.scopes)?;
    note_row_star(binder, ast, &columns);
    columns.into_iter().map(|column| read_column(binder, column)).collect()
}

/// The columns of `t.*`, which the user may read.
pub(crate) fn named_columns<'s>(
    binder: &Binder<'_>,
    name: &ObjectName,
    scopes: &Scopes<'s>,
) -> Result<Vec<&'s ScopeColumn>> {
    let parts = name_parts(name);
    let place = first_part(name);
    let at = |error: Error| error.position(place);
    let (schema, table) = table_name(binder, &parts, None).map_err(at)?;
    let scope = scope_of_table(binder, scopes, schema, table).map_err(at)?;
    let columns: Vec<&ScopeColumn> = scope.columns_of(schema, table).collect();
    columns.iter().try_for_each(|column| check_guarded(binder, column.slot))?;
    Ok(columns)
}

/// The scope, this one or one around it, that has a table of this name; 42P01 if none has.
fn scope_of_table<'s>(
    binder: &Binder<'_>,
    scopes: &Scopes<'s>,
    schema: Option<&str>,
    table: &str,
) -> Result<&'s Scope> {
    let mut level = Some(scopes);
    while let Some(scopes) = level {
        if scopes.scope.has_table(schema, table)? {
            return Ok(scopes.scope);
        }
        level = scopes.parent;
    }
    Err(missing_table(binder, schema, table, scopes))
}

/// 42P01 for a table that cannot be named at this place, with the reason where one is likely.
pub(crate) fn missing_table(
    binder: &Binder<'_>,
    schema: Option<&str>,
    table: &str,
    scopes: &Scopes<'_>,
) -> Error {
    let Some(entry) = similar_entry(binder, schema, table) else {
        let message = format!("missing FROM-clause entry for table \"{table}\"");
        return Error::new(SqlState::UndefinedTable, message);
    };
    let name = &entry.name;
    let hint = if entry.aliased && name != table && is_visible(scopes, name) {
        format!("Perhaps you meant to reference the table alias \"{name}\".")
    } else {
        format!(
            "There is an entry for table \"{name}\", but it cannot be referenced from this \
             part of the query."
        )
    };
    let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
    Error::new(SqlState::UndefinedTable, message).hint(hint)
}

/// The FROM item, visible or not, that has this name or is this relation.
fn similar_entry<'b>(
    binder: &'b Binder<'_>,
    schema: Option<&str>,
    table: &str,
) -> Option<&'b ScopeTable> {
    let mut parts: Vec<String> = schema.map(str::to_owned).into_iter().collect();
    parts.push(table.to_owned());
    let cx = binder.context();
    let relation = cx.catalog.names().resolve(cx.path, &parts).ok().flatten();
    let relation = relation.map(|relation| {
        let schema = relation.schema_name(cx.catalog);
        (schema, relation.name().to_owned())
    });
    let fits = |entry: &&ScopeTable| {
        entry.name == table || (relation.is_some() && entry.relation == relation)
    };
    let tables = binder.range.iter().rev().map(|level| level.iter().map(|entry| &entry.table));
    tables.flatten().find(fits)
}

/// Whether a table of this name can be named here.
fn is_visible(scopes: &Scopes<'_>, name: &str) -> bool {
    let mut level = Some(scopes);
    while let Some(scopes) = level {
        if scopes.scope.tables.iter().any(|table| table.name == name) {
            return true;
        }
        level = scopes.parent;
    }
    false
}

/// A column by the numbers that a stored query has.
pub(crate) fn read_stored_column(
    binder: &mut Binder<'_>,
    parts: &[Ident],
    cx: &ExprCx<'_, '_>,
) -> Result<Expr> {
    let number = |part: Option<&Ident>| part.and_then(|part| part.value.parse::<u16>().ok());
    let item = parts.first().and_then(|part| part.value.parse::<u32>().ok());
    if let (Some(item), Some(column)) = (item, number(parts.get(1))) {
        let mut scopes = Some(&cx.scopes);
        while let Some(level) = scopes {
            if let Some(column) = level.scope.find_item((item, column)) {
                return read_column(binder, column);
            }
            if let Some(expr) = stored_system_column(binder, (item, column), level.scope)? {
                return Ok(expr);
            }
            scopes = level.parent;
        }
    }
    Err(Error::internal("a view reads a column that is not there"))
}

/// 42P01, with advice if a WITH entry of that name cannot be named here.
pub(super) fn missing_relation(binder: &Binder<'_>, parts: &[String]) -> Error {
    let error = undefined_relation(parts);
    match parts {
        [name] if binder.later_ctes.contains(name) => error
            .detail(format!(
                "There is a WITH item named \"{name}\", but it cannot be referenced from this part \
                 of the query."
            ))
            .hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references."),
        _ => error,
    }
}

/// 42P10 for a column of the left side of a RIGHT or FULL join that the right side reads: its slot
/// and place, if they are known.
pub(super) fn invalid_lateral(left: &Scope, read: Option<(Slot, u32)>) -> Error {
    let column = read.and_then(|(slot, _)| left.columns.iter().find(|c| c.slot == slot));
    let of = column.map_or(String::new(), |column| format!(" for table \"{}\"", column.table));
    let message = format!("invalid reference to FROM-clause entry{of}");
    Error::new(SqlState::InvalidColumnReference, message)
        .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
        .position(read.map_or(0, |(_, place)| place))
}
