//! Enums: a type's labels with their order, and the values that refer to them.
//!
//! A label has a number that never changes and is never used again, its *order*. It stands for the
//! label in keys and in rows, so a renamed label changes no row, and keys sort as the labels do. A
//! new label between two others takes a number between theirs:
//!
//! ```text
//!   CREATE TYPE mood AS ENUM ('sad', 'happy')     sad 1·2³²   happy 2·2³²
//!   ALTER TYPE mood ADD VALUE 'ok' AFTER 'sad'    sad 1·2³²   ok 1.5·2³²   happy 2·2³²
//! ```
//!
//! Rules: two types are equal if they have the same oid, whatever labels they know; a value holds
//! its label, so that it prints without its type.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serializer};

use crate::{Error, Result, SqlState};

/// The distance between the orders of labels that are made one after the other.
pub const ORDER_STEP: i64 = 1 << 32;
/// The most bytes of a label.
pub const LABEL_BYTES_MAX: usize = 63;

/// A label of an enum.
#[derive(Debug)]
pub struct EnumLabel {
    /// Its oid in `pg_enum`.
    pub oid: u32,
    /// Its place among the labels, and what stands for it in keys and rows.
    pub order: i64,
    /// Its text.
    pub name: Arc<str>,
    /// Added by a transaction that has not committed, to a type that others know already.
    pub is_uncommitted: bool,
}

impl EnumLabel {
    /// `pg_enum.enumsortorder`.
    pub fn sort_order(&self) -> f64 {
        (self.order as f64 / ORDER_STEP as f64) as f32 as f64
    }
}

/// An enum type with the labels that it had when its catalog was read.
#[derive(Debug, Default)]
pub struct EnumType {
    /// Its oid.
    pub oid: u32,
    /// The oid of the type of its arrays.
    pub array_oid: u32,
    /// Its name, as `pg_type` has it.
    pub name: String,
    /// The name of the type of its arrays.
    pub array_name: String,
    /// Its name as messages show it.
    pub display: String,
    /// The name of the type of its arrays as messages show it.
    pub array_display: String,
    /// Its labels, in order.
    pub labels: Vec<Arc<EnumLabel>>,
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}
impl Eq for EnumType {}
impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

impl EnumType {
    /// The label of that text.
    pub fn label(&self, name: &str) -> Option<&Arc<EnumLabel>> {
        self.labels.iter().find(|label| &*label.name == name)
    }

    /// The label of that order.
    pub fn label_at(&self, order: i64) -> Option<&Arc<EnumLabel>> {
        let found = self.labels.binary_search_by_key(&order, |label| label.order);
        found.ok().and_then(|place| self.labels.get(place))
    }

    /// The label of a text, for a value. 22P02 if there is no such label, 55P04 for one that
    /// another transaction would not know yet.
    pub fn parse(&self, text: &str) -> Result<Arc<EnumLabel>> {
        let Some(label) = self.label(text) else {
            let name = &self.display;
            let message = format!("invalid input value for enum {name}: \"{text}\"");
            return Err(Error::new(SqlState::InvalidTextRepresentation, message));
        };
        self.check_usable(label)?;
        Ok(label.clone())
    }

    /// 55P04 for a label that another transaction would not know yet.
    pub fn check_usable(&self, label: &EnumLabel) -> Result<()> {
        if label.is_uncommitted {
            let (label, name) = (&label.name, &self.display);
            let message = format!("unsafe use of new value \"{label}\" of enum type {name}");
            return Err(Error::new(SqlState::UnsafeNewEnumValueUsage, message)
                .hint("New enum values must be committed before they can be used."));
        }
        Ok(())
    }
}

/// The order of a new label between its neighbours; `None` if no number is free there.
pub fn order_between(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    match (before, after) {
        (None, None) => Some(ORDER_STEP),
        (Some(before), None) => before.checked_add(ORDER_STEP),
        (None, Some(after)) => after.checked_sub(ORDER_STEP),
        (Some(before), Some(after)) => {
            let middle = before + (after - before) / 2;
            (middle > before).then_some(middle)
        }
    }
}

/// Values of one type compare by the order of their labels.
pub(crate) fn compare(a: &EnumLabel, b: &EnumLabel) -> Ordering {
    a.order.cmp(&b.order)
}

/// A descriptor keeps the oid alone; the catalog adds the labels when it reads the descriptor.
pub(crate) mod by_oid {
    use super::{Arc, Deserialize, Deserializer, EnumType, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        ty: &Arc<EnumType>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(ty.oid)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<EnumType>, D::Error> {
        let oid = u32::deserialize(deserializer)?;
        Ok(Arc::new(EnumType { oid, ..EnumType::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_label_is_placed_between_its_neighbours_until_no_number_is_left() {
        let (mut low, high) = (ORDER_STEP, 2 * ORDER_STEP);
        let mut count = 0;
        while let Some(middle) = order_between(Some(low), Some(high)) {
            assert!(low < middle && middle < high);
            (low, count) = (middle, count + 1);
        }
        assert_eq!(count, 32);
        assert_eq!(order_between(Some(high), None), Some(3 * ORDER_STEP));
        assert_eq!(order_between(None, Some(ORDER_STEP)), Some(0));
        assert_eq!(order_between(None, Some(0)), Some(-ORDER_STEP));
    }
}
