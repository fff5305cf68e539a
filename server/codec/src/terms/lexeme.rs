//! Terms of `tsvector`: its lexemes. Places and weights are looked at in the row.
//!
//! ```text
//!   'cat' & ( 'dog' | 'rat':B ) & !'mouse'     cat and (dog or rat)
//! ```
//!
//! A prefix asks for no term, since the entries of a term are found by all of it.

use braid_types::search::{Item, Operator, Query, Vector};

use super::bytes::{Term, bounded};
use super::query::TermQuery;

/// Begins the term of a long lexeme. No lexeme begins with it.
const LONG: u8 = 0xff;
/// Of more lexemes that must all be there, these decide.
const ALL_MAX: usize = 64;
/// Operators that alternate more deeply ask for nothing.
const DEPTH_MAX: usize = 16;

/// The terms of a vector's bytes.
pub(super) fn terms(vector: &[u8]) -> Vec<Term> {
    let Ok(vector) = Vector::read(vector) else { return Vec::new() };
    vector.lexemes.iter().map(|lexeme| term(lexeme.text)).collect()
}

fn term(lexeme: &str) -> Term {
    bounded(lexeme.as_bytes().to_vec(), LONG)
}

/// What a part of a query asks for, and how deeply its operators alternate.
struct Part {
    is_any: bool,
    list: Vec<TermQuery>,
    depth: usize,
}

impl Part {
    fn all(list: Vec<TermQuery>, depth: usize) -> Self {
        Part { is_any: false, list, depth }
    }

    /// Whether any vector may match.
    fn is_everything(&self) -> bool {
        !self.is_any && self.list.is_empty()
    }

    fn into_query(self) -> TermQuery {
        if self.is_any { TermQuery::any(self.list) } else { TermQuery::all(self.list) }
    }

    /// The part as parts of a list of that kind.
    fn into_list(self, is_any: bool) -> Vec<TermQuery> {
        if self.is_any == is_any { self.list } else { vec![self.into_query()] }
    }

    fn joined(self, other: Part, is_any: bool) -> Part {
        if self.is_everything() || other.is_everything() {
            return match is_any {
                true => Part::all(Vec::new(), 0),
                false if self.is_everything() => other,
                false => self,
            };
        }
        let inner = |part: &Part| part.depth + usize::from(part.is_any != is_any);
        let depth = inner(&self).max(inner(&other));
        if depth > DEPTH_MAX {
            return Part::all(Vec::new(), 0);
        }
        let mut list = self.into_list(is_any);
        list.extend(other.into_list(is_any));
        if !is_any {
            list.truncate(ALL_MAX);
        }
        Part { is_any, list, depth }
    }
}

/// The terms of vectors that a query's bytes match. An empty query matches nothing.
pub(super) fn wanted(query: &[u8]) -> TermQuery {
    let Ok(query) = Query::read(query) else { return TermQuery::Everything };
    let mut stack: Vec<Part> = Vec::new();
    for item in &query.items {
        let part = match item {
            Item::Value { is_prefix: true, .. } => Part::all(Vec::new(), 0),
            Item::Value { text, .. } => Part::all(vec![TermQuery::Term(term(text))], 0),
            Item::Operator(Operator::Not) => {
                stack.pop();
                Part::all(Vec::new(), 0)
            }
            Item::Operator(operator) => {
                let (Some(right), Some(left)) = (stack.pop(), stack.pop()) else {
                    return TermQuery::Everything;
                };
                left.joined(right, *operator == Operator::Or)
            }
        };
        stack.push(part);
    }
    stack.pop().map_or(TermQuery::Nothing, Part::into_query)
}

#[cfg(test)]
mod tests {
    use braid_types::Datum;

    use super::*;

    fn asked(text: &str) -> TermQuery {
        let Ok(Datum::Bytes(query)) = Query::parse(text) else { panic!("a query: {text}") };
        wanted(&query)
    }

    fn of(lexeme: &str) -> TermQuery {
        TermQuery::Term(term(lexeme))
    }

    #[test]
    fn necessary_lexemes_are_asked_for() {
        assert_eq!(asked("a"), of("a"));
        assert_eq!(asked("a:B & b"), TermQuery::And(vec![of("a"), of("b")]));
        assert_eq!(asked("a <-> b"), TermQuery::And(vec![of("a"), of("b")]));
        assert_eq!(asked("a | b"), TermQuery::Or(vec![of("a"), of("b")]));
        assert_eq!(asked("a & !b"), of("a"));
        assert_eq!(asked("a & b:*"), of("a"));
        assert_eq!(asked("a | !b"), TermQuery::Everything);
        assert_eq!(asked("a | b:*"), TermQuery::Everything);
        assert_eq!(asked("!a"), TermQuery::Everything);
        let either = TermQuery::Or(vec![of("b"), of("c")]);
        assert_eq!(asked("a & (b | c)"), TermQuery::And(vec![of("a"), either]));
        assert_eq!(asked(""), TermQuery::Nothing);
    }

    #[test]
    fn what_alternates_deeply_asks_for_little() {
        let deep = "a & (b | (".repeat(1_000) + "c" + &"))".repeat(1_000);
        // What is asked for is small, and is never more than what must be there.
        let TermQuery::And(parts) = asked(&deep) else { panic!("several parts") };
        assert_eq!(parts.first(), Some(&of("a")));
        assert!(parts.len() <= 2, "{parts:?}");
        let long = vec!["a"; 10_000].join(" | ");
        assert!(matches!(asked(&long), TermQuery::Or(_)));
    }
}
