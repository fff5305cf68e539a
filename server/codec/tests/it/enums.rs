//! Keys of enums sort as the labels do, wherever ADD VALUE has put them.

use std::sync::Arc;

use braid_codec::{key, value};
use braid_types::enums::order_between;
use braid_types::{Datum, EnumLabel, EnumType, SqlType};
use proptest::collection::vec;
use proptest::prelude::*;

/// A type whose labels were added one by one, each before the label at a random place.
fn grown(places: &[prop::sample::Index]) -> EnumType {
    let mut orders: Vec<i64> = Vec::new();
    for place in places {
        let at = place.index(orders.len() + 1);
        let before = at.checked_sub(1).map(|before| orders[before]);
        if let Some(order) = order_between(before, orders.get(at).copied()) {
            orders.insert(at, order);
        }
    }
    let label = |(number, order): (usize, &i64)| EnumLabel {
        oid: 20_000 + number as u32,
        order: *order,
        name: Arc::from(format!("label {number}")),
        is_uncommitted: false,
    };
    let labels = orders.iter().enumerate().map(label).map(Arc::new).collect();
    EnumType { oid: 16_384, array_oid: 16_385, labels, ..EnumType::default() }
}

proptest! {
    #[test]
    fn keys_sort_as_the_labels_and_read_back(places in vec(any::<prop::sample::Index>(), 1..80)) {
        let found = Arc::new(grown(&places));
        let ty = SqlType::Enum(found.clone());
        for descending in [false, true] {
            let mut keys = Vec::new();
            for label in &found.labels {
                let datum = Datum::Enum(label.clone());
                let mut bytes = Vec::new();
                key::encode(&mut bytes, &datum, &ty, descending);
                let read = key::decode(&mut bytes.as_slice(), &ty, descending).unwrap();
                prop_assert_eq!(&read.as_label().unwrap().name, &label.name);
                keys.push(bytes);
                let mut cell = Vec::new();
                value::encode_cell(&mut cell, &datum, &ty);
                let read = value::decode_cell(&cell, &ty).unwrap();
                prop_assert_eq!(&read.as_label().unwrap().name, &label.name);
            }
            let sorted = keys.windows(2).all(|two| (two[0] < two[1]) != descending);
            prop_assert!(sorted);
        }
    }
}

#[test]
fn an_order_that_no_label_has_is_an_error() {
    let ty = SqlType::Enum(Arc::new(EnumType::default()));
    let mut bytes = Vec::new();
    key::encode(&mut bytes, &Datum::Int(7), &SqlType::Int8, false);
    assert!(key::decode(&mut bytes.as_slice(), &ty, false).is_err());
    assert!(value::decode_cell(&[7], &ty).is_err());
}
