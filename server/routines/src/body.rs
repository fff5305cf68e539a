//! A body in PL/pgSQL, ready to run: its tree, the types of its variables, its statements.

use std::sync::{Arc, OnceLock};

use braid_catalog::{Catalog, Id, ParameterMode, Routine, SearchPath};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::plpgsql::{Body, BoundCursor, ResultKind, Slot, SlotKind, Sql, TypeText, parse};
use crate::query::BodyStatement;
use crate::values::{ResultDomains, named_domain, named_type};

/// A body that is ready to run.
pub(crate) struct Code {
    pub(crate) body: Body,
    /// The type of each slot; `None` for a record of any columns.
    pub(crate) types: Vec<Option<SqlType>>,
    /// The domain that the values of each slot belong to.
    pub(crate) domains: Vec<Option<Id>>,
    /// The slots of the parameters that a call gives values to.
    pub(crate) inputs: Vec<Slot>,
    /// The slots of the parameters that are part of the result.
    pub(crate) outputs: Vec<Slot>,
    /// How many parameters it has.
    pub(crate) parameters: usize,
    /// What error contexts call it.
    pub(crate) name: String,
    /// The type of its result, or of each row of a set; `None` without one.
    pub(crate) returns: Option<SqlType>,
    /// The domains of rows that it gives.
    pub(crate) results: ResultDomains,
    /// What RETURN gives.
    pub(crate) kind: ResultKind,
    /// Whether a statement is about the row of a cursor.
    pub(crate) names_cursors: bool,
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
        let kind = ResultKind::of(routine);
        let body = parse(&routine.body, Some(&routine.name), &names, kind)
            .map_err(Error::without_position)?;
        let refresh = |ty: &SqlType| {
            let mut ty = ty.clone();
            catalog.enums().refresh(&mut ty);
            ty
        };
        let parameters: Vec<SqlType> = routine.parameters.iter().map(|p| refresh(&p.ty)).collect();
        let returns = refresh(routine.result_type());
        let routines = catalog.names().routines();
        // Error contexts show the types that the definition has.
        let defined = routines.get(routine.id).map_or(routine, |defined| defined);
        let name = format!("function {}", routines.signature(Some(path), defined, ","));
        let returns = (!kind.is_nothing).then_some(returns);
        let mut code = Self::new(body, &parameters, (name, returns, kind), catalog, path)?;
        let places = |test: fn(ParameterMode) -> bool| -> Vec<Slot> {
            let all = routine.parameters.iter().enumerate();
            all.filter(|(_, parameter)| test(parameter.mode)).map(|(place, _)| place).collect()
        };
        code.inputs = match routine.is_procedure {
            true => (0..parameters.len()).collect(),
            false => places(ParameterMode::is_input),
        };
        for (domain, parameter) in code.domains.iter_mut().zip(&routine.parameters) {
            *domain = parameter.domain;
        }
        code.outputs = places(ParameterMode::is_output);
        code.names_cursors = names_cursors(&routine.body);
        code.results = ResultDomains::of(routine);
        Ok(code)
    }

    /// The code of DO.
    pub(crate) fn of_block(text: &str, catalog: &Arc<Catalog>, path: &SearchPath) -> Result<Self> {
        let body = parse(text, None, &[], ResultKind::BLOCK)?;
        let name = "function inline_code_block".to_owned();
        let mut code = Self::new(body, &[], (name, None, ResultKind::BLOCK), catalog, path)?;
        code.names_cursors = names_cursors(text);
        Ok(code)
    }

    /// A body with the types of its parameters, its name and the type of its result.
    pub(crate) fn new(
        body: Body,
        parameters: &[SqlType],
        (name, returns, kind): (String, Option<SqlType>, ResultKind),
        catalog: &Arc<Catalog>,
        path: &SearchPath,
    ) -> Result<Self> {
        let mut types: Vec<Option<SqlType>> = Vec::with_capacity(body.slots.len());
        let mut domains: Vec<Option<Id>> = Vec::with_capacity(body.slots.len());
        for kind in &body.slots {
            let ty = match kind {
                SlotKind::Parameter(number) => parameters.get(*number).cloned(),
                SlotKind::Fixed(ty) => Some(ty.clone()),
                SlotKind::Record => None,
                SlotKind::Typed(TypeText::OfVariable(slot)) => types[*slot].clone(),
                SlotKind::Typed(written) => Some(declared_type(written, catalog, path)?),
            };
            domains.push(match kind {
                SlotKind::Typed(TypeText::OfVariable(slot)) => domains[*slot],
                SlotKind::Typed(written) => declared_domain(written, catalog, path)?,
                _ => None,
            });
            // A parameter of type record takes rows of any columns.
            types.push(ty.filter(|ty| !is_any_row(ty)));
        }
        let statements = (0..body.pieces).map(|_| OnceLock::new()).collect();
        let (inputs, outputs, names_cursors) = (Vec::new(), Vec::new(), false);
        let is_trigger = false;
        let parameters = parameters.len();
        Ok(Self {
            body,
            types,
            domains,
            inputs,
            outputs,
            parameters,
            name,
            returns,
            results: ResultDomains::default(),
            kind,
            names_cursors,
            is_trigger,
            statements,
        })
    }

    /// The bound cursor of a slot.
    pub(crate) fn cursor(&self, slot: Slot) -> Option<&BoundCursor> {
        let found = self.body.cursors.iter().find(|(known, _)| *known == slot);
        found.map(|(_, cursor)| cursor)
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

/// Whether a body may have `WHERE CURRENT OF`: then its cursors have keys.
fn names_cursors(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    words.windows(2).any(|pair| pair == ["current", "of"])
}

/// The domain of a declaration.
fn declared_domain(
    written: &TypeText,
    catalog: &Arc<Catalog>,
    path: &SearchPath,
) -> Result<Option<Id>> {
    match written {
        TypeText::Named(text) => named_domain(catalog, path, text),
        TypeText::OfColumn(text) => {
            let mut parts = parts(text);
            let column = parts.pop().unwrap_or_default();
            let SqlType::Record(row) = row_of(&parts, catalog, path)? else { return Ok(None) };
            let place = row.iter().position(|(name, _)| *name == column);
            let attribute = place.and_then(|place| row.attributes().get(place));
            Ok(attribute.and_then(|attribute| attribute.domain))
        }
        TypeText::RowOf(_) | TypeText::OfVariable(_) => Ok(None),
    }
}

/// The type of a declaration.
fn declared_type(written: &TypeText, catalog: &Arc<Catalog>, path: &SearchPath) -> Result<SqlType> {
    match written {
        TypeText::Named(text) => named_type(catalog, path, text).or_else(|error| {
            // A table's name alone is the type of its rows.
            row_of(&parts(text), catalog, path).map_err(|_| error)
        }),
        TypeText::RowOf(text) => row_of(&parts(text), catalog, path),
        TypeText::OfColumn(text) => {
            let mut parts = parts(text);
            let column = parts.pop().unwrap_or_default();
            if parts.is_empty() {
                let message = format!("variable \"{column}\" does not exist");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            let SqlType::Record(fields) = row_of(&parts, catalog, path)? else {
                return Err(Error::internal("the row type of a relation is no row"));
            };
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

fn row_of(parts: &[String], catalog: &Arc<Catalog>, path: &SearchPath) -> Result<SqlType> {
    match catalog.names().row_types().resolve(path, parts)? {
        Some(row) => Ok(row),
        None => {
            let message = format!("relation \"{}\" does not exist", parts.join("."));
            Err(Error::new(SqlState::UndefinedTable, message))
        }
    }
}

/// Whether it is `record`: a row of any columns.
pub(crate) fn is_any_row(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Record(row) if row.is_empty() && row.name().is_none())
}
