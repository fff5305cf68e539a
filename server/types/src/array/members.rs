//! The elements of an array as a set, for `= ANY (array)` over many rows.

use std::collections::HashSet;

use super::Array;
use crate::{Datum, Result, work};

/// From this number of elements on a set pays, as in PostgreSQL.
const SET_MIN: usize = 9;
/// Memory of an element in a set, roughly.
const ENTRY_BYTES: usize = size_of::<Datum>() + 8;

impl Array {
    /// Its elements as a set, which is kept with the array; `None` of few elements. 53200 if the
    /// statement's memory does not suffice.
    pub fn members(&self) -> Result<Option<&HashSet<Datum>>> {
        if self.items.len() < SET_MIN {
            return Ok(None);
        }
        if self.members.0.get().is_none() {
            work::afford(self.items.len() * ENTRY_BYTES)?;
        }
        Ok(Some(self.members.0.get_or_init(|| self.items.iter().cloned().collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlType;

    #[test]
    fn a_changed_copy_has_members_of_its_own() {
        let items: Vec<Datum> = (0..20).map(Datum::Int).collect();
        let array = Array::new(SqlType::Int8, items);
        let has = |array: &Array, n| {
            let members = array.members().expect("memory").expect("a set");
            members.contains(&Datum::Int(n))
        };
        assert!(has(&array, 7) && !has(&array, 99));
        let changed = array.with_item(&[8], Datum::Int(99)).expect("inside");
        assert!(!has(&changed, 7) && has(&changed, 99) && has(&array, 7));
        assert!(Array::new(SqlType::Int8, vec![Datum::Int(1)]).members().expect("few").is_none());
    }
}
