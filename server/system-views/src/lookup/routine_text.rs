//! Functions and procedures of users in words: arguments, result, definition.

use std::fmt::Write;

use braid_builtins::RoutineText;
use braid_catalog::names::qualified;
use braid_catalog::{Routine, RoutineResult, RoutineVolatility};
use braid_sql::quote_ident;

use crate::lookup::CatalogLookup;

/// The cost that functions of users have unless they say another.
pub(crate) const DEFAULT_COST: f64 = 100.0;

/// A routine in words.
pub(crate) fn routine_text(lookup: &CatalogLookup, routine: &Routine) -> RoutineText {
    let routines = lookup.catalog.names().routines();
    let path = Some(&*lookup.path);
    let places = 0..routine.parameters.len();
    let defaults: Vec<Option<String>> =
        places.map(|place| lookup.names().parameter_default(routine, place)).collect();
    let arguments = arguments(lookup, routine, Some(&defaults));
    let result = match &routine.returns {
        RoutineResult::Nothing => None,
        RoutineResult::Trigger => Some("trigger".to_owned()),
        RoutineResult::Value(ty) => Some(routines.type_text(path, ty)),
    };
    let definition = definition(lookup, routine, &arguments, result.as_deref());
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

fn arguments(
    lookup: &CatalogLookup,
    routine: &Routine,
    defaults: Option<&[Option<String>]>,
) -> String {
    let shown = routine.parameters.iter().enumerate().map(|(place, parameter)| {
        let mut text = String::from(if routine.is_procedure { "IN " } else { "" });
        if let Some(name) = &parameter.name {
            let _ = write!(text, "{} ", quote_ident(name));
        }
        text += &lookup.catalog.names().routines().type_text(Some(&lookup.path), &parameter.ty);
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
    options += if routine.leakproof { " LEAKPROOF" } else { "" };
    if let Some(cost) = routine.cost.filter(|cost| *cost != DEFAULT_COST) {
        let _ = write!(options, " COST {cost}");
    }
    if !options.is_empty() {
        text += &options;
        text.push('\n');
    }
    let mut tag = format!("${}", routine.kind());
    while routine.body.contains(&tag) {
        tag.push('x');
    }
    let _ = writeln!(text, "AS {tag}${}{tag}$", routine.body);
    text
}
