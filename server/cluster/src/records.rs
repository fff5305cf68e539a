//! JSON records in system tables.

use std::sync::Arc;

use braid_kv::{Record, Result as KvResult, ScanRequest, Seq, Span, Transaction, Value};
use serde::{Deserialize, Serialize};

/// What is stored cannot be read.
pub fn corrupt(what: impl std::fmt::Display) -> braid_kv::Error {
    braid_kv::Error::Corrupt(Arc::from(what.to_string()))
}

/// A record as it is stored.
pub fn to_json<T: Serialize>(value: &T) -> KvResult<Value> {
    serde_json::to_vec(value).map(Value::from).map_err(corrupt)
}

/// A record that was stored by [`to_json`].
pub fn parse<T: for<'a> Deserialize<'a>>(value: &Value) -> KvResult<T> {
    serde_json::from_slice(value).map_err(corrupt)
}

/// Every pair of a span.
pub async fn scan_all(
    txn: &Arc<Transaction>,
    seq: Seq,
    span: Span,
    record: Record,
) -> KvResult<Vec<(Vec<u8>, Value)>> {
    let mut pairs = Vec::new();
    let mut next = Some(span);
    while let Some(span) = next {
        let request = ScanRequest::new(span).record(record);
        let batch = txn.scanner(seq, request).first_batch().await?;
        pairs
            .extend(batch.iter().map(|(key, value)| (key.to_vec(), Value::copy_from_slice(value))));
        next = batch.resume;
    }
    Ok(pairs)
}
