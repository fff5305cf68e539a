//! A body in PL/pgSQL, ready to run: its tree, the types of its variables, its statements.

use std::sync::{Arc, OnceLock};

use braid_catalog::{Catalog, Relation, Routine, SearchPath};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::plpgsql::{Body, ResultKind, SlotKind, Sql, TypeText, parse};
use crate::query::BodyStatement;
use crate::values::named_type;

/// A body that is ready to run.
pub(crate) struct Code {
    pub(crate) body: Body,
    /// The type of each slot; `None` for a record of any columns.
    pub(crate) types: Vec<Option<SqlType>>,
    /// How many parameters it has.
    pub(crate) parameters: usize,
    /// What error contexts call it.
    pub(crate) name: String,
    /// The type of its result, `None` without one.
    pub(crate) returns: Option<SqlType>,
    /// It is the function of a trigger.
    pub(crate) is_trigger: bool,
    statements: Vec<OnceLock<Arc<BodyStatement>>>,
}

impl Code {
    /// The body of a routine.
    pub(crate) fn of_routine(
        routine: &Routine,
        catalog: &Arc<Catalog>,
        path: &SearchPath,
    ) -> Result<Self> {
        let names: Vec<_> = routine.parameters.iter().map(|p| p.name.clone()).collect();
        let result = match (routine.is_procedure, routine.result_type()) {
            (true, _) => ResultKind::Nothing,
            (false, SqlType::Void) => ResultKind::Void,
            (false, _) => ResultKind::Value,
        };
        let body = parse(&routine.body, Some(&routine.name), &names, result)?;
        let parameters: Vec<SqlType> = routine
            .types()
            .map(|ty| {
                let mut ty = ty.clone();
                catalog.enums().refresh(&mut ty);
                ty
            })
            .collect();
        let mut returns = routine.result_type().clone();
        catalog.enums().refresh(&mut returns);
        let name =
            format!("function {}", catalog.names().routines().signature(Some(path), routine, ","));
        let returns = (result == ResultKind::Value).then_some(returns);
        Self::new(body, &parameters, (name, returns), catalog, path)
    }

    /// The code of DO.
    pub(crate) fn of_block(text: &str, catalog: &Arc<Catalog>, path: &SearchPath) -> Result<Self> {
        let body = parse(text, None, &[], ResultKind::Nothing)?;
        Self::new(body, &[], ("function inline_code_block".to_owned(), None), catalog, path)
    }

    /// A body with the types of its parameters, its name and the type of its result.
    pub(crate) fn new(
        body: Body,
        parameters: &[SqlType],
        (name, returns): (String, Option<SqlType>),
        catalog: &Arc<Catalog>,
        path: &SearchPath,
    ) -> Result<Self> {
        let mut types: Vec<Option<SqlType>> = Vec::with_capacity(body.slots.len());
        for kind in &body.slots {
            let ty = match kind {
                SlotKind::Parameter(number) => parameters.get(*number).cloned(),
                SlotKind::Fixed(ty) => Some(ty.clone()),
                SlotKind::Record => None,
                SlotKind::Typed(TypeText::OfVariable(slot)) => types[*slot].clone(),
                SlotKind::Typed(written) => Some(declared_type(written, catalog, path)?),
            };
            types.push(ty);
        }
        let statements = (0..body.pieces).map(|_| OnceLock::new()).collect();
        let (parameters, is_trigger) = (parameters.len(), false);
        Ok(Self { body, types, parameters, name, returns, is_trigger, statements })
    }

    /// The statement of a piece of SQL.
    pub(crate) fn statement(&self, sql: &Sql) -> Result<Arc<BodyStatement>> {
        let Some(kept) = self.statements.get(sql.number) else {
            return Err(Error::internal("a statement of a routine has no place"));
        };
        if let Some(found) = kept.get() {
            return Ok(found.clone());
        }
        let parsed = BodyStatement::parse(&sql.text).map_err(Error::without_position)?;
        Ok(kept.get_or_init(|| Arc::new(parsed)).clone())
    }
}

/// The type of a declaration.
fn declared_type(written: &TypeText, catalog: &Arc<Catalog>, path: &SearchPath) -> Result<SqlType> {
    match written {
        TypeText::Named(text) => named_type(catalog, path, text).or_else(|error| {
            // A table's name alone is the type of its rows.
            row_of(text, catalog, path).map_err(|_| error)
        }),
        TypeText::RowOf(text) => row_of(text, catalog, path),
        TypeText::OfColumn(text) => {
            let mut parts = parts(text);
            let column = parts.pop().unwrap_or_default();
            if parts.is_empty() {
                let message = format!("variable \"{column}\" does not exist");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            let fields = columns(&parts, catalog, path)?;
            fields.into_iter().find(|(name, _)| *name == column).map(|(_, ty)| ty).ok_or_else(
                || {
                    let relation = parts.join(".");
                    let message =
                        format!("column \"{column}\" of relation \"{relation}\" does not exist");
                    Error::new(SqlState::UndefinedColumn, message)
                },
            )
        }
        // Resolved by the caller, which knows the slots.
        TypeText::OfVariable(_) => Err(Error::internal("the type of a variable has no slot")),
    }
}

fn parts(text: &str) -> Vec<String> {
    let part = |part: &str| match part.trim().strip_prefix('"').and_then(|p| p.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => part.trim().to_lowercase(),
    };
    text.split('.').map(part).collect()
}

fn row_of(text: &str, catalog: &Arc<Catalog>, path: &SearchPath) -> Result<SqlType> {
    Ok(SqlType::Record(columns(&parts(text), catalog, path)?))
}

/// The columns of a relation.
fn columns(
    name: &[String],
    catalog: &Arc<Catalog>,
    path: &SearchPath,
) -> Result<Vec<(String, SqlType)>> {
    match catalog.names().resolve(path, name)? {
        Some(Relation::Table(table)) => {
            Ok(table.visible_columns().map(|c| (c.name.clone(), c.ty.clone())).collect())
        }
        Some(Relation::View(view)) => Ok(view.columns.clone()),
        Some(Relation::Virtual(table)) => {
            Ok(table.columns.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect())
        }
        _ => {
            let message = format!("relation \"{}\" does not exist", name.join("."));
            Err(Error::new(SqlState::UndefinedTable, message))
        }
    }
}
