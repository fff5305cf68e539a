//! The options of a routine: each once, and what they change.

use braid_catalog::{Routine, RoutineVolatility};
use braid_sql::ast::{Reset, RoutineOption, StandardBody};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::settings::{shown_name, stored_value};

/// The options of a routine, each once.
#[derive(Default)]
pub(super) struct Options<'o> {
    pub(super) language: Option<&'o str>,
    pub(super) body: Option<&'o str>,
    pub(super) statements: Option<&'o StandardBody>,
    volatility: Option<char>,
    strict: Option<bool>,
    leakproof: Option<bool>,
    security_definer: Option<bool>,
    parallel: Option<char>,
    cost: Option<f64>,
    rows: Option<f64>,
    /// Settings with their values, or without the one of ALTER … RESET; `None` for all of them.
    settings: Vec<(Option<String>, Option<String>)>,
}

pub(super) fn definition(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidFunctionDefinition, message)
}

/// The options by kind, each of which the parser lets through once.
pub(super) fn collect<'o>(
    cx: &DdlContext<'_>,
    written: &'o [RoutineOption],
) -> Result<Options<'o>> {
    let mut options = Options::default();
    for option in written {
        match option {
            RoutineOption::Language(name) => options.language = Some(name),
            RoutineOption::Body(body) => options.body = Some(body),
            RoutineOption::Statements(body) => options.statements = Some(body),
            RoutineOption::Volatility(letter) => options.volatility = Some(*letter),
            RoutineOption::Strict(strict) => options.strict = Some(*strict),
            RoutineOption::Leakproof(leakproof) => options.leakproof = Some(*leakproof),
            RoutineOption::SecurityDefiner(definer) => options.security_definer = Some(*definer),
            RoutineOption::Parallel(letter) => options.parallel = Some(*letter),
            RoutineOption::Estimate("COST", cost) => options.cost = Some(*cost),
            RoutineOption::Estimate(_, rows) => options.rows = Some(*rows),
            RoutineOption::Set(set) => {
                options.settings.push((Some(shown_name(&set.name)), stored_value(set)));
            }
            RoutineOption::SetFromCurrent(name) => {
                let value = cx.exec.env.setting(name).ok_or_else(|| {
                    let message = format!("unrecognized configuration parameter \"{name}\"");
                    Error::new(SqlState::UndefinedObject, message)
                })?;
                options.settings.push((Some(shown_name(name)), Some(value)));
            }
            RoutineOption::Reset(Reset::Name(name)) => {
                options.settings.push((Some(shown_name(name)), None));
            }
            RoutineOption::Reset(Reset::All) => {
                options.settings.push((None, None));
            }
            RoutineOption::Support(name) => {
                let message = format!("function {name}(internal) does not exist");
                return Err(Error::new(SqlState::UndefinedFunction, message));
            }
            RoutineOption::Window => {
                return Err(Error::unsupported("a window function of a user"));
            }
        }
    }
    Ok(options)
}

/// Gives a routine what the options say, except language and body.
pub(super) fn apply(routine: &mut Routine, options: &Options<'_>) -> Result<()> {
    let of_functions = options.volatility.is_some()
        || options.strict.is_some()
        || options.leakproof.is_some()
        || options.cost.is_some()
        || options.parallel.is_some();
    if routine.is_procedure && (of_functions || options.rows.is_some()) {
        return Err(definition("invalid attribute in procedure definition"));
    }
    let invalid = |message: &str| Err(Error::new(SqlState::InvalidParameterValue, message));
    if options.cost.is_some_and(|cost| cost <= 0.0) {
        return invalid("COST must be positive");
    }
    if options.rows.is_some_and(|rows| rows <= 0.0) {
        return invalid("ROWS must be positive");
    }
    if options.rows.is_some() && !routine.returns_set {
        return invalid("ROWS is not applicable when function does not return a set");
    }
    if let Some(letter) = options.volatility {
        routine.volatility = match letter {
            'i' => RoutineVolatility::Immutable,
            's' => RoutineVolatility::Stable,
            _ => RoutineVolatility::Volatile,
        };
    }
    routine.strict = options.strict.unwrap_or(routine.strict);
    routine.leakproof = options.leakproof.unwrap_or(routine.leakproof);
    routine.security_definer = options.security_definer.unwrap_or(routine.security_definer);
    routine.parallel = options.parallel.unwrap_or(routine.parallel);
    routine.cost = options.cost.or(routine.cost);
    routine.rows = options.rows.or(routine.rows);
    for (name, value) in &options.settings {
        let Some(name) = name else {
            routine.settings.clear();
            continue;
        };
        let place = routine.settings.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        match (place, value) {
            (Some(place), Some(value)) => routine.settings[place].1.clone_from(value),
            (None, Some(value)) => routine.settings.push((name.clone(), value.clone())),
            (Some(place), None) => drop(routine.settings.remove(place)),
            (None, None) => {}
        }
    }
    Ok(())
}

/// 42501 for LEAKPROOF of a user who is no superuser.
pub(super) fn check_leakproof(cx: &DdlContext<'_>, options: &Options<'_>) -> Result<()> {
    let is_superuser = cx.catalog().role(cx.user()).is_some_and(|role| role.superuser);
    if options.leakproof == Some(true) && !is_superuser {
        let message = "only superuser can define a leakproof function";
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    Ok(())
}
