//! Which functions depend on the collation of their arguments.

use braid_catalog::Routine;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::collation::Collation;
use super::derived::{Derived, undecided};

/// Languages whose rules of upper and lower case are not those of all others.
const OWN_CASES: [&str; 6] = ["az", "el", "hy", "lt", "nl", "tr"];

/// How a function reads its texts.
enum Reading {
    /// It changes their case.
    Case,
    /// It compares them by a pattern of LIKE.
    Like(&'static str),
    /// By a regular expression.
    Regex,
    /// It looks for a text in another.
    Search,
    /// It looks for elements of arrays that are equal.
    Elements,
}

fn reading(name: &str, types: &[SqlType]) -> Option<Reading> {
    Some(match name {
        "lower" | "upper" | "initcap" => Reading::Case,
        "~~" | "!~~" | "like" | "notlike" => Reading::Like("LIKE"),
        "~~*" | "!~~*" | "texticlike" | "texticnlike" => Reading::Like("ILIKE"),
        "~" | "!~" | "~*" | "!~*" => Reading::Regex,
        "substring" if types.get(1).is_some_and(SqlType::is_string) => Reading::Regex,
        name if name.starts_with("regexp_") => Reading::Regex,
        "position" | "strpos" | "split_part" | "replace" | "string_to_array" | "starts_with"
        | "string_to_table" | "^@" => Reading::Search,
        "array_position" | "array_positions" | "array_remove" | "array_replace" | "@>" | "<@"
        | "&&" | "width_bucket" => Reading::Elements,
        _ => return None,
    })
}

/// Refuses a call of a function that cannot follow the collation of its arguments.
pub(super) fn check_function(name: &str, types: &[SqlType], derived: &Derived) -> Result<()> {
    let is_conflict = matches!(derived, Derived::Conflict(..));
    if !is_conflict && !derived.has_order() {
        return Ok(());
    }
    let Some(reading) = reading(name, types) else { return Ok(()) };
    let nondeterministic = derived.is_nondeterministic();
    let refuse = |what: &str| {
        let message = format!("nondeterministic collations are not supported for {what}");
        Err(Error::new(SqlState::FeatureNotSupported, message))
    };
    match reading {
        Reading::Case if is_conflict => Err(undecided(&format!("{name}() function"))),
        Reading::Case => check_case(name, derived),
        Reading::Like("ILIKE") if is_conflict => Err(undecided("ILIKE")),
        Reading::Like(what) if nondeterministic => refuse(what),
        Reading::Like("ILIKE") => check_case("ILIKE", derived),
        Reading::Regex if is_conflict => Err(undecided("regular expression")),
        Reading::Regex if nondeterministic => refuse("regular expressions"),
        Reading::Regex if name.ends_with('*') => check_case(name, derived),
        Reading::Search if nondeterministic => refuse("substring searches"),
        Reading::Elements if is_conflict => Err(undecided("string comparison")),
        Reading::Elements if nondeterministic || name == "width_bucket" => {
            let collation = derived.collation().map_or("", |collation| &collation.name);
            Err(Error::unsupported(format!("{name} with collation \"{collation}\"")))
        }
        _ => Ok(()),
    }
}

/// 0A000 for a call of a function of a user whose arguments have a collation of ICU: its body
/// compares by bytes.
pub(super) fn check_routine(routine: &Routine, derived: &Derived) -> Result<()> {
    if !matches!(derived, Derived::Conflict(..)) && !derived.has_order() {
        return Ok(());
    }
    let what = format!("passing a collation to function {}", routine.name);
    Err(Error::unsupported(what).hint(
        "Functions compare texts by their bytes. Give the argument that collation: COLLATE \"C\".",
    ))
}

/// 0A000 for a language whose letters have other cases than those of all other languages.
fn check_case(name: &str, derived: &Derived) -> Result<()> {
    let icu = derived.collation().and_then(|collation| collation.icu.as_ref());
    let language = icu.and_then(|icu| icu.locale.split(['-', '_', '@']).next());
    match language.filter(|language| OWN_CASES.contains(language)) {
        Some(language) => {
            Err(Error::unsupported(format!("{name} by the rules of the language \"{language}\"")))
        }
        None => Ok(()),
    }
}

/// What `COLLATION FOR` shows.
pub(super) fn quoted_name(collation: Option<&Collation>) -> Datum {
    collation.map_or(Datum::Null, |collation| {
        // The default's name is a keyword.
        let name = match collation.is_default() {
            true => "\"default\"".to_owned(),
            false => braid_sql::quote_ident(&collation.name),
        };
        Datum::text(name)
    })
}

/// 0A000 for a comparison that nondeterministic collations cannot decide.
pub(super) fn refuse_nondeterministic(what: &str) -> Error {
    Error::unsupported(format!("{what} with a nondeterministic collation"))
}
