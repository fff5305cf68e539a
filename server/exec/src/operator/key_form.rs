//! The form in which values are keys of hash tables: what is equal has the same form. And the
//! hash tables themselves.

use std::collections::HashMap;

use braid_plan::Expr;
use braid_types::{Datum, Row, SqlType, ignores_blanks, strip_blanks};

/// Hashes keys of rows. The standard library's hasher takes several times longer for an integer.
/// Each table has a seed of its own, so that nobody can choose rows whose hashes collide.
pub(crate) type KeyHasher = foldhash::fast::RandomState;

/// Values by key.
pub(crate) type KeyMap<K, V> = HashMap<K, V, KeyHasher>;

/// A set of keys. That of hashbrown looks for a key and inserts a copy of it with one search.
pub(crate) type KeySet<K> = hashbrown::HashSet<K, KeyHasher>;

/// The columns of a row whose equal values may differ, with their types. Most rows have none.
#[derive(Clone)]
pub(crate) struct KeyForm(Vec<(usize, SqlType)>);

impl KeyForm {
    /// The form of rows of these types.
    pub(crate) fn new<'t>(types: impl IntoIterator<Item = &'t SqlType>) -> Self {
        let all = types.into_iter().enumerate();
        Self(all.filter(|(_, ty)| ignores_blanks(ty)).map(|(i, ty)| (i, ty.clone())).collect())
    }

    /// The form of what these expressions give.
    pub(crate) fn of_exprs(exprs: &[Expr]) -> Self {
        let types: Vec<SqlType> = exprs.iter().map(Expr::ty).collect();
        Self::new(&types)
    }

    /// Whether a row is its own form.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// Brings a row into the form.
    pub(crate) fn apply(&self, row: &mut [Datum]) {
        for (place, ty) in &self.0 {
            if let Some(value) = row.get_mut(*place) {
                strip_blanks(value, ty);
            }
        }
    }

    /// A copy of a row in the form.
    pub(crate) fn key(&self, row: &[Datum]) -> Row {
        let mut key = row.to_vec();
        self.apply(&mut key);
        key
    }
}
