//! A view as the contract's snapshot.

use super::{cursor::ViewCursor, view::View};
use crate::ingestion::USER_KEYS_END;
use braid_kv::{Answer, Cursor, Error, Key, KeyShape, Result, Snapshot, Span, Timestamp, Value};
use std::{any::Any, sync::Arc};

/// A published view as the contract's snapshot.
pub(crate) struct ViewSnapshot(pub(crate) Arc<View>);

impl Snapshot for ViewSnapshot {
    fn timestamp(&self) -> Timestamp {
        Timestamp(self.0.number())
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Value>>> {
        Answer::ready(self.0.read(key))
    }

    fn multi_get<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Result<Vec<Option<Value>>>> {
        Answer::ready(self.0.read_all(keys))
    }

    fn scan(&self, span: Span, reverse: bool, keys_only: bool) -> Box<dyn Cursor> {
        Box::new(ViewCursor::new(self.0.clone(), of_users(span), reverse, keys_only, None))
    }

    fn scan_shaped(
        &self,
        span: Span,
        reverse: bool,
        keys_only: bool,
        shape: Arc<dyn KeyShape>,
    ) -> Box<dyn Cursor> {
        Box::new(ViewCursor::new(self.0.clone(), of_users(span), reverse, keys_only, Some(shape)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The span without the store's own keys.
fn of_users(mut span: Span) -> Span {
    if span.end.as_slice() > USER_KEYS_END {
        span.end = USER_KEYS_END.to_vec();
    }
    span
}

/// The view of a snapshot of this store.
pub(crate) fn view_of(snapshot: &Arc<dyn Snapshot>) -> Result<&View> {
    match snapshot.as_any().downcast_ref::<ViewSnapshot>() {
        Some(handle) => Ok(&handle.0),
        None => Err(Error::Storage("a snapshot of another store".into())),
    }
}
