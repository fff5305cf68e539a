//! Span sets for a human: `/account/primary/42`, `/account/primary (all)`, `[a - b)`.

use std::sync::Arc;

use braid_catalog::{Catalog, CatalogKeyNames};
use braid_codec::key;
use braid_kv::{Span, SpanSet, key_after, prefix_end};

/// The most spans that are printed.
const SPANS_MAX: usize = 20;

/// The spans of a set in key order; the first ones, and how many there are if that is more.
pub(crate) fn span_texts(spans: &SpanSet, catalog: &Arc<Catalog>) -> Vec<String> {
    let names = CatalogKeyNames(catalog.clone());
    let all = spans.spans();
    let mut texts = Vec::with_capacity(all.len().min(SPANS_MAX));
    for span in all {
        if texts.len() == SPANS_MAX {
            texts.push("…".to_owned());
            break;
        }
        push_span(span, catalog, &names, &mut texts);
    }
    texts
}

/// Indexes that lie side by side are one span; each is shown on its own.
fn push_span(span: &Span, catalog: &Catalog, names: &CatalogKeyNames, texts: &mut Vec<String>) {
    let mut start = span.start.clone();
    while let Some(index) = index_of(&start, catalog) {
        let prefix = key::index_prefix(index.0, index.1);
        let end = prefix_end(&prefix);
        if span.end < end || (span.end == end && start != prefix) {
            break;
        }
        if start == prefix {
            texts.push(format!("{} (all)", key::print(&prefix, names)));
        } else {
            texts.push(range(&start, &end, names));
        }
        start = end;
    }
    if start < span.end {
        texts.push(range(&start, &span.end, names));
    }
}

/// The index that a key belongs to: the data id of its table, and its number.
fn index_of(start: &[u8], catalog: &Catalog) -> Option<(u32, u16)> {
    let mut rest = start;
    if let Ok((table, number)) = key::decode_prefix(&mut rest) {
        return Some((table, number));
    }
    // The end of one index's keys is no key of the next one yet.
    catalog
        .tables()
        .iter()
        .flat_map(|table| table.all_indexes().map(|index| (table.data_id, index.number)))
        .find(|(table, number)| key::index_prefix(*table, *number) == start)
}

fn range(start: &[u8], end: &[u8], names: &CatalogKeyNames) -> String {
    if prefix_end(start) == end || key_after(start) == end {
        return key::print(start, names);
    }
    // Keys of neighbouring rows touch each other: the end is printed where it is a key.
    format!("[{} - {})", key::print(start, names), key::print(end, names))
}
