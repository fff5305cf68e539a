//! The end of a prefix: what belongs to it is inside, its neighbours are not.
//!
//! A range delete goes from a prefix to its end, so an end that is wrong by one byte deletes other
//! rows, or leaves some. Rows here have key columns of every type in both directions, families,
//! and interleaved children; a prefix is any number of a row's key columns.

#[allow(dead_code, reason = "shared with the other tests of keys and values")]
use braid_codec::key;
use braid_kv::{Span, prefix_end};
use braid_types::{Datum, SqlType};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{any_datum, any_type};

/// Key columns with their directions, and values for three rows.
#[derive(Clone, Debug)]
struct Rows {
    columns: Vec<(SqlType, bool)>,
    values: Vec<Vec<Datum>>,
}

fn rows() -> impl Strategy<Value = Rows> {
    vec((any_type(), any::<bool>()), 1..4).prop_flat_map(|columns| {
        let row: Vec<_> = columns.iter().map(|(ty, _)| any_datum(ty)).collect();
        vec(row, 3).prop_map(move |values| Rows { columns: columns.clone(), values })
    })
}

impl Rows {
    /// The first `count` key columns of a row.
    fn prefix(&self, row: &[Datum], count: usize) -> Vec<u8> {
        let mut out = key::index_prefix(106, 1);
        for ((ty, descending), value) in self.columns.iter().zip(row).take(count) {
            key::encode(&mut out, value, ty, *descending);
        }
        out
    }

    /// Keys of a row: its families, children, and children of those.
    fn keys(&self, row: &[Datum]) -> Vec<Vec<u8>> {
        let own = self.prefix(row, self.columns.len());
        let family = |number| {
            let mut out = own.clone();
            key::encode_family(&mut out, number);
            out
        };
        let mut child = own.clone();
        key::encode_interleave(&mut child, 107, 1);
        key::encode(&mut child, &Datum::Int(7), &SqlType::Int8, true);
        let mut grandchild = child.clone();
        key::encode_interleave(&mut grandchild, u32::MAX, u16::MAX);
        key::encode(&mut grandchild, &Datum::Null, &SqlType::Text, false);
        vec![family(0), family(1), family(u16::MAX), child, grandchild]
    }

    fn same_start(&self, a: &[Datum], b: &[Datum], count: usize) -> bool {
        let pairs = self.columns.iter().zip(a.iter().zip(b)).take(count);
        pairs.into_iter().all(|((ty, _), (a, b))| match (a.is_null(), b.is_null()) {
            (false, false) => a.compare_typed(b, ty).is_eq(),
            (a, b) => a == b,
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_prefix_holds_its_rows_and_no_neighbours(rows in rows(), swap in 0usize..4) {
        let mut values = rows.values.clone();
        // Rows that share some first columns are the interesting neighbours.
        let shared = swap.min(rows.columns.len());
        values[1] = [&values[0][..shared], &values[1][shared..]].concat();
        for count in 0..=rows.columns.len() {
            let span = Span::prefix(rows.prefix(&values[0], count));
            for row in &values {
                let inside = rows.same_start(&values[0], row, count);
                for key in rows.keys(row) {
                    prop_assert_eq!(span.contains(&key), inside, "{:?} {:?}", span, key);
                }
            }
        }
    }

    #[test]
    fn every_key_with_the_prefix_is_below_its_end_and_no_other(
        prefix in vec(prop_oneof![Just(0xffu8), Just(0u8), any::<u8>()], 1..6),
        other in vec(prop_oneof![Just(0xffu8), Just(0u8), any::<u8>()], 0..8),
        tail in vec(prop_oneof![Just(0xffu8), any::<u8>()], 0..8),
    ) {
        let end = prefix_end(&prefix);
        prop_assert!(end > prefix);
        prop_assert!([&prefix[..], &tail[..]].concat() < end);
        if prefix.iter().any(|&byte| byte != 0xff) {
            let inside = prefix <= other && other < end;
            prop_assert_eq!(inside, other.starts_with(&prefix));
            // It is the lowest such end: the key right below it has the prefix.
            prop_assert!(!end.starts_with(&prefix) && end.len() <= prefix.len());
            prop_assert!(end.last().is_some_and(|&last| last > 0));
        }
    }

    #[test]
    fn spans_of_different_prefixes_of_one_length_are_apart(rows in rows()) {
        for count in 1..=rows.columns.len() {
            let span = |row: usize| Span::prefix(rows.prefix(&rows.values[row], count));
            for (a, b) in [(0, 1), (1, 2), (0, 2)] {
                let same = rows.same_start(&rows.values[a], &rows.values[b], count);
                prop_assert_eq!(span(a) == span(b), same);
                prop_assert_eq!(span(a).overlaps(&span(b)), same);
            }
        }
    }
}

#[test]
fn bytes_at_the_edges() {
    assert_eq!(prefix_end(b"a"), b"b");
    assert_eq!(prefix_end(b"a\xff\xff"), b"b");
    assert_eq!(prefix_end(b"a\0"), b"a\x01");
    let all = prefix_end(b"\xff\xff");
    assert!(all > b"\xff\xff\xff\xff".to_vec(), "open to the end of the store");
}
