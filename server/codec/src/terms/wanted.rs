//! Which terms the value of a condition asks for.

use braid_types::{Array, Datum, JsonPath, SqlType};

use super::bytes::Term;
use super::class::TermClass;
use super::extract::terms_of;
use super::query::TermQuery;
use super::{array, jsonb, lexeme, path, trigram};

/// An operator between an indexed value and another one, seen from the indexed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermOperator {
    /// `@>`
    Contains,
    /// `<@`
    ContainedBy,
    /// `&&`
    Overlaps,
    /// `=`
    Equal,
    /// `x = ANY (…)`: an array has this element.
    HasElement,
    /// `= ANY (…)`: an array has the indexed value.
    EqualAny,
    /// `?`
    Exists,
    /// `?|`
    ExistsAny,
    /// `?&`
    ExistsAll,
    /// `@?`
    PathExists,
    /// `@@`
    PathMatches,
    /// `~~`
    Like,
    /// `~~*`
    ILike,
    /// `%` of texts
    Similar,
    /// `@@` of a vector and a query
    Matches,
}

impl TermOperator {
    /// The operator with that symbol, if terms of the class answer it. With `flipped` the indexed
    /// value is on the right.
    pub fn of(class: TermClass, symbol: &str, flipped: bool) -> Option<Self> {
        use TermOperator::{
            ContainedBy, Contains, Equal, Exists, ExistsAll, ExistsAny, ILike, Like, Matches,
            Overlaps, PathExists, PathMatches, Similar,
        };
        let symbol = match (symbol, flipped) {
            ("@>", true) => "<@",
            ("<@", true) => "@>",
            ("&&" | "=" | "%", true) => symbol,
            ("@@", true) if class == TermClass::Lexeme => symbol,
            (_, true) => return None,
            (symbol, false) => symbol,
        };
        Some(match (class, symbol) {
            (
                TermClass::Jsonb | TermClass::JsonbPath | TermClass::Array | TermClass::Hstore,
                "@>",
            ) => Contains,
            (TermClass::Jsonb | TermClass::Hstore, "?") => Exists,
            (TermClass::Jsonb | TermClass::Hstore, "?|") => ExistsAny,
            (TermClass::Jsonb | TermClass::Hstore, "?&") => ExistsAll,
            (TermClass::Jsonb | TermClass::JsonbPath, "@?") => PathExists,
            (TermClass::Jsonb | TermClass::JsonbPath, "@@") => PathMatches,
            (TermClass::Array, "<@") => ContainedBy,
            (TermClass::Array, "&&") => Overlaps,
            (TermClass::Array, "=") => Equal,
            (TermClass::Trigram, "~~") => Like,
            (TermClass::Trigram, "~~*") => ILike,
            (TermClass::Trigram, "%") => Similar,
            (TermClass::Lexeme, "@@") => Matches,
            _ => return None,
        })
    }

    /// How it is written. `HasElement` is written the other way round.
    pub fn symbol(self) -> &'static str {
        match self {
            TermOperator::Contains => "@>",
            TermOperator::ContainedBy => "<@",
            TermOperator::Overlaps => "&&",
            TermOperator::Equal | TermOperator::HasElement | TermOperator::EqualAny => "=",
            TermOperator::Exists => "?",
            TermOperator::ExistsAny => "?|",
            TermOperator::ExistsAll => "?&",
            TermOperator::PathExists => "@?",
            TermOperator::PathMatches | TermOperator::Matches => "@@",
            TermOperator::Like => "~~",
            TermOperator::ILike => "~~*",
            TermOperator::Similar => "%",
        }
    }
}

/// The terms that values have for which the operator holds with this value on its other side.
/// `ty` is the type of the indexed values. No operator holds for NULL.
pub fn wanted(class: TermClass, operator: TermOperator, value: &Datum, ty: &SqlType) -> TermQuery {
    match (operator, value) {
        (_, Datum::Null) => TermQuery::Nothing,
        (TermOperator::Contains, Datum::Array(array)) => array_contains(array),
        (TermOperator::Contains, json) => TermQuery::all_terms(terms_of(class, json, ty)),
        (TermOperator::ContainedBy, Datum::Array(array)) => array_contained(array),
        (TermOperator::Overlaps, Datum::Array(array)) => {
            TermQuery::any_term(present(array).collect())
        }
        (TermOperator::Equal, value) => TermQuery::all_terms(terms_of(class, value, ty)),
        (TermOperator::EqualAny, Datum::Array(array)) => {
            let items = array.items.iter().filter(|item| !item.is_null());
            TermQuery::any_term(items.map(|item| array::element(item, ty)).collect())
        }
        (TermOperator::HasElement, item) => match ty.element() {
            Some(element) => TermQuery::Term(array::element(item, element)),
            None => TermQuery::Everything,
        },
        (TermOperator::Exists, Datum::Text(key)) => TermQuery::Term(jsonb::key_term(key)),
        (TermOperator::ExistsAny, Datum::Array(keys)) => TermQuery::any(keys_of(keys)),
        (TermOperator::ExistsAll, Datum::Array(keys)) => TermQuery::all(keys_of(keys)),
        (TermOperator::Like | TermOperator::ILike, Datum::Text(pattern)) => {
            let mut terms = trigram::terms_of_pattern(pattern);
            terms.sort_unstable();
            terms.dedup();
            TermQuery::all_terms(terms)
        }
        (TermOperator::PathExists, Datum::Text(text)) => {
            JsonPath::parse(text).map_or(TermQuery::Everything, |path| path::exists(class, &path))
        }
        (TermOperator::PathMatches, Datum::Text(text)) => {
            JsonPath::parse(text).map_or(TermQuery::Everything, |path| path::is_true(class, &path))
        }
        (TermOperator::Matches, Datum::Bytes(query)) => lexeme::wanted(query),
        (TermOperator::Similar, Datum::Text(_)) => TermQuery::any_term(terms_of(class, value, ty)),
        _ => TermQuery::Everything,
    }
}

/// The terms of the elements that are not NULL.
fn present(array: &Array) -> impl Iterator<Item = Term> + '_ {
    let items = array.items.iter().filter(|item| !item.is_null());
    items.map(|item| array::term(array, item))
}

/// An array contains another one if it has all its elements. It never has a NULL.
fn array_contains(array: &Array) -> TermQuery {
    match array.items.iter().any(Datum::is_null) {
        true => TermQuery::Nothing,
        false => TermQuery::all_terms(present(array).collect()),
    }
}

/// An array that another one contains is empty, or has one of its elements.
fn array_contained(array: &Array) -> TermQuery {
    TermQuery::any_term(present(array).chain([array::empty()]).collect())
}

/// The keys that are asked for. NULL is no key.
fn keys_of(keys: &Array) -> impl Iterator<Item = TermQuery> + '_ {
    keys.items.iter().filter_map(|key| match key {
        Datum::Text(key) => Some(TermQuery::Term(jsonb::key_term(key))),
        _ => None,
    })
}
