//! Terms that a JSON path asks for: `@?` and `@@`.
//!
//! ```text
//!   $.a ? (@.b == 1)      keys and scalars   K a, K b and N 1
//!                         paths              a b 1
//! ```
//!
//! Of a path only what must be in the document counts: the keys of its steps, and scalars that it
//! is equal to. Negations, other comparisons and computed values ask for nothing more.

use braid_types::jsonpath::{Comparison, Expr, Head, Predicate, Step};
use braid_types::{Json, JsonPath};

use super::bytes::Hash;
use super::class::TermClass;
use super::jsonb;
use super::query::TermQuery;

/// The terms of documents in which a path finds something.
pub(super) fn exists(class: TermClass, path: &JsonPath) -> TermQuery {
    Reading { class }.exists(&path.expr, Place::root()).query
}

/// The terms of documents for which a path gives true.
pub(super) fn is_true(class: TermClass, path: &JsonPath) -> TermQuery {
    let reading = Reading { class };
    match (&path.expr.head, path.expr.steps.is_empty()) {
        (Head::Predicate(predicate), true) => reading.holds(predicate, Place::root()),
        _ => reading.equals(&path.expr, &Json::Bool(true), Place::root()),
    }
}

/// Where a path is.
#[derive(Clone, Copy)]
struct Place {
    /// The hash of the keys above; `None` if they are unknown.
    above: Option<Hash>,
    /// Whether the items are parts of the document.
    is_inside: bool,
}

impl Place {
    fn root() -> Self {
        Place { above: Some(Hash::default()), is_inside: true }
    }

    fn elsewhere() -> Self {
        Place { above: None, is_inside: false }
    }
}

/// What is known after the steps of a path.
struct Found {
    query: TermQuery,
    place: Place,
}

struct Reading {
    class: TermClass,
}

impl Reading {
    /// What has to be there for a path to give an item.
    fn exists(&self, path: &Expr, current: Place) -> Found {
        let mut place = match path.head {
            Head::Root => Place::root(),
            Head::Current => current,
            _ => Place::elsewhere(),
        };
        let mut queries = Vec::new();
        for step in &path.steps {
            if !place.is_inside {
                break;
            }
            match step {
                Step::Key(key) => {
                    if self.class == TermClass::Jsonb {
                        queries.push(TermQuery::Term(jsonb::key_term(key)));
                    }
                    place.above = place.above.map(|above| jsonb::with_key(above, key));
                }
                Step::AnyKey | Step::Any { .. } => place.above = None,
                Step::AnyElement | Step::Elements(_) => {}
                Step::Filter(predicate) => queries.push(self.holds(predicate, place)),
                Step::Method(_) | Step::Datetime(_) => place = Place::elsewhere(),
            }
        }
        Found { query: TermQuery::all(queries), place }
    }

    /// What has to be there for a condition to be true.
    fn holds(&self, predicate: &Predicate, current: Place) -> TermQuery {
        match predicate {
            Predicate::And(sides) => {
                TermQuery::all([self.holds(&sides.0, current), self.holds(&sides.1, current)])
            }
            Predicate::Or(sides) => {
                TermQuery::any([self.holds(&sides.0, current), self.holds(&sides.1, current)])
            }
            Predicate::Compare(comparison, sides) => {
                let (a, b) = (&sides.0, &sides.1);
                match (comparison, scalar(a), scalar(b)) {
                    (Comparison::Equal, None, Some(value)) => self.equals(a, &value, current),
                    (Comparison::Equal, Some(value), None) => self.equals(b, &value, current),
                    _ => TermQuery::all([a, b].map(|path| self.exists(path, current).query)),
                }
            }
            Predicate::StartsWith(path, _) | Predicate::LikeRegex(path, _) => {
                self.exists(path, current).query
            }
            Predicate::Exists(path) => self.exists(path, current).query,
            Predicate::Not(_) | Predicate::IsUnknown(_) => TermQuery::Everything,
        }
    }

    /// What has to be there for a path to give this scalar.
    fn equals(&self, path: &Expr, value: &Json, current: Place) -> TermQuery {
        let Found { query, place } = self.exists(path, current);
        if !place.is_inside {
            return query;
        }
        let scalar = match (self.class, value, place.above) {
            (TermClass::Jsonb, Json::String(text), _) => {
                let terms = [jsonb::key_term(text), jsonb::scalar_term(value)];
                TermQuery::any(terms.map(TermQuery::Term))
            }
            (TermClass::Jsonb, value, _) => TermQuery::Term(jsonb::scalar_term(value)),
            (_, value, Some(above)) => TermQuery::Term(jsonb::path_term(above, value)),
            (_, _, None) => TermQuery::Everything,
        };
        TermQuery::all([query, scalar])
    }
}

/// The scalar that an expression is written as.
fn scalar(path: &Expr) -> Option<Json> {
    if !path.steps.is_empty() {
        return None;
    }
    Some(match &path.head {
        Head::Null => Json::Null,
        Head::Bool(value) => Json::Bool(*value),
        Head::Number(number) => Json::Number(number.clone()),
        Head::String(text) => Json::string(text.clone()),
        _ => return None,
    })
}
