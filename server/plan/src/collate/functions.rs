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
        "~~" | "!~~" | "like" | "notlike" | "textlike" | "textnlike" | "namelike" | "namenlike"
        | "bpcharlike" | "bpcharnlike" => Reading::Like("LIKE"),
        "~~*" | "!~~*" | "texticlike" | "texticnlike" | "nameiclike" | "nameicnlike"
        | "bpchariclike" | "bpcharicnlike" => Reading::Like("ILIKE"),
        "~" | "!~" | "~*" | "!~*" => Reading::Regex,
        name if name.ends_with("regexeq") || name.ends_with("regexne") => Reading::Regex,
        "substring" if types.get(1).is_some_and(SqlType::is_string) => Reading::Regex,
        name if name.starts_with("regexp_") => Reading::Regex,
        "position" | "strpos" | "split_part" | "replace" | "string_to_array" | "starts_with"
        | "string_to_table" | "^@" => Reading::Search,
        "array_position" | "array_positions" | "array_remove" | "array_replace" | "@>" | "<@"
        | "&&" | "arraycontains" | "arraycontained" | "arrayoverlap" | "width_bucket" => {
            Reading::Elements
        }
        _ => return None,
    })
}

/// Whether a function that compares two values asks for their order; `None` for any other.
pub(super) fn comparison(name: &str) -> Option<bool> {
    Some(match name {
        "<" | "<=" | ">" | ">=" | "text_lt" | "text_le" | "text_gt" | "text_ge" | "textltname"
        | "textlename" | "textgtname" | "textgename" | "namelttext" | "nameletext"
        | "namegttext" | "namegetext" | "namelt" | "namele" | "namegt" | "namege" | "bpcharlt"
        | "bpcharle" | "bpchargt" | "bpcharge" | "array_lt" | "array_le" | "array_gt"
        | "array_ge" | "record_lt" | "record_le" | "record_gt" | "record_ge" | "text_larger"
        | "text_smaller" | "array_larger" | "array_smaller" => true,
        "=" | "<>" | "texteq" | "textne" | "texteqname" | "textnename" | "nameeq" | "namene"
        | "nameeqtext" | "namenetext" | "bpchareq" | "bpcharne" | "array_eq" | "array_ne"
        | "record_eq" | "record_ne" => false,
        _ => return None,
    })
}

/// Refuses a comparison by a function if bytes do not decide it.
pub(super) fn check_comparison(name: &str, list: &[Derived]) -> Result<()> {
    let Some(ordered) = comparison(name) else { return Ok(()) };
    let joined = list.iter().cloned().try_fold(Derived::None, Derived::join)?;
    let mut rows = list.iter().filter(|derived| matches!(derived, Derived::Row(_)));
    rows.try_for_each(Derived::check_known)?;
    joined.check_known()?;
    // Another side may have the collation that counts for both, but not for the fields of a row.
    let is_decided = joined.collation().is_some();
    let mut compared = list.iter().filter(|_| !is_decided).chain([&joined]);
    match compared.find(|derived| derived.needs_keys(ordered)) {
        Some(derived) => Err(refused(name, derived)),
        None => Ok(()),
    }
}

/// 0A000 for a function that compares bytes where a collation should decide.
fn refused(name: &str, derived: &Derived) -> Error {
    Error::unsupported(match derived.collation() {
        Some(collation) => format!("{name} with collation \"{}\"", collation.name),
        None => format!("{name} of rows whose fields have collations"),
    })
}

/// Refuses a call of a function that cannot follow the collation of its arguments.
pub(super) fn check_function(name: &str, types: &[SqlType], derived: &Derived) -> Result<()> {
    let is_conflict = derived.check_known().is_err();
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
        Reading::Regex if name.ends_with('*') || name.contains("icregex") => {
            check_case(name, derived)
        }
        Reading::Search if nondeterministic => refuse("substring searches"),
        Reading::Elements if is_conflict => Err(undecided("string comparison")),
        Reading::Elements if nondeterministic || name == "width_bucket" => {
            Err(refused(name, derived))
        }
        _ => Ok(()),
    }
}

/// 0A000 for a call of a function of a user whose arguments have a collation of ICU: its body
/// compares by bytes. The type of a row says to the body which collations its fields have.
pub(super) fn check_routine(routine: &Routine, derived: &Derived) -> Result<()> {
    let is_row = matches!(derived, Derived::Row(_));
    if is_row || (!matches!(derived, Derived::Conflict(..)) && !derived.has_order()) {
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
