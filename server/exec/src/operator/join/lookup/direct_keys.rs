//! Keys of lookups that are made of columns of left rows, constants and parameters alone, without
//! evaluating an expression for each left row.

use std::borrow::Cow;

use braid_kv::Key;
use braid_plan::{Bound, Expr};
use braid_types::Datum;

use crate::operator::scan::reader::KeyBounds;

/// Room for the columns and the family in a key.
const KEY_BYTES: usize = 32;

/// Where the value of each bound comes from.
pub(super) struct DirectKeys(Vec<Source>);

enum Source {
    /// A column of the left row.
    Left(usize),
    Const(Datum),
    Param(usize),
}

impl DirectKeys {
    /// The sources of bounds; `None` if some bound needs more.
    pub(super) fn new(bounds: &KeyBounds, outer: &[Expr]) -> Option<Self> {
        if bounds.bounds.is_empty() {
            return None;
        }
        bounds.bounds.iter().map(|bound| Source::of(bound, outer)).collect::<Option<_>>().map(Self)
    }

    /// What the keys begin with that a left row looks up; `None` if a value is NULL, which no
    /// comparison finds.
    pub(super) fn key<'v>(
        &'v self,
        bounds: &KeyBounds,
        params: &'v [Datum],
        column: impl Fn(usize) -> Cow<'v, Datum>,
    ) -> Option<Key> {
        let mut key = Vec::with_capacity(bounds.prefix.len() + KEY_BYTES);
        key.extend_from_slice(&bounds.prefix);
        for (source, target) in self.0.iter().zip(&bounds.columns) {
            let value = match source {
                Source::Left(place) => column(*place),
                Source::Const(value) => Cow::Borrowed(value),
                Source::Param(place) => Cow::Borrowed(params.get(*place)?),
            };
            if value.is_null() {
                return None;
            }
            target.encode(&mut key, &value);
        }
        Some(key)
    }
}

impl Source {
    fn of(bound: &Bound, outer: &[Expr]) -> Option<Self> {
        let Bound::In(list) = bound else { return None };
        let [value] = list.as_slice() else { return None };
        match value {
            Expr::Const(value, _) => Some(Source::Const(value.clone())),
            Expr::Param(place, _) => Some(Source::Param(*place)),
            Expr::Outer(place, _) => match outer.get(*place)? {
                Expr::Input(place, _) => Some(Source::Left(*place)),
                _ => None,
            },
            _ => None,
        }
    }
}
