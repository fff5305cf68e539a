//! Terms of arrays: their elements. An array without elements has a term of its own, so that `<@`
//! finds it.

use braid_types::{Array, Datum};

use super::bytes::{Term, bounded};
use crate::key;

/// Begins the term of a long element. No key begins with it.
const LONG: u8 = 0xff;

/// The terms of an array.
pub(super) fn terms(array: &Array) -> Vec<Term> {
    match array.items.is_empty() {
        true => vec![empty()],
        false => array.items.iter().map(|item| term(array, item)).collect(),
    }
}

/// The term of an array without elements.
pub(super) fn empty() -> Term {
    Term::new()
}

/// The term of an element, perhaps NULL.
pub(super) fn term(array: &Array, item: &Datum) -> Term {
    element(item, &array.element)
}

/// The term of a value of a type: an element, or one that is looked for among elements.
pub(super) fn element(item: &Datum, ty: &braid_types::SqlType) -> Term {
    let mut term = Term::new();
    key::encode(&mut term, item, ty, false);
    bounded(term, LONG)
}
