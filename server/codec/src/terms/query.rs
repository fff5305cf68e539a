//! Which terms are asked for.

use super::bytes::Term;

/// The terms that a value has if a condition holds for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermQuery {
    /// Any value may do.
    Everything,
    /// No value does.
    Nothing,
    /// Values with this term.
    Term(Term),
    /// Values that all of these allow; at least two.
    And(Vec<TermQuery>),
    /// Values that one of these allows; at least two.
    Or(Vec<TermQuery>),
}

impl TermQuery {
    /// What all of these allow.
    pub fn all(parts: impl IntoIterator<Item = TermQuery>) -> Self {
        let mut list: Vec<TermQuery> = Vec::new();
        for part in parts {
            match part {
                TermQuery::Everything => {}
                TermQuery::Nothing => return TermQuery::Nothing,
                TermQuery::And(inner) => list.extend(inner),
                other => list.push(other),
            }
        }
        let mut seen: Vec<TermQuery> = Vec::with_capacity(list.len());
        for part in list {
            if !seen.contains(&part) {
                seen.push(part);
            }
        }
        match seen.len() {
            0 => TermQuery::Everything,
            1 => seen.remove(0),
            _ => TermQuery::And(seen),
        }
    }

    /// What one of these allows.
    pub fn any(parts: impl IntoIterator<Item = TermQuery>) -> Self {
        let mut list: Vec<TermQuery> = Vec::new();
        for part in parts {
            match part {
                TermQuery::Everything => return TermQuery::Everything,
                TermQuery::Nothing => {}
                TermQuery::Or(inner) => list.extend(inner),
                other => list.push(other),
            }
        }
        match list.len() {
            0 => TermQuery::Nothing,
            1 => list.remove(0),
            _ => TermQuery::Or(list),
        }
    }

    /// Values with all of these terms.
    pub(super) fn all_terms(terms: Vec<Term>) -> Self {
        TermQuery::all(terms.into_iter().map(TermQuery::Term))
    }

    /// Values with one of these terms.
    pub(super) fn any_term(terms: Vec<Term>) -> Self {
        TermQuery::any(terms.into_iter().map(TermQuery::Term))
    }
}
