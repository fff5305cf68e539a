//! Scans of one kind of keys among others: what comes out is what a plain scan would show of that
//! kind, in both directions, with own writes and range deletes, whether gaps are short or long.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use braid_kv::{KeyShape, ScanRequest, Span};
use braid_kv_embedded::EmbeddedOptions;
use proptest::prelude::*;
use std::sync::Arc;

/// Parents are two digits, children two digits and more.
#[derive(Debug)]
struct Parents;

impl KeyShape for Parents {
    fn gap(&self, key: &[u8]) -> Option<Span> {
        (key.len() > 2).then(|| Span::new([&key[..2], b"#"].concat(), [&key[..2], b"$"].concat()))
    }
    fn has_all_of(&self, _: &Span) -> bool {
        false
    }
    fn name(&self) -> &[u8] {
        b"parents"
    }
}

/// The children of one sort, `p#b…`, between those of others.
#[derive(Debug)]
struct Middle;

impl KeyShape for Middle {
    fn gap(&self, key: &[u8]) -> Option<Span> {
        let parent = &key[..2];
        let at = |end: &[u8]| [parent, end].concat();
        match key.get(2..4) {
            Some(b"#b") => None,
            Some(sort) if sort > b"#b".as_slice() => Some(Span::new(at(b"#c"), at(b"~"))),
            _ => Some(Span::new(at(b""), at(b"#b"))),
        }
    }
    fn has_all_of(&self, span: &Span) -> bool {
        span.start.get(2..4) == Some(b"#b") && span.end.starts_with(&span.start[..4])
    }
    fn name(&self) -> &[u8] {
        b"middle"
    }
}

fn any_key() -> impl Strategy<Value = String> {
    let sort = prop_oneof![2 => Just(None), 3 => (0u8..3, 0u16..40).prop_map(Some)];
    (0u8..12, sort).prop_map(|(parent, below)| match below {
        None => format!("{parent:02}"),
        Some((sort, n)) => format!("{parent:02}#{}{n:02}", char::from(b'a' + sort)),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_shaped_scan_shows_the_plain_scans_keys_of_its_kind(
        stored in prop::collection::vec(any_key(), 0..400),
        own in prop::collection::vec((any_key(), any::<bool>()), 0..30),
        deleted in prop::option::of((0u8..12, 0u8..12)),
        ends in (0u8..12, 0u8..14),
        limit in prop_oneof![Just(0usize), 1usize..20],
        cached: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let db = open_with(dir.path(), EmbeddedOptions {
                sync: false,
                range_cache_scan_bytes_min: if cached { 0 } else { 1 << 20 },
                ..EmbeddedOptions::default()
            });
            let t = serializable(&db);
            let s = t.next_statement();
            for key in &stored {
                t.put(s, key.as_str(), b"stored".to_vec()).unwrap();
            }
            t.commit_or_error().await.unwrap();
            if let Some((from, to)) = deleted {
                let t = serializable(&db);
                let s = t.next_statement();
                t.writes().delete_span(s, Span::new(format!("{from:02}"), format!("{to:02}"))).unwrap();
                t.commit_or_error().await.unwrap();
            }
            let t = serializable(&db);
            let s = t.next_statement();
            for (key, put) in &own {
                match put {
                    true => t.put(s, key.as_str(), b"own".to_vec()).unwrap(),
                    false => t.delete(s, key.as_str()).unwrap(),
                }
            }
            let span = Span::new(format!("{:02}", ends.0), format!("{:02}", ends.1));
            let shapes: [Arc<dyn KeyShape>; 2] = [Arc::new(Parents), Arc::new(Middle)];
            for (reverse, shape) in [(false, 0), (true, 0), (false, 1), (true, 1), (false, 0)] {
                let shape = &shapes[shape];
                let plain = ScanRequest::new(span.clone()).reverse(reverse);
                let shaped = plain.clone().limit_rows(limit).shape(Some(shape));
                let mut lists = Vec::new();
                for request in [plain, shaped] {
                    let mut scanner = t.scanner(t.next_statement(), request);
                    let mut found = Vec::new();
                    while let Some(batch) = scanner.next_batch().await.unwrap() {
                        assert!(limit == 0 || lists.is_empty() || batch.len() <= limit);
                        found.extend(batch.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
                    }
                    lists.push(found);
                }
                let shaped = lists.pop().unwrap();
                let mut plain = lists.pop().unwrap();
                plain.retain(|(key, _)| shape.gap(key).is_none());
                assert_eq!(shaped, plain, "reverse {reverse}");
            }
        });
    }
}
