//! The routine that a call means, by the types and names of its arguments.

use std::sync::Arc;

use braid_builtins::Choice;
use braid_catalog::{Routine, RoutineParameter};
use braid_types::sql_type::AnyType;
use braid_types::{Error, SqlState, SqlType};

/// Whether values of a type are values of another type as they are.
pub fn is_same_binary(from: &SqlType, to: &SqlType) -> bool {
    let is_text = |ty: &SqlType| matches!(ty.bare(), SqlType::Text | SqlType::Varchar(_));
    from.same_base(to) || (is_text(from) && is_text(to))
}

/// What a call writes between its parentheses.
pub(crate) struct Written<'w> {
    /// The types of its arguments.
    pub types: &'w [SqlType],
    /// The names of the last ones.
    pub names: &'w [String],
    /// Whether the last one is written `VARIADIC a`.
    pub is_variadic: bool,
}

/// What a parameter gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// The argument at that place.
    Argument(usize),
    /// Its default.
    Default,
    /// An array of the arguments from that place on.
    Rest(usize),
}

/// What a call means.
pub(crate) enum Chosen<'c> {
    /// No routine takes these arguments.
    None,
    /// This one.
    One(Candidate<'c>),
    /// Several are equally good.
    Many,
}

/// A routine with the places of the arguments that it takes.
pub(crate) struct Candidate<'c> {
    pub routine: &'c Arc<Routine>,
    /// What each parameter of a call gets.
    pub given: Vec<Given>,
    /// The types of the parameters in the order of the arguments.
    pub wanted: Vec<SqlType>,
}

impl Candidate<'_> {
    /// How far it is from what was written, for two of the same types.
    fn distance(&self) -> usize {
        let of = |given: &Given| match given {
            Given::Argument(_) | Given::Default => 0,
            Given::Rest(_) => 1,
        };
        self.given.iter().map(of).sum()
    }
}

/// The routine that a call means.
pub(crate) fn choose<'c>(found: &[&'c Arc<Routine>], written: &Written<'_>) -> Chosen<'c> {
    let mut candidates: Vec<Candidate<'c>> = Vec::new();
    for one in found.iter().filter_map(|routine| candidate(routine, written)) {
        let same = |known: &Candidate<'_>| {
            known.wanted.iter().zip(&one.wanted).all(|(a, b)| a.same_base(b))
        };
        match candidates.iter().position(same) {
            // A function without VARIADIC is preferred.
            Some(place) if one.distance() < candidates[place].distance() => candidates[place] = one,
            Some(place) if one.distance() > candidates[place].distance() => {}
            _ => candidates.push(one),
        }
    }
    let wanted: Vec<Vec<SqlType>> =
        candidates.iter().map(|candidate| candidate.wanted.clone()).collect();
    match braid_builtins::choose(&wanted, written.types) {
        Choice::None => Chosen::None,
        Choice::Many => Chosen::Many,
        Choice::One(place) => {
            let chosen = candidates.swap_remove(place);
            let same = |other: &Candidate<'_>| {
                other.wanted.iter().zip(&chosen.wanted).all(|(a, b)| a.same_base(b))
            };
            if candidates.iter().any(same) {
                return Chosen::Many;
            }
            Chosen::One(chosen)
        }
    }
}

/// How a routine would take the arguments.
fn candidate<'c>(routine: &'c Arc<Routine>, written: &Written<'_>) -> Option<Candidate<'c>> {
    let parameters: Vec<&RoutineParameter> = routine.of_call().collect();
    let variadic = routine.variadic();
    if written.is_variadic && variadic.is_none() {
        return None;
    }
    let element = variadic.filter(|_| !written.is_variadic).map(element_of);
    if element.is_some() && !written.names.is_empty() {
        return None;
    }
    let by_place = written.types.len() - written.names.len();
    let fixed = parameters.len() - usize::from(element.is_some());
    if by_place > fixed && element.is_none() {
        return None;
    }
    let direct = by_place.min(fixed);
    let mut given: Vec<Given> = (0..direct).map(Given::Argument).collect();
    given.resize(parameters.len(), Given::Default);
    let mut wanted: Vec<SqlType> =
        parameters.iter().take(direct).map(|parameter| parameter.ty.clone()).collect();
    if let (Some(element), Some(last)) = (element, given.last_mut())
        && by_place > fixed
    {
        *last = Given::Rest(fixed);
        wanted.resize(by_place, element);
    }
    for (number, name) in written.names.iter().enumerate() {
        let named = |known: &&RoutineParameter| known.name.as_ref() == Some(name);
        let place = parameters.iter().position(named)?;
        if given[place] != Given::Default {
            return None;
        }
        given[place] = Given::Argument(by_place + number);
        wanted.push(parameters[place].ty.clone());
    }
    let is_whole = given
        .iter()
        .zip(&parameters)
        .all(|(given, parameter)| *given != Given::Default || parameter.default.is_some());
    is_whole.then_some(Candidate { routine, given, wanted })
}

/// The type of the arguments that a parameter takes any number of.
pub(crate) fn element_of(array: &SqlType) -> SqlType {
    match array {
        SqlType::Any(AnyType::Array) => SqlType::Any(AnyType::Element),
        SqlType::Any(AnyType::CompatibleArray) => SqlType::Any(AnyType::Compatible),
        other => other.element().unwrap_or(other).clone(),
    }
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
