//! The routine that a call means, by the types and names of its arguments.

use std::sync::Arc;

use braid_builtins::Choice;
use braid_catalog::Routine;
use braid_types::{Error, SqlState, SqlType};

/// What a call means.
pub(crate) enum Chosen<'c> {
    /// No routine takes these arguments.
    None,
    /// This routine. For each parameter the argument's place, `None` for its default.
    One(&'c Arc<Routine>, Vec<Option<usize>>),
    /// Several are equally good.
    Many,
}

/// A routine with the places of the arguments that it takes.
struct Candidate<'c> {
    routine: &'c Arc<Routine>,
    places: Vec<Option<usize>>,
    /// The types of the parameters in the order of the arguments.
    wanted: Vec<SqlType>,
}

/// The routine that a call means; the last arguments have names.
pub(crate) fn choose<'c>(
    found: &[&'c Arc<Routine>],
    actual: &[SqlType],
    names: &[String],
) -> Chosen<'c> {
    let mut candidates: Vec<Candidate<'c>> =
        found.iter().filter_map(|routine| candidate(routine, actual.len(), names)).collect();
    let wanted: Vec<Vec<SqlType>> =
        candidates.iter().map(|candidate| candidate.wanted.clone()).collect();
    match braid_builtins::choose(&wanted, actual) {
        Choice::None => Chosen::None,
        Choice::Many => Chosen::Many,
        Choice::One(place) => {
            let Candidate { routine, places, .. } = candidates.swap_remove(place);
            Chosen::One(routine, places)
        }
    }
}

/// How a routine would take that many arguments, the last of them with names.
fn candidate<'c>(
    routine: &'c Arc<Routine>,
    count: usize,
    names: &[String],
) -> Option<Candidate<'c>> {
    let parameters = &routine.parameters;
    if count > parameters.len() {
        return None;
    }
    let first = count - names.len();
    let mut places: Vec<Option<usize>> = (0..first).map(Some).collect();
    places.resize(parameters.len(), None);
    let mut wanted: Vec<SqlType> = routine.types().take(first).cloned().collect();
    for (number, name) in names.iter().enumerate() {
        let place = parameters.iter().position(|known| known.name.as_ref() == Some(name))?;
        if places[place].is_some() {
            return None;
        }
        places[place] = Some(first + number);
        wanted.push(parameters[place].ty.clone());
    }
    let is_whole = places
        .iter()
        .zip(parameters)
        .all(|(place, parameter)| place.is_some() || parameter.default.is_some());
    is_whole.then_some(Candidate { routine, places, wanted })
}

/// 42883: nothing of that name takes these arguments.
pub(crate) fn undefined(name: &str, types: &[SqlType], is_call: bool) -> Error {
    let shown: Vec<String> = types.iter().map(|ty| ty.bare().display_name()).collect();
    let kind = if is_call { "procedure" } else { "function" };
    let message = format!("{kind} {name}({}) does not exist", shown.join(", "));
    Error::new(SqlState::UndefinedFunction, message).hint(format!(
        "No {kind} matches the given name and argument types. You might need to add explicit type \
         casts."
    ))
}
