//! The parameters and the result of a routine, with PostgreSQL's rules for them.

use braid_catalog::{
    Column, FIRST_TEMPORARY, Id, ParameterMode, RoutineParameter, RoutineResult, StoredExpr,
};
use braid_sql::ast::{
    CreateRoutine, DataType, ParameterMode as Mode, Returns, RoutineKind,
    RoutineParameter as Written, Spanned,
};
use braid_sql::fold;
use braid_types::sql_type::{AnyType, relation_of_row_type, row_name};
use braid_types::{Error, Result, SqlState, SqlType};

use super::column_types::referenced_type;
use super::options::definition;
use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::names::types::column_type;
use crate::names::user_types::column_domain;
use crate::table::exprs::{bind_default_expr, check_written, stored_expr};

/// The type of a parameter or a result, without modifiers.
pub(super) fn plain_type(cx: &DdlContext<'_>, data_type: &DataType) -> Result<SqlType> {
    if let Some(ty) = referenced_type(cx, data_type)? {
        return Ok(ty);
    }
    if let DataType::Custom(name, modifiers) = data_type
        && modifiers.is_empty()
        && let Some(last) = parts(name).last()
    {
        match last.as_str() {
            "void" => return Ok(SqlType::Void),
            "event_trigger" => return Err(Error::unsupported("event triggers")),
            "trigger" => {
                let message = "PL/pgSQL functions cannot accept type trigger";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            "anycompatiblerange" | "anycompatiblemultirange" => {
                return Err(Error::unsupported("a function of ranges of any type"));
            }
            name => {
                if let Some(any) = AnyType::from_name(name) {
                    return Ok(SqlType::Any(any));
                }
            }
        }
    }
    let ty = column_type(cx, data_type)?.bare();
    let relation = row_name(&ty).and_then(|row| relation_of_row_type(row.oid));
    if relation.is_some_and(|(relation, _)| relation >= FIRST_TEMPORARY) {
        return Err(Error::unsupported("a function of rows of a temporary table"));
    }
    Ok(ty)
}

fn mode_of(mode: Mode) -> ParameterMode {
    match mode {
        Mode::In => ParameterMode::In,
        Mode::Out => ParameterMode::Out,
        Mode::InOut => ParameterMode::InOut,
        Mode::Variadic => ParameterMode::Variadic,
    }
}

/// The parameters, the columns of RETURNS TABLE included.
pub(super) fn parameters(
    cx: &DdlContext<'_>,
    create: &CreateRoutine,
) -> Result<Vec<RoutineParameter>> {
    let mut list = written_parameters(cx, &create.parameters)?;
    if let Some(Returns::Table(columns)) = &create.returns {
        if list.iter().any(|parameter| parameter.mode.is_output()) {
            let message = "OUT and INOUT arguments aren't allowed in TABLE functions";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        for (name, data_type) in columns {
            let (name, ty) = (Some(fold(name)), plain_type(cx, data_type)?);
            let domain = column_domain(cx, data_type)?.map(|domain| domain.id);
            let mode = ParameterMode::Table;
            add(&mut list, RoutineParameter { name, ty, domain, default: None, mode })?;
        }
    }
    Ok(list)
}

/// The parameters between the parentheses.
pub(super) fn written_parameters(
    cx: &DdlContext<'_>,
    all: &[Written],
) -> Result<Vec<RoutineParameter>> {
    /// As in PostgreSQL.
    const PARAMETERS_MAX: usize = 100;
    let inputs = all.iter().filter(|parameter| parameter.mode != Mode::Out);
    if inputs.count() > PARAMETERS_MAX {
        let message = format!("functions cannot have more than {PARAMETERS_MAX} arguments");
        return Err(Error::new(SqlState::TooManyArguments, message));
    }
    let mut list: Vec<RoutineParameter> = Vec::with_capacity(all.len());
    for written in all {
        let parameter = parameter(cx, &list, written)?;
        add(&mut list, parameter)?;
    }
    Ok(list)
}

/// 42P13 for a name that two parameters of one direction have.
fn add(list: &mut Vec<RoutineParameter>, new: RoutineParameter) -> Result<()> {
    let conflicts = |known: &&RoutineParameter| {
        let both = |is: fn(ParameterMode) -> bool| is(known.mode) && is(new.mode);
        known.name == new.name && (both(ParameterMode::is_input) || both(ParameterMode::is_output))
    };
    if let Some(name) = &new.name
        && list.iter().find(conflicts).is_some()
    {
        return Err(definition(format!("parameter name \"{name}\" used more than once")));
    }
    list.push(new);
    Ok(())
}

fn parameter(
    cx: &DdlContext<'_>,
    before: &[RoutineParameter],
    written: &Written,
) -> Result<RoutineParameter> {
    let (name, mode) = (written.name.as_ref().map(fold), mode_of(written.mode));
    let ty = plain_type(cx, &written.data_type)?;
    if ty == SqlType::Void {
        return Err(definition("SQL function cannot accept shell type void"));
    }
    if mode.is_input() && before.iter().any(|known| known.mode == ParameterMode::Variadic) {
        return Err(definition("VARIADIC parameter must be the last input parameter"));
    }
    let is_array =
        ty.is_array() || matches!(ty, SqlType::Any(AnyType::Array | AnyType::CompatibleArray));
    if mode == ParameterMode::Variadic && !is_array {
        return Err(definition("VARIADIC parameter must be an array"));
    }
    let has_default = |known: &RoutineParameter| known.mode.is_input() && known.default.is_some();
    let default = match &written.default {
        None if mode.is_input() && before.iter().any(has_default) => {
            let message = "input parameters after one with a default value must also have defaults";
            return Err(definition(message));
        }
        None => None,
        Some(_) if !mode.is_input() => {
            return Err(definition("only input parameters can have default values"));
        }
        // A call without the argument gets the parameter's type from its default.
        Some((expr, _)) if matches!(ty, SqlType::Any(_)) => {
            Some(stored_expr(cx, &expr.to_string(), None, None)?)
        }
        Some((expr, _)) => {
            let column = Column::plain(1, "parameter", ty.clone());
            check_written(cx, None, expr, ("DEFAULT expressions", None))?;
            let stored = bind_default_expr(cx, expr, &column);
            let start = braid_sql::offset_of(Spanned::span(expr));
            let stored = stored.map_err(|error| error.position(start))?;
            let null = || StoredExpr::Written(format!("NULL::{}", ty.plain_name()));
            Some(stored.unwrap_or_else(null))
        }
    };
    let domain = column_domain(cx, &written.data_type)?.map(|domain| domain.id);
    Ok(RoutineParameter { name, ty, domain, default, mode })
}

/// The domain of what a call gives, or of each of its rows. 42P13 if the only OUT parameter has
/// another one.
pub(super) fn result_domain(
    cx: &DdlContext<'_>,
    create: &CreateRoutine,
    parameters: &[RoutineParameter],
) -> Result<Option<Id>> {
    let written = match &create.returns {
        Some(Returns::Value(ty)) if is_trigger(ty) => return Ok(None),
        Some(Returns::Value(ty) | Returns::Set(ty)) => {
            Some(column_domain(cx, ty)?.map(|domain| domain.id))
        }
        Some(Returns::Table(_)) | None => None,
    };
    let outputs = parameters.iter().filter(|parameter| parameter.mode.is_output());
    match outputs.collect::<Vec<_>>().as_slice() {
        [only] if create.kind != RoutineKind::Procedure => match written {
            Some(written) if written != only.domain => {
                let catalog = cx.catalog();
                let shown = catalog.names().routines().value_text(None, &only.ty, only.domain);
                let message =
                    format!("function result type must be {shown} because of OUT parameters");
                Err(definition(message))
            }
            _ => Ok(only.domain),
        },
        _ => Ok(written.flatten()),
    }
}

/// Whether a result is that of a trigger's function.
fn is_trigger(data_type: &DataType) -> bool {
    let DataType::Custom(name, modifiers) = data_type else { return false };
    let written = parts(name);
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    modifiers.is_empty() && matches!(written[..], ["trigger"] | ["pg_catalog", "trigger"])
}

/// What a call gives, and whether it is a set.
pub(super) fn result_of(
    cx: &DdlContext<'_>,
    create: &CreateRoutine,
    parameters: &[RoutineParameter],
) -> Result<(RoutineResult, bool)> {
    let of_outputs = output_type(parameters);
    if create.kind == RoutineKind::Procedure {
        if of_outputs.is_none() {
            return Ok((RoutineResult::Nothing, false));
        }
        // The row of CALL has a column even for a single one.
        let outputs = parameters.iter().filter(|parameter| parameter.mode.is_output());
        let fields = outputs.enumerate();
        let row = fields.map(|(place, p)| (field_name(p, place + 1), p.ty.clone())).collect();
        return Ok((RoutineResult::Value(SqlType::Record(row)), false));
    }
    let (written, is_set) = match &create.returns {
        Some(Returns::Value(ty)) if is_trigger(ty) => return Ok((RoutineResult::Trigger, false)),
        None => (None, false),
        Some(Returns::Value(ty)) => (Some(plain_type(cx, ty)?), false),
        Some(Returns::Set(ty)) => (Some(plain_type(cx, ty)?), true),
        Some(Returns::Table(_)) => (None, true),
    };
    let ty = match (written, of_outputs) {
        (None, None) => return Err(definition("function result type must be specified")),
        (Some(written), Some(ty)) if !written.same_base(&ty) => {
            let message = format!(
                "function result type must be {} because of OUT parameters",
                ty.plain_name()
            );
            return Err(definition(message));
        }
        (_, Some(ty)) | (Some(ty), None) => ty,
    };
    check_polymorphic(&ty, parameters, "result")?;
    if ty == SqlType::Void && is_set {
        // As PostgreSQL has it: rows without a value.
        return Ok((RoutineResult::Value(ty), true));
    }
    Ok((RoutineResult::Value(ty), is_set))
}

/// The type that the parameters of the result make; `None` without any.
fn output_type(parameters: &[RoutineParameter]) -> Option<SqlType> {
    let outputs: Vec<_> = parameters.iter().filter(|known| known.mode.is_output()).collect();
    match outputs.as_slice() {
        [] => None,
        [only] => Some(only.ty.clone()),
        several => {
            let fields = several.iter().enumerate();
            let row = fields.map(|(place, p)| (field_name(p, place + 1), p.ty.clone())).collect();
            Some(SqlType::Record(row))
        }
    }
}

fn field_name(parameter: &RoutineParameter, number: usize) -> String {
    parameter.name.clone().unwrap_or_else(|| format!("column{number}"))
}

fn is_range(any: AnyType) -> bool {
    matches!(any, AnyType::Range | AnyType::Multirange)
}

/// 42P13 for a polymorphic result that no argument decides.
pub(super) fn check_polymorphic(
    ty: &SqlType,
    parameters: &[RoutineParameter],
    what: &str,
) -> Result<()> {
    let results: Vec<AnyType> = match ty {
        SqlType::Any(any) => vec![*any],
        SqlType::Record(row) => row
            .iter()
            .filter_map(|(_, ty)| match ty {
                SqlType::Any(any) => Some(*any),
                _ => None,
            })
            .collect(),
        _ => return Ok(()),
    };
    for result in results {
        let decides = |known: &&RoutineParameter| match &known.ty {
            SqlType::Any(any) => {
                known.mode.is_input()
                    && any.is_compatible() == result.is_compatible()
                    && (!is_range(result) || is_range(*any))
            }
            _ => false,
        };
        if parameters.iter().find(decides).is_some() {
            continue;
        }
        let family = match result.is_compatible() {
            _ if is_range(result) => "anyrange or anymultirange",
            true => {
                "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or \
                 anycompatiblemultirange"
            }
            false => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        };
        let shown = SqlType::Any(result);
        let detail = format!(
            "A result of type {} requires at least one input of type {family}.",
            shown.plain_name()
        );
        return Err(definition(format!("cannot determine {what} data type")).detail(detail));
    }
    Ok(())
}
