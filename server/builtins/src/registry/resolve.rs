//! Overload resolution, PostgreSQL's rules: exact match, then fewest casts, preferred types,
//! unknown literals by category.
//!
//! The steps, each only among the survivors of the one before: (1) same types; (2) every argument
//! casts implicitly; (3) most arguments that need no cast; (4) most that need none or become the
//! preferred type of their category; (5) unknown literals take the category that the candidates
//! agree on (strings win); (6) unknown literals take the type that all known arguments share.

use braid_types::cast::{self, CastContext};
use braid_types::{Error, Result, SqlState, SqlType, sql_type};

use super::polymorphic::Binding;
use super::tables::registry;
use crate::{Arg, Function, Returns, SetFunction};

/// What resolution found.
#[derive(Clone)]
pub struct Resolved {
    /// The function.
    pub function: &'static Function,
    /// The types that the arguments are to be cast to.
    pub arg_types: Vec<SqlType>,
    /// The type of its result.
    pub returns: SqlType,
}

/// What resolution found for a set-returning function.
#[derive(Clone)]
pub struct ResolvedSet {
    /// The function.
    pub function: &'static SetFunction,
    /// The types that the arguments are to be cast to.
    pub arg_types: Vec<SqlType>,
    /// Its columns.
    pub columns: Vec<(String, SqlType)>,
}

/// One overload, its variadic argument repeated as often as the call needs.
pub(crate) struct Candidate<T> {
    pub(crate) item: T,
    pub(crate) args: Vec<Arg>,
}

impl<T> Candidate<T> {
    /// The overload if it takes that number of arguments.
    pub(crate) fn expand(item: T, args: &[Arg], variadic: bool, count: usize) -> Option<Self> {
        if args.len() == count {
            return Some(Candidate { item, args: args.to_vec() });
        }
        let last = args.last().filter(|_| variadic && count > args.len())?;
        let mut args = args.to_vec();
        args.resize(count, last.clone());
        Some(Candidate { item, args })
    }
}

/// The survivors of resolution.
pub(crate) enum Selection<T> {
    /// Nothing fits.
    None,
    /// One is best.
    One(Candidate<T>),
    /// Several are equally good.
    Many,
}

fn category(arg: &Arg) -> (char, bool) {
    match arg {
        Arg::Is(ty) => (sql_type::category(ty), sql_type::is_preferred(ty)),
        _ => ('P', false),
    }
}

fn casts_implicitly(from: &SqlType, to: &SqlType) -> bool {
    from.same_base(to)
        || matches!(from, SqlType::Unknown)
        || cast::context(from, to) == Some(CastContext::Implicit)
}

/// Whether every argument can become what the overload wants.
fn accepts(wanted: &[Arg], actual: &[SqlType]) -> bool {
    let direct = wanted.iter().zip(actual).all(|(arg, ty)| match arg {
        Arg::Is(wanted) => casts_implicitly(ty, wanted),
        _ => true,
    });
    direct && Binding::of(wanted, actual).is_some()
}

fn is_exact(arg: &Arg, ty: &SqlType) -> bool {
    matches!(arg, Arg::Is(wanted) if wanted.same_base(ty))
}

/// Keeps the candidates with the highest score.
fn keep_best<T>(candidates: &mut Vec<Candidate<T>>, score: impl Fn(&[Arg]) -> usize) {
    let best = candidates.iter().map(|one| score(&one.args)).max().unwrap_or(0);
    candidates.retain(|one| score(&one.args) == best);
}

/// Which of several lists of parameter types fits a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// None of them.
    None,
    /// The one at that place.
    One(usize),
    /// Several are equally good.
    Many,
}

/// PostgreSQL's choice among lists of parameter types, each as long as the arguments.
pub fn choose(lists: &[Vec<SqlType>], actual: &[SqlType]) -> Choice {
    let arg = Arg::of;
    let candidate = |(item, list): (usize, &Vec<SqlType>)| Candidate {
        item,
        args: list.iter().map(arg).collect(),
    };
    match select(lists.iter().enumerate().map(candidate).collect(), actual) {
        Selection::None => Choice::None,
        Selection::One(found) => Choice::One(found.item),
        Selection::Many => Choice::Many,
    }
}

/// What polymorphic parameters of a function of a user, and its results, are in a call of these
/// types: the types of the parameters and the results.
pub fn bind_any(
    wanted: &[SqlType],
    actual: &[SqlType],
    results: &[SqlType],
) -> Result<(Vec<SqlType>, Vec<SqlType>)> {
    let wanted: Vec<Arg> = wanted.iter().map(Arg::of).collect();
    let results: Vec<Returns> = results.iter().map(Returns::of).collect();
    bind(&wanted, actual, &results.iter().collect::<Vec<_>>())
}

/// PostgreSQL's choice among overloads that take the right number of arguments.
pub(crate) fn select<T>(mut candidates: Vec<Candidate<T>>, actual: &[SqlType]) -> Selection<T> {
    let exact = |args: &[Arg]| args.iter().zip(actual).all(|(arg, ty)| is_exact(arg, ty));
    if let Some(found) = candidates.iter().position(|one| exact(&one.args)) {
        return Selection::One(candidates.swap_remove(found));
    }
    candidates.retain(|one| accepts(&one.args, actual));
    if candidates.is_empty() {
        return Selection::None;
    }
    let unknown = |ty: &SqlType| matches!(ty, SqlType::Unknown);
    if candidates.len() > 1 {
        keep_best(&mut candidates, |args| {
            let known = args.iter().zip(actual).filter(|(_, ty)| !unknown(ty));
            known.filter(|(arg, ty)| is_exact(arg, ty)).count()
        });
    }
    if candidates.len() > 1 {
        keep_best(&mut candidates, |args| {
            let known = args.iter().zip(actual).filter(|(_, ty)| !unknown(ty));
            known
                .filter(|(arg, ty)| {
                    let (wanted, preferred) = category(arg);
                    is_exact(arg, ty) || (preferred && wanted == sql_type::category(ty))
                })
                .count()
        });
    }
    if candidates.len() > 1 && actual.iter().any(unknown) {
        by_category(&mut candidates, actual);
    }
    if candidates.len() > 1 {
        by_known_type(&mut candidates, actual);
    }
    match candidates.pop() {
        Some(only) if candidates.is_empty() => Selection::One(only),
        _ => Selection::Many,
    }
}

/// Step 5: each unknown argument takes the category on which the candidates agree.
fn by_category<T>(candidates: &mut Vec<Candidate<T>>, actual: &[SqlType]) {
    let mut slots: Vec<Option<(char, bool)>> = vec![None; actual.len()];
    for (index, _) in actual.iter().enumerate().filter(|(_, ty)| matches!(ty, SqlType::Unknown)) {
        let mut conflict = false;
        let mut slot: Option<(char, bool)> = None;
        for candidate in candidates.iter() {
            let (wanted, preferred) = category(&candidate.args[index]);
            match &mut slot {
                None => slot = Some((wanted, preferred)),
                Some((now, any_preferred)) if *now == wanted => *any_preferred |= preferred,
                Some(now) if wanted == 'S' => *now = (wanted, preferred),
                Some(_) => conflict = true,
            }
        }
        match slot {
            Some((chosen, _)) if conflict && chosen != 'S' => return,
            found => slots[index] = found,
        }
    }
    let fits = |args: &[Arg]| {
        args.iter().zip(&slots).all(|(arg, slot)| match slot {
            None => true,
            Some((chosen, any_preferred)) => {
                let (wanted, preferred) = category(arg);
                wanted == *chosen && (preferred || !any_preferred)
            }
        })
    };
    if candidates.iter().any(|one| fits(&one.args)) {
        candidates.retain(|one| fits(&one.args));
    }
}

/// Step 6: unknown arguments take the one type that all known arguments have.
fn by_known_type<T>(candidates: &mut Vec<Candidate<T>>, actual: &[SqlType]) {
    let mut known = actual.iter().filter(|ty| !matches!(ty, SqlType::Unknown));
    let Some(first) = known.next() else { return };
    if actual.iter().all(|ty| !matches!(ty, SqlType::Unknown)) || !known.all(|ty| ty == first) {
        return;
    }
    let assumed = vec![first.clone(); actual.len()];
    if candidates.iter().filter(|one| accepts(&one.args, &assumed)).count() == 1 {
        candidates.retain(|one| accepts(&one.args, &assumed));
    }
}

fn names(args: &[SqlType]) -> String {
    let names: Vec<&str> = args.iter().map(SqlType::plain_name).collect();
    names.join(", ")
}

pub(crate) fn no_function(name: &str, args: &[SqlType]) -> Error {
    let message = format!("function {name}({}) does not exist", names(args));
    Error::new(SqlState::UndefinedFunction, message).hint(
        "No function matches the given name and argument types. \
         You might need to add explicit type casts.",
    )
}

pub(crate) fn ambiguous_function(name: &str, args: &[SqlType]) -> Error {
    let message = format!("function {name}({}) is not unique", names(args));
    Error::new(SqlState::AmbiguousFunction, message).hint(
        "Could not choose a best candidate function. You might need to add explicit type casts.",
    )
}

/// What the polymorphic parts of a signature become for these arguments.
pub(crate) fn bind(
    wanted: &[Arg],
    actual: &[SqlType],
    returns: &[&Returns],
) -> Result<(Vec<SqlType>, Vec<SqlType>)> {
    let undecided = || {
        Error::new(
            SqlState::DatatypeMismatch,
            "could not determine polymorphic type because input has type unknown",
        )
    };
    let binding = Binding::of(wanted, actual).ok_or_else(undecided)?;
    let args = wanted
        .iter()
        .zip(actual)
        .map(|(arg, ty)| binding.arg(arg, ty))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(undecided)?;
    let returns = returns
        .iter()
        .map(|returns| binding.returns(returns))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(undecided)?;
    Ok((args, returns))
}

/// As [`bind`], for a result of one type.
pub(crate) fn bind_one(
    wanted: &[Arg],
    actual: &[SqlType],
    returns: &Returns,
) -> Result<(Vec<SqlType>, SqlType)> {
    let (args, mut returns) = bind(wanted, actual, &[returns])?;
    let returns = returns.pop().ok_or_else(|| Error::broken("a function without a result type"))?;
    Ok((args, returns))
}

fn resolved(candidate: Candidate<&'static Function>, actual: &[SqlType]) -> Result<Resolved> {
    let (arg_types, returns) = bind_one(&candidate.args, actual, &candidate.item.returns)?;
    Ok(Resolved { function: candidate.item, arg_types, returns })
}

fn overloads(name: &str, count: usize) -> Vec<Candidate<&'static Function>> {
    let all = registry().functions.get(name).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|f| Candidate::expand(f, &f.args, f.variadic, count)).collect()
}

/// Finds a function by its lower-case name; 42883 (with PostgreSQL's hint) if none fits,
/// 42725 if several fit equally.
///
/// A type's name with one argument is a cast where no function of that name fits exactly.
pub fn resolve_function(name: &str, args: &[SqlType]) -> Result<Resolved> {
    resolve_shown(name, name, args)
}

/// The same for a function that messages show by another name: with its schema, as PostgreSQL
/// shows the functions that a syntax of their own stands for.
pub fn resolve_shown(name: &str, shown: &str, args: &[SqlType]) -> Result<Resolved> {
    let candidates = overloads(name, args.len());
    if let [SqlType::Unknown] = args
        && let Some(ty) = SqlType::from_name(name)
        && let Some(identity) = candidates.iter().position(|one| is_exact(&one.args[0], &ty))
    {
        let mut candidates = candidates;
        return resolved(candidates.swap_remove(identity), std::slice::from_ref(&ty.bare()));
    }
    match select(candidates, args) {
        Selection::None => Err(no_function(shown, args)),
        Selection::One(found) => resolved(found, args),
        Selection::Many => Err(ambiguous_function(shown, args)),
    }
}

/// Finds a function for a call whose last argument is written `VARIADIC a`.
///
/// 42804 if that argument is no array; 42883 if no function of that name takes one.
pub fn resolve_variadic(name: &str, args: &[SqlType]) -> Result<Resolved> {
    let all = registry().functions.get(name).map(Vec::as_slice).unwrap_or_default();
    let fitting = all.iter().filter(|f| f.variadic && f.args.len() == args.len());
    let candidates: Vec<_> = fitting
        .map(|function| {
            let mut wanted = function.args.clone();
            if let Some(last @ Arg::Is(_)) = wanted.last_mut()
                && let Arg::Is(element) = last.clone()
            {
                *last = Arg::Is(SqlType::Array(Box::new(element)));
            }
            Candidate { item: function, args: wanted }
        })
        .collect();
    match select(candidates, args) {
        Selection::None => Err(no_function(name, args)),
        Selection::Many => Err(ambiguous_function(name, args)),
        Selection::One(found) => {
            let takes_any = matches!(found.args.last(), Some(Arg::Any));
            if takes_any && args.last().is_none_or(|ty| ty.element().is_none()) {
                let message = "VARIADIC argument must be an array";
                return Err(Error::new(SqlState::DatatypeMismatch, message));
            }
            resolved(found, args)
        }
    }
}

/// Finds a binary operator, or a prefix one if `left` is `None`; 42883 if none fits.
pub fn resolve_operator(name: &str, left: Option<&SqlType>, right: &SqlType) -> Result<Resolved> {
    let name = if name == "!=" { "<>" } else { name };
    let args: Vec<SqlType> = left.into_iter().chain([right]).cloned().collect();
    let candidates = overloads(name, args.len());
    // A literal beside a known type is first tried as that type.
    if let [a, b] = args.as_slice() {
        let same = match (a, b) {
            (SqlType::Unknown, known) | (known, SqlType::Unknown) => [known.clone(), known.clone()],
            (a, b) => [a.clone(), b.clone()],
        };
        let exact =
            |one: &Candidate<_>| one.args.iter().zip(&same).all(|(arg, ty)| is_exact(arg, ty));
        if let Some(found) = candidates.iter().position(exact) {
            let mut candidates = candidates;
            return resolved(candidates.swap_remove(found), &args);
        }
    }
    let shown = match left {
        None => format!("{name} {}", names(&args)),
        Some(_) => format!("{} {name} {}", names(&args[..1]), names(&args[1..])),
    };
    match select(candidates, &args) {
        Selection::One(found) => resolved(found, &args),
        Selection::None => {
            let message = format!("operator does not exist: {shown}");
            let hint = if args.len() == 1 {
                "No operator matches the given name and argument type. \
                 You might need to add an explicit type cast."
            } else {
                "No operator matches the given name and argument types. \
                 You might need to add explicit type casts."
            };
            Err(Error::new(SqlState::UndefinedFunction, message).hint(hint))
        }
        Selection::Many => {
            let message = format!("operator is not unique: {shown}");
            Err(Error::new(SqlState::AmbiguousFunction, message).hint(
                "Could not choose a best candidate operator. \
                 You might need to add explicit type casts.",
            ))
        }
    }
}

/// Finds a set-returning function; `None` if there is none of that name.
///
/// `unnest` of several arrays or multiranges has a column for each, padded with NULL.
pub fn resolve_set_function(name: &str, args: &[SqlType]) -> Result<Option<ResolvedSet>> {
    let Some(all) = registry().sets.get(name) else { return Ok(None) };
    if name == "unnest" && args.len() > 1 {
        let columns = args
            .iter()
            .map(|ty| match (ty, ty.element()) {
                (SqlType::Multirange(kind), _) => Ok((String::new(), SqlType::Range(*kind))),
                (_, Some(element)) => Ok((String::new(), element.clone())),
                (_, None) => Err(no_function(name, args)),
            })
            .collect::<Result<Vec<_>>>()?;
        return Ok(Some(ResolvedSet { function: &all[0], arg_types: args.to_vec(), columns }));
    }
    let candidates =
        all.iter().filter_map(|f| Candidate::expand(f, &f.args, f.variadic, args.len())).collect();
    match select(candidates, args) {
        Selection::None => Err(no_function(name, args)),
        Selection::Many => Err(ambiguous_function(name, args)),
        Selection::One(found) => {
            let wanted: Vec<&Returns> = found.item.columns.iter().map(|(_, ty)| ty).collect();
            let (arg_types, returns) = bind(&found.args, args, &wanted)?;
            let names = found.item.columns.iter().map(|(name, _)| (*name).to_owned());
            let columns = names.zip(returns).collect();
            Ok(Some(ResolvedSet { function: found.item, arg_types, columns }))
        }
    }
}
