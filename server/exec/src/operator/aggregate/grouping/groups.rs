//! The groups of an aggregate, by key.

use braid_types::{Datum, Row, SqlType};

use crate::operator::aggregate::call::State;
use crate::operator::key_form::{KeyForm, KeyMap};

/// The groups of one grouping set: numbers by key.
pub(super) struct GroupingSet {
    pub(super) places: Vec<usize>,
    /// The form of its keys.
    form: KeyForm,
    pub(super) table: Table,
}

/// The numbers of groups by key.
pub(super) enum Table {
    /// Everything is one group.
    Whole(Option<usize>),
    One(KeyMap<Datum, usize>),
    Many(KeyMap<Row, usize>),
}

/// A group.
pub(crate) struct Group {
    pub(super) set: usize,
    pub(super) key: Row,
    pub(super) states: Vec<State>,
}

impl Table {
    pub(super) fn new(columns: usize) -> Self {
        match columns {
            0 => Table::Whole(None),
            1 => Table::One(KeyMap::default()),
            _ => Table::Many(KeyMap::default()),
        }
    }
}

impl GroupingSet {
    pub(super) fn new(places: Vec<usize>, types: &[SqlType]) -> Self {
        let form = KeyForm::new(places.iter().filter_map(|place| types.get(*place)));
        Self { table: Table::new(places.len()), places, form }
    }

    /// The same set without groups.
    pub(super) fn renewed(&self) -> Self {
        let (places, form) = (self.places.clone(), self.form.clone());
        Self { table: Table::new(places.len()), places, form }
    }

    /// The number of the group of this row if there is one, and the row's key.
    pub(super) fn known(&self, values: &[Datum]) -> (Option<usize>, Row) {
        let mut key: Row = self.places.iter().map(|place| values[*place].clone()).collect();
        self.form.apply(&mut key);
        let group = match (&self.table, key.as_slice()) {
            (Table::Whole(group), _) => *group,
            (Table::One(table), [key]) => table.get(key).copied(),
            (Table::One(_), _) => None,
            (Table::Many(table), key) => table.get(key).copied(),
        };
        (group, key)
    }

    /// The number of the group of this row, or `next` if it is a new one with this key.
    pub(super) fn find<'v>(
        &mut self,
        value_of: impl Fn(usize) -> &'v Datum,
        scratch: &mut Row,
        next: usize,
    ) -> (usize, Option<Row>) {
        match &mut self.table {
            Table::Whole(Some(group)) => (*group, None),
            Table::Whole(group) => {
                *group = Some(next);
                (next, Some(Row::new()))
            }
            Table::One(table) => {
                let value = value_of(self.places[0]);
                if let Some(group) = table.get(value) {
                    return (*group, None);
                }
                let mut key = [value.clone()];
                self.form.apply(&mut key);
                let [key] = key;
                if let Some(group) = (!self.form.is_plain()).then(|| table.get(&key)).flatten() {
                    return (*group, None);
                }
                table.insert(key, next);
                (next, Some(vec![value.clone()]))
            }
            Table::Many(table) => {
                scratch.clear();
                scratch.extend(self.places.iter().map(|place| value_of(*place).clone()));
                self.form.apply(scratch);
                if let Some(group) = table.get(scratch.as_slice()) {
                    return (*group, None);
                }
                table.insert(scratch.clone(), next);
                (next, Some(self.places.iter().map(|place| value_of(*place).clone()).collect()))
            }
        }
    }
}
