//! Functions and procedures of users in words: arguments, result, definition.

use std::fmt::Write;

use braid_builtins::RoutineText;
use braid_catalog::names::qualified;
use braid_catalog::{ParameterMode, Routine, RoutineVolatility};
use braid_sql::{quote_ident, quote_literal};

use crate::lookup::CatalogLookup;

/// The cost that functions of users have unless they say another.
pub(crate) const DEFAULT_COST: f64 = 100.0;
/// The rows that a set of a function of a user is said to have unless it says another number.
pub(crate) const DEFAULT_ROWS: f64 = 1000.0;

/// A routine in words.
pub(crate) fn routine_text(lookup: &CatalogLookup, routine: &Routine) -> RoutineText {
    let routines = lookup.catalog.names().routines();
    let path = Some(&*lookup.path);
    let places = 0..routine.parameters.len();
    let defaults: Vec<Option<String>> =
        places.map(|place| lookup.names().parameter_default(routine, place)).collect();
    let arguments = arguments(lookup, routine, Some(&defaults));
    let result = result(lookup, routine);
    let is_aggregate = routine.aggregate.is_some();
    let definition =
        (!is_aggregate).then(|| definition(lookup, routine, &arguments, result.as_deref()));
    RoutineText {
        name: routines.text(path, routine),
        signature: routines.signature(path, routine, ","),
        identity_arguments: self::arguments(lookup, routine, None),
        is_visible: routines.is_visible(&lookup.path, routine),
        arguments,
        result,
        definition,
        defaults,
    }
}

/// What `RETURNS` says; `None` for a procedure.
fn result(lookup: &CatalogLookup, routine: &Routine) -> Option<String> {
    if routine.is_procedure {
        return None;
    }
    let routines = lookup.catalog.names().routines();
    let columns = || routine.parameters.iter().filter(|p| p.mode == ParameterMode::Table);
    if columns().next().is_some() {
        let shown = columns().map(|column| {
            let name = column.name.as_deref().map(quote_ident).unwrap_or_default();
            let path = Some(&*lookup.path);
            format!("{name} {}", routines.value_text(path, &column.ty, column.domain))
        });
        return Some(format!("TABLE({})", shown.collect::<Vec<_>>().join(", ")));
    }
    if routine.is_for_triggers() {
        return Some("trigger".to_owned());
    }
    let set = if routine.returns_set { "SETOF " } else { "" };
    let path = Some(&*lookup.path);
    let result = routines.value_text(path, routine.result_type(), routine.result_domain);
    Some(format!("{set}{result}"))
}

/// A body that is not a string, as it is written.
fn standard_body(routine: &Routine, is_return: bool) -> String {
    match (is_return, routine.body.strip_prefix("SELECT ")) {
        (true, Some(value)) => format!("RETURN {value}"),
        _ => {
            let statements = braid_sql::parse(&routine.body).unwrap_or_default();
            let shown = statements.into_iter().filter_map(|statement| {
                let text = routine.body.get(statement.text)?;
                Some(format!(" {};\n", text.trim()))
            });
            format!("BEGIN ATOMIC\n{}END", shown.collect::<String>())
        }
    }
}

fn arguments(
    lookup: &CatalogLookup,
    routine: &Routine,
    defaults: Option<&[Option<String>]>,
) -> String {
    let all = routine.parameters.iter().enumerate();
    let listed = all.filter(|(_, parameter)| parameter.mode != ParameterMode::Table);
    let shown = listed.map(|(place, parameter)| {
        let mode = match parameter.mode {
            ParameterMode::In if routine.is_procedure => "IN ",
            ParameterMode::In | ParameterMode::Table => "",
            ParameterMode::Out => "OUT ",
            ParameterMode::InOut => "INOUT ",
            ParameterMode::Variadic => "VARIADIC ",
        };
        let mut text = String::from(mode);
        if let Some(name) = &parameter.name {
            let _ = write!(text, "{} ", quote_ident(name));
        }
        let routines = lookup.catalog.names().routines();
        text += &routines.value_text(Some(&lookup.path), &parameter.ty, parameter.domain);
        let default = defaults.and_then(|list| list.get(place)).and_then(Option::as_ref);
        if let Some(default) = default {
            let _ = write!(text, " DEFAULT {default}");
        }
        text
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// `CREATE OR REPLACE FUNCTION …`
fn definition(
    lookup: &CatalogLookup,
    routine: &Routine,
    arguments: &str,
    result: Option<&str>,
) -> String {
    let schema = lookup.catalog.schema_name(routine.schema);
    let name = qualified(&schema, &routine.name);
    let kind = routine.kind().to_uppercase();
    let mut text = format!("CREATE OR REPLACE {kind} {name}({arguments})\n");
    if let Some(result) = result {
        let _ = writeln!(text, " RETURNS {result}");
    }
    let _ = writeln!(text, " LANGUAGE {}", routine.language.name());
    let mut options = String::new();
    options += match routine.volatility {
        RoutineVolatility::Immutable => " IMMUTABLE",
        RoutineVolatility::Stable => " STABLE",
        RoutineVolatility::Volatile => "",
    };
    options += match routine.parallel {
        's' => " PARALLEL SAFE",
        'r' => " PARALLEL RESTRICTED",
        _ => "",
    };
    options += if routine.strict { " STRICT" } else { "" };
    options += if routine.security_definer { " SECURITY DEFINER" } else { "" };
    options += if routine.leakproof { " LEAKPROOF" } else { "" };
    if let Some(cost) = routine.cost.filter(|cost| *cost != DEFAULT_COST) {
        let _ = write!(options, " COST {cost}");
    }
    if let Some(rows) = routine.rows.filter(|rows| *rows != DEFAULT_ROWS) {
        let _ = write!(options, " ROWS {rows}");
    }
    if !options.is_empty() {
        text += &options;
        text.push('\n');
    }
    for (name, value) in &routine.settings {
        let shown = match name.as_str() {
            // A list is not one string.
            "search_path" | "DateStyle" | "temp_tablespaces" => {
                let parts =
                    value.split(',').map(|part| quote_literal(part.trim().trim_matches('"')));
                parts.collect::<Vec<_>>().join(", ")
            }
            _ => quote_literal(value),
        };
        let _ = writeln!(text, " SET {} TO {shown}", quote_ident(name));
    }
    if let Some(is_return) = routine.standard {
        let _ = writeln!(text, "{}", standard_body(routine, is_return));
        return text;
    }
    let mut tag = format!("${}", routine.kind());
    while routine.body.contains(&tag) {
        tag.push('x');
    }
    let _ = writeln!(text, "AS {tag}${}{tag}$", routine.body);
    text
}
