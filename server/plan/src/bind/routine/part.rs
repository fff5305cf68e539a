//! Functions that may be parts of an aggregate, as CREATE AGGREGATE names them.

use braid_builtins::Returns;
use braid_catalog::{FunctionRef, Id, Object};
use braid_sql::ast::ObjectName;
use braid_types::sql_type::AnyType;
use braid_types::{Error, Result, SqlState, SqlType};

use super::call::{name_parts, routines_named};
use super::choose::{Chosen, Given, Written, choose};
use crate::bind::Binder;
use crate::context::PlanContext;

/// A function that may be a part of an aggregate.
pub struct FoundPart {
    /// The function.
    pub function: FunctionRef,
    /// NULL as an argument is NULL as the result.
    pub is_strict: bool,
    /// Whether it gives a set of rows.
    pub returns_set: bool,
    /// The types of its parameters.
    pub parameters: Vec<SqlType>,
    /// The type of its result, polymorphic if the function's is.
    pub declared: SqlType,
    /// The type of its result for these arguments.
    pub returns: SqlType,
}

/// The function of a name that takes these types, which may be polymorphic; `None` without one.
pub fn find_part(
    cx: &PlanContext<'_>,
    name: &ObjectName,
    types: &[SqlType],
    is_variadic: bool,
) -> Result<Option<FoundPart>> {
    let binder = Binder::new(cx);
    let (parts, mut found) = (name_parts(name), routines_named(&binder, name));
    found.retain(|routine| !routine.is_procedure && routine.aggregate.is_none());
    let sample: Vec<SqlType> = types.iter().map(sample_of).collect();
    for is_variadic in [is_variadic, false] {
        let written = Written { types: &sample, names: &[], is_variadic };
        let Chosen::One(chosen) = choose(&found, &written) else { continue };
        let routine = chosen.routine;
        if chosen.given.iter().any(|given| matches!(given, Given::Default)) {
            continue;
        }
        if routine.inputs().any(|parameter| parameter.domain.is_some()) {
            let name = parts.join(".");
            let message = format!("function {name} requires run-time type coercion");
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        cx.catalog.privileges().check(role_of(cx), Object::Routine(routine), "EXECUTE")?;
        let declared = routine.result_type().clone();
        let (parameters, results) =
            braid_builtins::bind_any(&chosen.wanted, &sample, std::slice::from_ref(&declared))?;
        return Ok(Some(FoundPart {
            function: FunctionRef::Routine(routine.id),
            is_strict: routine.strict,
            returns_set: routine.returns_set,
            parameters,
            returns: results.into_iter().next().unwrap_or(SqlType::Void),
            declared,
        }));
    }
    let last = match parts.as_slice() {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => return Ok(None),
    };
    let Ok(resolved) = braid_builtins::resolve_function(last, &sample) else { return Ok(None) };
    Ok(Some(FoundPart {
        function: FunctionRef::BuiltIn(last.clone()),
        is_strict: resolved.function.strict,
        returns_set: false,
        parameters: resolved.arg_types,
        declared: declared_of(&resolved.function.returns),
        returns: resolved.returns,
    }))
}

fn role_of(cx: &PlanContext<'_>) -> Id {
    let user = cx.env.current_user();
    cx.catalog.names().role(user).map_or(braid_catalog::ROOT, |role| role.id)
}

/// A type that a call could have in the place of a polymorphic one.
fn sample_of(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Any(any) => match any {
            AnyType::Element
            | AnyType::NonArray
            | AnyType::Compatible
            | AnyType::CompatibleNonArray => SqlType::Int4,
            AnyType::Array | AnyType::CompatibleArray => SqlType::Int4.array(),
            AnyType::Range | AnyType::Multirange | AnyType::Enum => ty.clone(),
        },
        ty => ty.clone(),
    }
}

/// The type that stands for what a built-in function returns.
fn declared_of(returns: &Returns) -> SqlType {
    let any = match returns {
        Returns::Is(ty) => return ty.clone(),
        Returns::Element => AnyType::Element,
        Returns::Array => AnyType::Array,
        Returns::Range => AnyType::Range,
        Returns::Multirange => AnyType::Multirange,
        Returns::Compatible => AnyType::Compatible,
        Returns::CompatibleArray => AnyType::CompatibleArray,
    };
    SqlType::Any(any)
}
