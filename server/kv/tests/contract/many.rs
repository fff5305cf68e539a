//! Many keys at once: they are read, checked and proved as if they were few.

use super::helpers::*;
use braid_kv::{CommitOutcome, Database, Error, Key, Span};

fn key(i: usize) -> Key {
    format!("k{i:05}").into_bytes()
}

async fn put_all(db: &Database, keys: impl Iterator<Item = usize>) {
    let t = serializable(db);
    let s = t.next_statement();
    keys.for_each(|i| t.put(s, key(i), i.to_string().into_bytes()).unwrap());
    t.commit_or_error().await.unwrap();
}

#[tokio::test]
async fn many_keys_are_read_as_one_by_one() {
    let (db, _guard) = super::super::database().await;
    put_all(&db, (0..1_000).filter(|i| i % 3 != 1)).await;
    let t = serializable(&db);
    let s = t.next_statement();
    t.writes().delete_span(s, Span::new(key(300), key(400))).unwrap();
    (700..800).for_each(|i| t.delete(s, key(i)).unwrap());
    t.commit_or_error().await.unwrap();
    let t = serializable(&db);
    let s = t.next_statement();
    // Neighbours and keys from anywhere, not in order, some of them twice.
    for step in [1, 7, 611] {
        let keys: Vec<Key> = (0..400).map(|i| key((250 + i * step) % 1_009)).collect();
        let keys: Vec<Key> = keys.iter().rev().chain(&keys[..50]).cloned().collect();
        let values = t.reads().multi_get(s, &keys).await.unwrap();
        for (key, value) in keys.iter().zip(values) {
            assert_eq!(value, t.get(s, key).await.unwrap(), "{}", key.escape_ascii());
        }
    }
}

#[tokio::test]
async fn of_many_new_keys_the_first_statement_that_has_met_one_is_told() {
    let (db, _guard) = super::super::database().await;
    put_all(&db, [40, 90, 150].into_iter()).await;
    let t = serializable(&db);
    let (first, second) = (t.next_statement(), t.next_statement());
    (100..200).for_each(|i| t.put_new(first, key(i), i.to_string().into_bytes()).unwrap());
    (0..100).for_each(|i| t.put_new(second, key(i), i.to_string().into_bytes()).unwrap());
    match t.commit().await {
        Err(Error::Duplicate { key: met, seq }) => assert_eq!((met, seq), (key(150), first)),
        other => panic!("expected a duplicate, got {other:?}"),
    }
}

#[tokio::test]
async fn a_large_commit_changes_the_reads_of_its_keys_and_no_others() {
    let (db, _guard) = super::super::database().await;
    put_all(&db, (0..10_000).step_by(2)).await;
    let reads = [
        (Span::key(key(4_000)), true),
        (Span::key(key(4_001)), false),
        (Span::new(key(4_001), key(4_002)), false),
        (Span::new(key(4_001), key(4_003)), true),
        (Span::new("l", "m"), false),
    ];
    let mut readers = Vec::new();
    for (span, changes) in reads {
        let t = serializable(&db);
        let s = t.next_statement();
        match span.is_key() {
            true => drop(t.get(s, &span.start).await.unwrap()),
            false => drop(all(&t, &text(&span.start), &text(&span.end)).await),
        }
        readers.push((t, span, changes));
    }
    // Other values: a store may prove reads by the values that they have shown.
    let t = serializable(&db);
    let s = t.next_statement();
    (0..10_000).step_by(2).for_each(|i| t.put(s, key(i), b"other".to_vec()).unwrap());
    t.commit_or_error().await.unwrap();
    for (place, (t, span, changes)) in readers.into_iter().enumerate() {
        t.put(t.next_statement(), format!("z{place}"), vec![1]).unwrap();
        let outcome = t.commit().await.unwrap();
        assert_eq!(matches!(outcome, CommitOutcome::Retry(_)), changes, "{span:?}: {outcome:?}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
